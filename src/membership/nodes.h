/* The nodes of the cluster, and the machines that ask to become one: shown, approved, labeled,
 * removed. Loop thread.
 *
 * An invalid name is ERROR_INVALID; one that nothing has is ERROR_NOT_FOUND with a similar one in its
 * text. */
#pragma once

#include "cluster/cluster_store.h"
#include "membership/joining_record.h"
#include "membership/roster.h"
#include "model/selector.h"

enum {
    NODE_PIN_DIGITS_MIN = 16, /* of the key that is approved: 64 bits */
    NODES_PAGE_MAX = 1000     /* of one listing */
};

/* Those who ask for one name. */
typedef struct JoiningEntry {
    JoiningRecord record;
    int64_t revision; /* of its last change */
    Str error;        /* why the record cannot be read, and only has a name; empty: it can */
} JoiningEntry;

typedef struct NodeEntry {
    const RosterNode *node;
    int64_t results_bytes;      /* that its results take in the store, about */
    int64_t limited_ms;         /* when it met a limit of its budget last; 0: never */
    char limit[16];             /* which: "rate", "results"; "none" */
    bool knows_revoked;         /* the list of those could be read; else nobody can tell */
    bool is_revoked;            /* its certificate is not believed */
    const JoiningEntry *asking; /* machines that ask for its name; NULL: none does */
} NodeEntry;

/* --- Reading --------------------------------------------------------------------------------- */

/* What the state has, as of one revision, without waiting. Results are in the arena or borrowed until the
 * loop's next turn. ERROR_UNAVAILABLE when the state knows nothing yet. */

typedef struct NodesPage {
    Str after;                /* `next` of the listing before; empty: the first one */
    uint32_t limit;           /* nodes and machines that ask, together; 1 to NODES_PAGE_MAX */
    const Selector *selector; /* only those; NULL: all */
} NodesPage;

typedef struct NodesListing {
    const NodeEntry *nodes; /* in the order of their names, as those: */
    uint32_t node_count;
    const JoiningEntry *waiting; /* after all nodes; those that are nodes too are not among them */
    uint32_t waiting_count;
    Str next;         /* where the next one begins; empty: that was all */
    int64_t revision; /* of the state, as of which all of it is so */
} NodesListing;

/* A page that begins nowhere is ERROR_INVALID. */
MUST_CHECK bool nodes_list(Arena *arena, const ClusterStore *at, const NodesPage *page,
                           NodesListing *out, Error *err);
/* All of them at once, for those who look at every one. */
MUST_CHECK bool nodes_list_all(Arena *arena, const ClusterStore *at, NodesListing *out, Error *err);

typedef struct NodeView {
    bool is_member;
    NodeEntry node; /* if so; who asks is its `asking` in any case */
} NodeView;

MUST_CHECK bool nodes_show(Arena *arena, const ClusterStore *at, Str name, NodeView *out,
                           Error *err);

/* --- Changes --------------------------------------------------------------------------------- */

/* Each calls `done` exactly once, in a later turn or within, also when the store closes. What it is given
 * is borrowed for that call. Failures that are not named here are the store's. */

typedef struct NodeWish {
    Value labels, annotations; /* maps of texts, all of them */
    int64_t revision;          /* that the record must still have; 0: any */
} NodeWish;

/* ERROR_INVALID for what cannot be, ERROR_LIMIT when it is too much, ERROR_CONFLICT for who is no
 * member yet, or has another revision. */
void nodes_set(const ClusterStore *at, Str name, const NodeWish *wish, ClusterDone *done,
               void *context);

/* Approves a key under a name: `key` is its pin, "sha256:" may be left out. The first
 * NODE_PIN_DIGITS_MIN digits or more will do when one machine that asks has them; the whole pin also
 * when none does yet. The machine is a member when it asks the next time, within JOINING_LIFE_MS. An
 * approval replaces that of another key. ERROR_CONFLICT when no such key asks, or the name belongs to
 * a member with another one. */
void nodes_approve(const ClusterStore *at, Str name, Str key, ClusterDone *done, void *context);
/* Forgets who asked; nothing keeps it from asking again. */
void nodes_reject(const ClusterStore *at, Str name, ClusterDone *done, void *context);
/* Keeps since when a node is silent, now that its session is over and its time to come back too.
 * Nothing happens when it is back or no node any more, or when the fence of the leader who writes it does
 * not hold. */
void nodes_note_silent(const ClusterStore *at, const StoreCompare *fence, Str name,
                       ClusterDone *done, void *context);
/* The same for all nodes that are silent, and of which it is not kept: those that fell silent while no server
 * led, and those of a backup. Ends by itself, and stops when the store fails. */
void nodes_note_all_silent(const ClusterStore *at, const StoreCompare *fence);
/* The node is none any more, and none of its certificates is believed from then on, all in one
 * transaction. `revision` is the one that its record must still have, or 0; whether that can be read
 * does not matter. ERROR_CONFLICT for who is no member yet, or has another revision. */
void nodes_remove(const ClusterStore *at, Str name, int64_t revision, ClusterDone *done,
                  void *context);

/* --- Between files of this folder ------------------------------------------------------------ */

/* False, with an error that says that nobody is called so, and who has a name like it. */
bool nodes_unknown(const ClusterStore *at, Str name, Error *err);

/* Reads what a key holds, or says in `error` why that cannot be. The arena keeps both. False when all who
 * ask there have not done so for too long. */
bool joining_entry_read(Arena *arena, Str name, const StateEntry *from, int64_t now_ms,
                        JoiningEntry *out);
/* Whether the certificate that it got last is not believed any more. */
bool node_record_is_revoked(const NodeRecord *record, const RevocationList *list);
/* From what the key of its session holds. */
void node_entry_read_session(NodeEntry *entry, Str session);
