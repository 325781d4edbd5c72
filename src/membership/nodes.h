/* The nodes of the cluster, and the machines that request to join: reading, approving, labeling,
 * removing. Loop thread only.
 *
 * An invalid name is ERROR_INVALID; an unknown one is ERROR_NOT_FOUND, with a suggestion in its
 * text. */
#pragma once

#include "cluster/cluster_store.h"
#include "membership/pending_record.h"
#include "membership/roster.h"
#include "model/selector.h"

enum {
    NODE_PIN_DIGITS_MIN = 16, /* minimum number of digits to identify the key to approve: 64 bits */
    NODES_PAGE_MAX = 1000     /* maximum number of entries per page */
};

/* The machines that request one name. */
typedef struct PendingEntry {
    PendingRecord record;
    int64_t revision; /* of its last change */
    /* why the record is unreadable (only the name is set then); otherwise empty */
    Str error;
} PendingEntry;

typedef struct NodeEntry {
    const RosterNode *node;
    int64_t results_bytes;       /* approximate size of its results in the store */
    int64_t limited_ms;          /* when it last reached a limit of its budget; 0: never */
    char limit[16];              /* "rate", "results" or "none" */
    bool has_revocations;        /* whether the revocation list could be read */
    bool is_revoked;             /* its certificate is revoked */
    const PendingEntry *pending; /* machines that request its name; NULL: none */
} NodeEntry;

/* --- Reading --------------------------------------------------------------------------------- */

/* Read from the state, as of one revision, without waiting. Results are in the arena or valid until
 * the next iteration of the loop. ERROR_UNAVAILABLE if the state is not loaded yet. */

typedef struct NodesPage {
    Str after;                /* `next` of the previous listing; empty: the first one */
    uint32_t limit;           /* nodes and pending machines together; 1 to NODES_PAGE_MAX */
    const Selector *selector; /* NULL: all */
} NodesPage;

typedef struct NodesListing {
    const NodeEntry *nodes; /* sorted by name, as are these: */
    uint32_t node_count;
    const PendingEntry *waiting; /* sorted by name, without names of nodes */
    uint32_t waiting_count;
    Str next;         /* where the next page starts; empty: this is the last page */
    int64_t revision; /* of the state, for the entire listing */
} NodesListing;

/* An invalid start of a page is ERROR_INVALID. */
MUST_CHECK bool nodes_list(Arena *arena, const ClusterStore *cluster_store, const NodesPage *page,
                           NodesListing *out, Error *err);
/* Returns all nodes at once. */
MUST_CHECK bool nodes_list_all(Arena *arena, const ClusterStore *cluster_store, NodesListing *out,
                               Error *err);

typedef struct NodeView {
    bool is_member;
    NodeEntry node; /* the node, if it exists; its `pending` is always set */
} NodeView;

MUST_CHECK bool nodes_show(Arena *arena, const ClusterStore *cluster_store, Str name, NodeView *out,
                           Error *err);

/* --- Changes --------------------------------------------------------------------------------- */

/* Each of the following functions calls `done` exactly once, later or within the call, even if the
 * store is closing. Arguments need only be valid during the call. Failures other than those listed
 * are the store's. */

typedef struct NodeUpdate {
    Value labels, annotations; /* complete maps of strings */
    int64_t revision;          /* expected revision of the record; 0: any */
} NodeUpdate;

/* ERROR_INVALID for invalid values, ERROR_LIMIT if they are too large, ERROR_CONFLICT if it is not
 * a member yet, or has another revision. */
void nodes_set(const ClusterStore *cluster_store, Str name, const NodeUpdate *update,
               ClusterDone *done, void *context);

/* Approves a key under a name. `key` is its pin, with or without "sha256:". Its first
 * NODE_PIN_DIGITS_MIN digits or more are enough if exactly one pending machine has them; the entire
 * pin also works before the machine's first request. The machine becomes a member with its next
 * request, within PENDING_LIFETIME_MS. An approval replaces that of another key. ERROR_CONFLICT if
 * no such key is pending, or the name belongs to a member with another one. */
void nodes_approve(const ClusterStore *cluster_store, Str name, Str key, ClusterDone *done,
                   void *context);
/* Deletes the pending requests; the machines may send new ones. */
void nodes_reject(const ClusterStore *cluster_store, Str name, ClusterDone *done, void *context);
/* Records since when a node has been silent, after its session has ended and it has not reconnected
 * in time. Does nothing if it has a session again or is no longer a node, or if the leader's fence
 * does not hold. */
void nodes_record_silence(const ClusterStore *cluster_store, const StoreCompare *fence, Str name,
                          ClusterDone *done, void *context);
/* Calls nodes_record_silence() for all silent nodes without such a record, such as nodes that
 * became silent while there was no leader, and nodes of a restored backup. Stops if the store
 * fails. */
void nodes_record_all_silent(const ClusterStore *cluster_store, const StoreCompare *fence);
/* Removes the node and revokes all of its certificates, in one transaction. `revision` is the
 * expected one of its record, or 0; the record may be unreadable. ERROR_CONFLICT if it is not a
 * member yet, or has another revision. */
void nodes_remove(const ClusterStore *cluster_store, Str name, int64_t revision, ClusterDone *done,
                  void *context);

/* --- Internal to this directory -------------------------------------------------------------- */

/* Sets the error that there is no such node, with a similar name. Always returns false. */
bool nodes_not_found(const ClusterStore *cluster_store, Str name, Error *err);

/* Parses the value of a key, or sets `error` to the reason why that fails; both are allocated in
 * the arena. Returns false if all of its requests have expired. */
bool pending_entry_read(Arena *arena, Str name, const StateEntry *from, int64_t now_ms,
                        PendingEntry *out);
/* Whether the last certificate of the node is revoked. */
bool node_record_is_revoked(const NodeRecord *record, const RevocationList *list);
/* Sets fields of the entry from the value of the node's session key. */
void node_entry_read_session(NodeEntry *entry, Str session);
