/* Shared declarations of the store in etcd. The loop thread owns everything. */
#pragma once

#include "etcd/etcd_store.h"
#include "store/backend.h"
#include "store/history.h"
#include "store/watch_index.h"

typedef struct EtcdStore EtcdStore;
typedef struct EtcdWatch EtcdWatch;
typedef struct TxnCall TxnCall;
typedef struct KeepAlive KeepAlive;

/* The queue of transactions of a lane; the first one is being executed. */
typedef struct Lane Lane;
struct Lane {
    uint32_t number;
    TxnCall *first, *last;
    Lane *next;
};

/* The events of one watch response, with their IDs (see engine.h). */
typedef struct Piece {
    Arena arena;
    const StoreEvent *events;
    int64_t *ids;
    uint32_t count; /* at least 1 */
} Piece;

/* Recent changes, for watches that are up to date or nearly so. */
typedef struct Recent {
    Piece **pieces; /* ring of `cap`, sorted */
    uint32_t first, count, cap;
    uint32_t unreported;   /* number of newest events not yet reported to watches */
    int64_t unreported_id; /* ID of the first of these */
    size_t bytes;
    int64_t from;     /* all changes since this revision are included, up to `received` */
    int64_t received; /* complete up to this revision; 0: not started */
} Recent;

typedef struct EtcdWatchList {
    EtcdWatch *first, *last;
} EtcdWatchList;

/* A stream of changes to all keys. */
typedef struct Upstream {
    GrpcCall *call;   /* NULL: none */
    int64_t next_id;  /* earlier events have already been received */
    int64_t revision; /* of the last event received */
    int64_t number;   /* number of that event within its revision */
} Upstream;

typedef struct Watches {
    WatchNode *root;
    uint32_t count, behind_count;
    uint64_t created_count;
    EtcdWatchList feed;    /* watches that may have something to deliver */
    EtcdWatchList syncing; /* watches that wait until `received` reaches their target revision */
    EtcdWatchList wait;    /* watches that wait for the log */
    LoopTask feed_task;
    LoopTimer progress;
    Arena arena;   /* holds the events of a batch */
    Upstream live; /* fills `recent` */
    Recent recent;
    /* Reads earlier changes for all watches in `wait`. Paused while a piece is being delivered. */
    Upstream log;
    Piece *piece; /* last piece received; NULL: none */
    int64_t piece_from_id;
} Watches;

typedef struct KeepAlives {
    GrpcCall *call;          /* the stream; NULL: none */
    KeepAlive *first, *last; /* in call order */
    KeepAlive *unsent;       /* first one that has not yet been sent on this stream */
    LoopTimer expire;        /* for the first one */
} KeepAlives;

struct EtcdStore {
    Store base;
    StoreSettings settings;
    EtcdClient *client;
    int64_t timeout_ms;
    int64_t newest;    /* revision of any response; 0: no response yet */
    int64_t compacted; /* as far as known; 0: nothing */
    uint32_t pending;
    size_t pending_bytes;
    Lane *lanes;
    /* Reads of several keys that wait until other such reads are completed. */
    TxnCall *first_read, *last_read;
    uint32_t reads;
    History history;
    int64_t held_revision;
    bool is_compacting;
    KeepAlives keep_alives;
    Watches watches;
};

/* --- etcd_store.c ---------------------------------------------------------------------------- */

/* Counts another pending call. Fails with ERROR_LIMIT or ERROR_UNAVAILABLE. */
MUST_CHECK bool etcd_admit(EtcdStore *store, size_t bytes, Error *err);
void etcd_release(EtcdStore *store, size_t bytes);
/* A response had this revision. */
void etcd_note_revision(EtcdStore *store, int64_t revision);
void etcd_note_compacted(EtcdStore *store, int64_t revision);

/* --- txn_call.c ------------------------------------------------------------------------------ */

bool etcd_txn(Store *store, const StoreTxn *txn, size_t bytes, StoreDone *done, void *context,
              Error *err);

/* --- etcd_lease.c ---------------------------------------------------------------------------- */

bool etcd_lease_grant(Store *store, const StoreLeaseGrant *grant, StoreLeaseDone *done,
                      void *context, Error *err);
bool etcd_lease_keep_alive(Store *store, int64_t id, StoreLeaseDone *done, void *context,
                           Error *err);
bool etcd_lease_revoke(Store *store, int64_t id, StoreLeaseDone *done, void *context, Error *err);
bool etcd_lease_time_to_live(Store *store, int64_t id, bool keys, StoreLeaseDone *done,
                             void *context, Error *err);
bool etcd_lease_list(Store *store, StoreLeasesDone *done, void *context, Error *err);

void etcd_keep_alives_init(EtcdStore *store);
/* A connection was established, or lost. */
void etcd_keep_alives_ready(EtcdStore *store);
void etcd_keep_alives_lost(EtcdStore *store);
void etcd_keep_alives_clear(EtcdStore *store);

/* --- etcd_watch.c ---------------------------------------------------------------------------- */

bool etcd_watch(Store *store, const StoreWatchSpec *spec, StoreWatch **out, Error *err);
void etcd_watch_ack(StoreWatch *base);
void etcd_watch_cancel(StoreWatch *base);

void etcd_watches_init(EtcdStore *store);
void etcd_watches_ready(EtcdStore *store);
void etcd_watches_lost(EtcdStore *store);
void etcd_watches_clear(EtcdStore *store);
