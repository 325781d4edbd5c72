/* The servers of the cluster: listing, adding and removing. A server is a node with an additional
 * record (server_record.h), and its node record marks it as a server. Loop thread only. */
#pragma once

#include "cluster/cluster_store.h"
#include "membership/server_record.h"

enum {
    SERVERS_MAX = 32, /* of a cluster */
};

/* --- Reading --------------------------------------------------------------------------------- */

/* Read from the state; strings are in the arena or valid until the next iteration of the loop. */
typedef struct ServerEntry {
    ServerRecord record; /* only the name is set if it is unreadable */
    int64_t revision;    /* of its last change */
    Str error;           /* why it is unreadable; otherwise empty */
} ServerEntry;

typedef struct ServersListing {
    const ServerEntry *items; /* sorted by name */
    uint32_t count;
} ServersListing;
ServersListing servers_list(Arena *arena, const ClusterStore *cluster_store);
/* Returns NULL if there is no such server. */
const ServerEntry *servers_find(const ServersListing *listing, Str name);

/* --- Deciding -------------------------------------------------------------------------------- */

/* Pure. `node` is NULL if the name belongs to no node; `count` is the number of servers, this one
 * included if `is_server`. */
typedef struct ServerFacts {
    const NodeRecord *node;
    bool has_record; /* the server has a record */
    bool is_revoked; /* the node's certificate */
    bool is_expired;
    int64_t count;
    bool is_shared; /* the store can be used by several servers */
} ServerFacts;

/* Whether the node may become a server. */
MUST_CHECK bool server_decide_add(const ServerFacts *facts, Error *err);
/* Whether the server may be removed; others must remain. */
MUST_CHECK bool server_decide_remove(const ServerFacts *facts, Error *err);
/* Whether a process that starts may serve: ERROR_DENIED if its node is no longer a server. */
MUST_CHECK bool server_decide_serve(const ServerFacts *facts, Error *err);

/* --- Changes --------------------------------------------------------------------------------- */

/* Each calls `done` exactly once, later or within the call. Arguments need only be valid during the
 * call. */

/* ERROR_NOT_FOUND if there is no such node; ERROR_CONFLICT as server_decide_add. */
void servers_add(const ClusterStore *cluster_store, Str name, bool is_shared, ClusterDone *done,
                 void *context);
/* It is an ordinary node afterward. `revision` is the expected one of its record; 0: any. */
void servers_remove(const ClusterStore *cluster_store, Str name, int64_t revision,
                    ClusterDone *done, void *context);
/* Called by a server that starts, and when its record changes: keeps `added_ms`. The only server of
 * a store that is not shared needs no record, and gets none. ERROR_DENIED if it is no longer a
 * server. */
void servers_register(const ClusterStore *cluster_store, const ServerRecord *record, bool is_shared,
                      ClusterDone *done, void *context);
