/* The store: what the cluster wishes, knows and has done, as keys and values with a history.
 *
 * The semantics are etcd's (v3). Keys and values are bytes. A transaction that changes something
 * makes one new revision; revisions only grow. Every change is in the log until it is compacted,
 * so that reads can go back and watches can go on from any kept revision.
 *
 * All calls are for the loop's thread and never wait. One that returns true calls `done` exactly
 * once, on the loop's thread, in a later turn; one that returns false has done nothing and never
 * calls. What `done` is given is borrowed for that call. What holds of the order:
 *
 *   - A call sees every write that was answered before it was made.
 *   - Of transactions with the same `lane`, which is not 0, the writes take effect and are answered in
 *     the order of their calls, and a read sees every write that was called before it and is answered
 *     after it. A `relaxed` read waits for no write. A write called after a read may be answered
 *     before it.
 *   - Of all others that are under way at the same time nothing is promised.
 *
 * A write that was answered without error survives the end of the process and of the power. One
 * that failed with ERROR_UNAVAILABLE is not there, with one exception that no store can rule out:
 * when the disk fails while it is written, the next open may find it whole.
 *
 * ERROR_UNKNOWN is what a store that is elsewhere says of a write when no answer came: it was applied,
 * or not, or it will be. Reads do not fail that way.
 *
 * Failures: ERROR_INVALID (the request makes no sense), ERROR_LIMIT (it, its answer, or all that
 * wait are too large), ERROR_NOT_FOUND (no such lease; a revision that was compacted),
 * ERROR_UNAVAILABLE (the disk is full, or the store closes), ERROR_OS (the file is damaged). */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"
#include "sys/loop.h"

typedef struct Store Store;

enum {
    STORE_KEY_MAX = 4096,                   /* bytes, at least 1 */
    STORE_VALUE_MAX = 3 * 512 * 1024,       /* bytes */
    STORE_OPS_MAX = 128,                    /* of each branch, and compares */
    STORE_REQUEST_MAX = 2 * 1024 * 1024,    /* bytes of all keys and values of a transaction */
    STORE_REPLY_MAX = 16 * 1024 * 1024,     /* bytes of all keys and values of an answer */
    STORE_PENDING_MAX = 8192,               /* calls that wait to be answered */
    STORE_PENDING_BYTES = 64 * 1024 * 1024, /* of their requests */
    STORE_LEASES_MAX = 100000,
    STORE_LEASES_RESERVED = 20000,        /* of these, for store_lease_grant_reserved */
    STORE_TTL_MAX = 10 * 366 * 24 * 3600, /* seconds */
};
#define STORE_REVISION_MAX (INT64_MAX >> 20)

/* --- Opening --------------------------------------------------------------------------------- */

/* Its file or the log of that was removed or replaced while it was open. Nothing is written any more,
 * and nothing was acknowledged since; what there is can be read. */
typedef struct StoreLoss {
    bool is_lost;
    bool
        is_saved; /* the next one to open it finds all, or is told of two that there are; else it is
                      tried again with every write, and when the store is closed */
    Error why;    /* with what to do */
} StoreLoss;
typedef void StoreLost(void *context, const StoreLoss *loss);

/* The file is damaged, or has lost writes that were acknowledged. Nothing is written any more, also not
 * after a restart; what can be read is read. */
typedef void StoreDamaged(void *context, const char *why);

typedef struct StoreSettings {
    /* A revision is compacted when newer ones take more than `keep_bytes`, or when there are more than
     * `keep_revisions` newer ones and it is also older than `keep_ms`. Age counts from when the store was
     * opened. */
    int64_t keep_revisions; /* 0: STORE_KEEP_REVISIONS; negative: all */
    int64_t keep_bytes;     /* 0: STORE_KEEP_BYTES; negative: any number */
    int64_t keep_ms;        /* 0: STORE_KEEP_MS; negative: age does not matter */
    bool reserve;           /* keeps room on the disk for deletes and for urgent writes */
    int64_t progress_ms;    /* a watch with no news is told so; 0: STORE_PROGRESS_MS */
    int64_t after;          /* of one that is empty: all its revisions are later ones */
    uint32_t wal_pages;     /* written into the database when so many have gathered; 0: fitting */
    bool existing;          /* it is there already, or was lost: ERROR_NOT_FOUND */
    int64_t verify_ms;      /* every page is read at the start and so often; 0: never */
    StoreLost *lost;        /* called when that is noticed, and when it is saved; may be NULL */
    StoreDamaged *damaged;  /* called once, when it is noticed or known already; may be NULL */
    void *context;
} StoreSettings;

