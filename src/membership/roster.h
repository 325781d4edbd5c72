/* The nodes of the cluster, parsed once when their records change: members, liveness, and
 * revocations. Used by listeners at every handshake and call, and for lists of nodes, without
 * waiting. A view of the state (cluster/state.h). Loop thread only. */
#pragma once

#include "cluster/state.h"
#include "membership/node_record.h"
#include "model/selector.h"
#include "pki/revocation.h"

enum {
    NODE_VERSION_MAX = 128 /* maximum length in bytes */
};

typedef struct RosterNode {
    NodeRecord record;                  /* only the name is set if unreadable */
    int64_t revision;                   /* of the record's last change */
    Str error;                          /* why it is unreadable; otherwise empty */
    bool is_alive;                      /* it has a session with a server */
    int64_t since_ms;                   /* start of the session or silence; 0: unknown */
    const StateEntry *silence;          /* record of its current or an earlier silence; or NULL */
    char version[NODE_VERSION_MAX + 1]; /* of eden, reported by the node while alive */
    const StateEntry *session;          /* its session record; NULL if it never had one */
    bool has_facts;
    Str facts; /* digest (cluster/facts_digest.h); empty: none */
} RosterNode;

typedef struct RosterEvents {
    void (*changed)(void *context); /* a node was added, removed or revoked */
    void *context;
    /* A node's session has ended, and it has not returned in time. May be NULL. */
    void (*silent)(void *context, const RosterNode *node);
} RosterEvents;

/* No callback runs during this call. */
Roster *roster_new(State *state, Str prefix, const RosterEvents *events);
void roster_free(Roster *roster); /* must be called before freeing the state; NULL is allowed */
DEFINE_AUTO(Roster, roster_free)

/* Returns NULL if there is no such node or its record is unreadable, because locking out a node is
 * better than admitting an unknown one. Valid until the next iteration of the loop. */
const RosterNode *roster_find(const Roster *roster, Str name);
/* Like roster_find, but also returns unreadable nodes. */
const RosterNode *roster_find_any(const Roster *roster, Str name);
/* Finds a node by the serial number of its last certificate. */
const RosterNode *roster_find_serial(const Roster *roster, Str serial);
uint32_t roster_count(const Roster *roster); /* number of readable records */
uint32_t roster_alive(const Roster *roster); /* number of readable nodes that have a session */

/* Nodes that match a selector (NULL: all), sorted by name, including unreadable ones, starting
 * after `after`. Valid as long as the arena is, and until the next iteration of the loop. */
typedef struct RosterRange {
    const Roster *roster;
    const Selector *selector;
    Str label; /* prefix of their index entries; empty: all nodes are scanned */
    OrderedCursor cursor;
} RosterRange;

RosterRange roster_range(const Roster *roster, Arena *arena, const Selector *selector, Str after);
const RosterNode *roster_next(RosterRange *range); /* NULL at the end */

const RevocationList *roster_revoked(const Roster *roster);