enum {
    STORE_KEEP_REVISIONS = 10000,
    STORE_KEEP_BYTES = 256 << 20,
    STORE_KEEP_MS = 10 * 60 * 1000, /* who was away for a reboot goes on where it was */
    STORE_RESERVE_MAX = 16 << 20,   /* bytes; of a small disk the 64th part, but at least */
    STORE_RESERVE_MIN = 2 << 20,
    STORE_PROGRESS_MS = 60000,
};

/* For simulation and tests: gone when it is closed. `settings` may be NULL. */
Store *store_open_memory(Loop *loop, const StoreSettings *settings);
/* Below `directory` (made when missing, 0700), of which there is one user at a time. On a real loop
 * one thread writes and one reads; on a virtual one all is done by the loop's own. Fails with
 * ERROR_CONFLICT when another process has it open, ERROR_UNAVAILABLE when the disk is full,
 * ERROR_INVALID when a newer eden has written it, ERROR_OS when it is damaged, ERROR_DENIED. */
MUST_CHECK bool store_open_sqlite(Loop *loop, const char *directory, const StoreSettings *settings,
                                  Store **out, Error *err);
/* Waits for what is being written or read. Whatever else was called is answered with
 * ERROR_UNAVAILABLE, from within. Watches must have been canceled. NULL is allowed. */
void store_close(Store *store);
DEFINE_AUTO(Store, store_close)

/* --- Transactions ---------------------------------------------------------------------------- */

typedef struct StoreKv {
    Str key;
    Str value;
    int64_t create_revision; /* since when the key is there */
    int64_t mod_revision;    /* when it was changed last */
    int64_t version;         /* how often it was put since it is there, from 1 on */
    int64_t lease;           /* 0: none */
} StoreKv;

typedef enum StoreTarget {
    STORE_VERSION, /* numbers are 0 for a key that is not there */
    STORE_CREATE_REVISION,
    STORE_MOD_REVISION,
    STORE_LEASE,
    STORE_VALUE, /* false, whatever the relation, for a key that is not there */
} StoreTarget;

typedef enum StoreRelation {
    STORE_EQUAL,
    STORE_NOT_EQUAL,
    STORE_LESS,
    STORE_GREATER,
} StoreRelation;

typedef struct StoreCompare {
    StoreTarget target;
    StoreRelation relation;
    Str key;
    int64_t number;
    Str value;
} StoreCompare;

typedef enum StoreOpKind {
    STORE_RANGE,
    STORE_PUT,
    STORE_DELETE,
} StoreOpKind;

/* `end` makes a range of keys from `key` up to and without `end`; empty: `key` alone; STORE_ALL:
 * all keys from `key` on. */
#define STORE_ALL STR("\0")

typedef struct StoreOp {
    StoreOpKind kind;
    Str key;
    Str end; /* of a range or a delete */

    int64_t revision; /* of a range: as of then; 0: now */
    int64_t limit;    /* of a range: so many keys at most; 0: all */
    bool keys_only, count_only, descending;

    Str value; /* of a put */
    int64_t lease;
    bool previous; /* of a put or a delete: give what was there */
} StoreOp;

typedef struct StoreTxn {
    const StoreCompare *compares; /* all of them must hold */
    uint32_t compare_count;
    const StoreOp *success; /* done when they do */
    uint32_t success_count;
    const StoreOp *failure; /* and when not */
    uint32_t failure_count;
    uint32_t lane; /* of which the order is kept; 0: it is in none */
    bool relaxed;  /* for one without puts and deletes */
    bool urgent; /* may use the room that is kept back, as deletes may: for what frees or repairs */
} StoreTxn;

typedef struct StoreOpReply {
    StoreOpKind kind;
    /* Of a range in its order; of a put or a delete what was there, when asked for. */
    const StoreKv *kvs;
    uint32_t kv_count;
    int64_t count; /* of a range: keys in it (with a limit: in `kvs`); of a delete: those deleted */
    bool more;     /* the limit left some out */
} StoreOpReply;

typedef struct StoreReply {
    int64_t revision; /* of the store, with this transaction */
    bool succeeded;   /* whether all compares held */
    const StoreOpReply *ops;
    uint32_t op_count;
} StoreReply;

/* `reply` is NULL when it failed, `err` is NULL when it did not. */
typedef void StoreDone(void *context, const StoreReply *reply, const Error *err);

/* A branch may change a key once only. In a branch, ranges see what was changed before them. An
 * answer over STORE_REPLY_MAX is ERROR_LIMIT; a range with a limit ends earlier instead, with
 * `more`. `txn` and what it points to are copied. */
MUST_CHECK bool store_txn(Store *store, const StoreTxn *txn, StoreDone *done, void *context,
                          Error *err);

/* The same for one whose compares cannot hold any more once it was applied, and whose puts are of keys
 * that it compares, or that are new. While its outcome is unknown it is sent again, and what it would
 * have put is looked for; ERROR_UNKNOWN is left for a store that cannot be asked for a while. Found that
 * way, the reply has no ops. */
MUST_CHECK bool store_txn_sure(Store *store, const StoreTxn *txn, StoreDone *done, void *context,
                               Error *err);

/* Transactions of one op. */
MUST_CHECK bool store_op(Store *store, const StoreOp *op, StoreDone *done, void *context,
                         Error *err);
MUST_CHECK bool store_get(Store *store, Str key, StoreDone *done, void *context, Error *err);
MUST_CHECK bool store_put(Store *store, Str key, Str value, int64_t lease, StoreDone *done,
                          void *context, Error *err);
MUST_CHECK bool store_delete(Store *store, Str key, StoreDone *done, void *context, Error *err);
/* All keys that start with `prefix`. */
MUST_CHECK bool store_list(Store *store, Str prefix, StoreDone *done, void *context, Error *err);

/* The current revision, which others may have made: the reply has that and no ops. */
MUST_CHECK bool store_revision(Store *store, StoreDone *done, void *context, Error *err);

/* The end of the range of all keys that start with `prefix`. */
Str store_prefix_end(Arena *arena, Str prefix);

/* --- Leases ---------------------------------------------------------------------------------- */

/* A lease ends when nobody keeps it alive; the keys put with it are then deleted in one
 * transaction. It counts monotonic time, while the store is open: after a restart all begin anew
 * with their whole time. */
typedef struct StoreLease {
    int64_t id;
    int64_t ttl_s;       /* as granted */
    int64_t remaining_s; /* rounded up; 0: over, its keys are about to go */
    const Str *keys;     /* of store_lease_time_to_live with keys */
    uint32_t key_count;
    int64_t revision; /* of the store */
} StoreLease;

typedef void StoreLeaseDone(void *context, const StoreLease *lease, const Error *err);
typedef void StoreLeasesDone(void *context, const int64_t *ids, uint32_t count, const Error *err);

/* `id` 0: the store chooses one. ERROR_CONFLICT when it is taken. */
MUST_CHECK bool store_lease_grant(Store *store, int64_t ttl_s, int64_t id, StoreLeaseDone *done,
                                  void *context, Error *err);
/* The same for what the cluster cannot do without, which is the sessions of its members: there is room
 * for these when all other leases are taken, and as long as possible when the disk is full. */
MUST_CHECK bool store_lease_grant_reserved(Store *store, int64_t ttl_s, StoreLeaseDone *done,
                                           void *context, Error *err);
/* Its time begins anew. Nothing is written. */
MUST_CHECK bool store_lease_keep_alive(Store *store, int64_t id, StoreLeaseDone *done,
                                       void *context, Error *err);
MUST_CHECK bool store_lease_revoke(Store *store, int64_t id, StoreLeaseDone *done, void *context,
                                   Error *err);
MUST_CHECK bool store_lease_time_to_live(Store *store, int64_t id, bool keys, StoreLeaseDone *done,
                                         void *context, Error *err);
/* The ids in ascending order. */
MUST_CHECK bool store_lease_list(Store *store, StoreLeasesDone *done, void *context, Error *err);

/* --- Watches --------------------------------------------------------------------------------- */

typedef struct StoreEvent {
    bool deleted;
    StoreKv kv; /* of a deleted key: key and mod_revision */
    bool has_previous;
    StoreKv previous;
} StoreEvent;

enum {
    STORE_BATCH_EVENTS = 1000,
    STORE_BATCH_BYTES = 1024 * 1024, /* one event may be larger */
};

typedef struct StoreBatch {
    const StoreEvent *events; /* in the order of their revisions; none: nothing new up to now */
    uint32_t count;
    /* All changes up to here have been told: who starts again from the next one misses nothing.
     * When a revision did not fit, its first events come after it already. */
    int64_t revision;
    /* The watch is over in two cases; it must still be canceled. The log does not reach back to
     * where it should go on: read everything anew and watch from the revision of that read. */
    bool resync;
    int64_t compacted; /* then: the newest revision of which the log knows nothing */
    const Error *err;  /* the log cannot be read; else NULL */
} StoreBatch;

typedef struct StoreWatch StoreWatch;
typedef void StoreWatchDone(void *context, const StoreBatch *batch);

typedef struct StoreWatchSpec {
    Str key, end;    /* as of a StoreOp */
    int64_t from;    /* the first revision to tell of; 0: the next one */
    bool previous;   /* events have what was there before */
    uint32_t window; /* batches that may wait for store_watch_ack; 0: 1 */
    StoreWatchDone *done;
    void *context;
} StoreWatchSpec;

/* Calls `done` with batches until it is canceled; with an empty one as soon as it is up to date,
 * and again when nothing has come for a while. Every batch with events takes from the window; while
 * that is used up, nothing is kept for the watch, which goes on from the log later. A `from` beyond
 * the next revision is answered with resync: this store is older than the one that was watched. */
MUST_CHECK bool store_watch(Store *store, const StoreWatchSpec *spec, StoreWatch **out, Error *err);
/* A batch with events was dealt with. */
void store_watch_ack(StoreWatch *watch);
/* No more calls; also from within `done`. NULL is allowed. */
void store_watch_cancel(StoreWatch *watch);

/* --- Upkeep ---------------------------------------------------------------------------------- */

/* Forgets the history up to and with `revision`, which is at most the current one; what is there
 * now stays. The space is freed afterwards, bit by bit. ERROR_NOT_FOUND when it is done already. */
MUST_CHECK bool store_compact(Store *store, int64_t revision, StoreDone *done, void *context,
                              Error *err);

/* While it is held, the store does not compact beyond `revision` by itself, unless the disk is short of room
 * or the log has become twice as large as it may. So it makes reads of a past revision likely to go well,
 * and promises nothing. To be released before or after the store is closed. */
typedef struct StoreHold StoreHold;
StoreHold *store_hold(Store *store, int64_t revision);
void store_release(StoreHold *hold); /* NULL is allowed */

/* Makes `directory` a store for store_open_sqlite with what a file of SQLite has that an earlier version
 * copied into a backup. Waits. The file is checked first, against `digest` unless that is empty.
 * ERROR_CONFLICT when there is one. */
MUST_CHECK bool store_restore(const char *directory, const char *path, Str digest, Error *err);

typedef struct StoreAccepted {
    int64_t found;        /* the revision at which the file ends */
    int64_t acknowledged; /* higher: the writes between are lost */
    int64_t revision;     /* at which it continues */
} StoreAccepted;

/* Continues with a store that has lost writes, or whose file can be read again: puts `key` at a revision
 * beyond all that were acknowledged, and compacts up to it, so that whoever has seen more than
 * there is resyncs. Waits. ERROR_OS when pages are damaged, ERROR_CONFLICT when nothing is wrong or
 * another process has it open. */
MUST_CHECK bool store_accept(const char *directory, Str key, Str value, StoreAccepted *out,
                             Error *err);
/* Whether that can be done: fails as it does, and changes nothing. */
MUST_CHECK bool store_can_accept(const char *directory, Error *err);

/* For repairs on a full disk, while nobody has the store open: gives the room away that is kept back for
 * deletes, and keeps it back again, or as much of it as there is. Fails as store_open_sqlite; of a
 * store that is not there nothing is done. */
MUST_CHECK bool store_release_reserve(const char *directory, Error *err);
void store_keep_reserve(const char *directory);

/* Whether there is one that was ever written. Of one that cannot be looked at that is said too. */
bool store_is_there(const char *directory);
/* Whether a process has it open: then all of it is there, even when the file is lost. */
bool store_is_open(const char *directory);
/* Looks at every page of the store in `directory` and at its mark, and changes nothing. ERROR_NOT_FOUND
 * when there is none, ERROR_CONFLICT when somebody has it open, else as store_open_sqlite. Waits. */
MUST_CHECK bool store_check(const char *directory, Error *err);

typedef enum StoreCondition {
    STORE_OK,
    STORE_UNWRITABLE, /* the last write failed */
    STORE_FULL,       /* the disk: deletes and urgent writes are taken, others refused */
    STORE_LOST,       /* its file was removed or replaced */
    STORE_DAMAGED,    /* and takes no writes until a backup is restored, or the loss accepted */
} StoreCondition;
const char *store_condition_name(StoreCondition condition); /* "ok", "damaged" */

typedef struct StoreStatus {
    int64_t revision;  /* of the last answer: others may have written since */
    int64_t compacted; /* 0: nothing was */
    int64_t bytes;     /* on the disk, or in memory for the log */
    int64_t log_bytes; /* of the changes that are not compacted */
    bool has_reserve;  /* the room that is kept back is there */
    uint32_t pending;  /* calls that wait for an answer */
    uint32_t watches, watches_behind;
    uint32_t leases;
    StoreCondition condition;
    bool writable;      /* STORE_OK */
    char reason[480];   /* and if not, why */
    int64_t durable_ms; /* loop_now_ms() of the last write that is on the disk */
    uint64_t commits;   /* since it was opened: transactions of the disk */
    uint64_t writes;    /* those of callers in them */
} StoreStatus;

/* As far as is known: it asks nobody. */
StoreStatus store_status(const Store *store);
/* The same with a look at the disk. The next write would notice that its file is gone, and perhaps there
 * is none for long. */
StoreStatus store_look(const Store *store);
