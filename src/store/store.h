/* The store: the state of the cluster as keys and values with a history.
 *
 * The semantics are those of etcd v3. Keys and values are bytes. A transaction that changes
 * something creates one new revision; revisions only increase. Every change is in the log until it
 * is compacted, so reads can go back to, and watches can continue from, any retained revision.
 *
 * All functions must be called on the loop thread and never block. One that returns true calls
 * `done` exactly once, on the loop thread, in a later iteration; one that returns false has had no
 * effect and never calls it. Arguments of `done` are valid during that call. Ordering guarantees:
 *
 *   - A call sees every write that was completed before it was made.
 *   - Writes with the same nonzero `lane` take effect and are completed in the order of their
 *     calls,
 *     and a read sees every write that was called before it and is completed after it. A `relaxed`
 *     read waits for no write. A write called after a read may be completed before it.
 *   - Nothing is guaranteed about other concurrent calls.
 *
 * A write that was completed without error survives a crash and a power failure. One that failed
 * with ERROR_UNAVAILABLE was not applied, with one unavoidable exception: if the disk fails while
 * it is written, it may be found intact when the store is opened again.
 *
 * ERROR_UNKNOWN is returned by a remote store if no response to a write arrived: it was applied, or
 * not, or it will be. Reads never fail this way.
 *
 * Failures: ERROR_INVALID (the request is invalid), ERROR_LIMIT (it, its response, or all pending
 * calls are too large), ERROR_NOT_FOUND (no such lease; a compacted revision), ERROR_UNAVAILABLE
 * (the disk is full, or the store is closing), ERROR_OS (the file is damaged). */
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
    STORE_OPS_MAX = 128,                    /* of each branch, and comparisons */
    STORE_REQUEST_MAX = 2 * 1024 * 1024,    /* bytes of all keys and values of a transaction */
    STORE_REPLY_MAX = 16 * 1024 * 1024,     /* bytes of all keys and values of a response */
    STORE_PENDING_MAX = 8192,               /* pending calls */
    STORE_PENDING_BYTES = 64 * 1024 * 1024, /* total size of pending requests in bytes */
    STORE_LEASES_MAX = 100000,
    /* of the maximum number of leases, those available to store_lease_grant_reserved only */
    STORE_LEASES_RESERVED = 20000,
    STORE_TTL_MAX = 10 * 366 * 24 * 3600, /* seconds */
};
#define STORE_REVISION_MAX (INT64_MAX >> 20)

/* --- Opening --------------------------------------------------------------------------------- */

/* Called when the file or log was removed or replaced while it was open. No more writes are
 * accepted, and none was acknowledged since; existing data can be read. */
typedef struct StoreLostFile {
    bool is_lost;
    bool
        /* true: opening the store again finds all data, or reports that there are two copies;
         * false: saving is retried with every write, and when the store is closed */
        is_saved;
    Error why; /* includes the command to run */
} StoreLostFile;
typedef void StoreLost(void *context, const StoreLostFile *loss);

/* Called when the file is damaged or has lost acknowledged writes. No more writes are accepted,
 * even after a restart; undamaged data can be read. */
typedef void StoreDamaged(void *context, const char *why);

typedef struct StoreSettings {
    /* A revision is compacted if newer ones take more than `keep_bytes`, or if there are more than
     * `keep_revisions` newer ones and it is also older than `keep_ms`. Age counts from when the
     * store was opened. */
    int64_t keep_revisions; /* 0: STORE_KEEP_REVISIONS; negative: all */
    int64_t keep_bytes;     /* 0: STORE_KEEP_BYTES; negative: no limit */
    int64_t keep_ms;        /* 0: STORE_KEEP_MS; negative: age does not matter */
    bool reserve;           /* reserves disk space for deletes and urgent writes */
    /* interval of progress notifications for idle watches; 0: STORE_PROGRESS_MS */
    int64_t progress_ms;
    int64_t after;      /* of an empty store: its revisions start after this one */
    uint32_t wal_pages; /* length of the log that starts a checkpoint; 0: default */
    bool existing;      /* must exist or have been lost; otherwise ERROR_NOT_FOUND */
    int64_t verify_ms;  /* interval for reading every page, also at the start; 0: never */
    /* called when the loss is noticed and when the data is saved; may be NULL */
    StoreLost *lost;
    StoreDamaged *damaged; /* called once, when damage is noticed or already known; may be NULL */
    void *context;
} StoreSettings;

enum {
    STORE_KEEP_REVISIONS = 10000,
    STORE_KEEP_BYTES = 256 << 20,
    STORE_KEEP_MS = 10 * 60 * 1000, /* enough for clients to continue after a reboot */
    STORE_RESERVE_MAX = 16 << 20,   /* bytes; on a small disk 1/64 of it, but at least */
    STORE_RESERVE_MIN = 2 << 20,
    STORE_PROGRESS_MS = 60000,
};

/* A store in memory, for simulation and tests; its content is lost when it is closed. `settings`
 * may be NULL. */
Store *store_open_memory(Loop *loop, const StoreSettings *settings);
/* Opens the store in `directory`, which is created with mode 0700 if missing and can have one user
 * at a time. On a real loop there are a writer thread and a reader thread; on a virtual one
 * everything runs on the loop. Fails with ERROR_CONFLICT if another process has it open,
 * ERROR_UNAVAILABLE if the disk is full, ERROR_INVALID if a newer eden has written it, ERROR_OS if
 * it is damaged, ERROR_DENIED. */
MUST_CHECK bool store_open_sqlite(Loop *loop, const char *directory, const StoreSettings *settings,
                                  Store **out, Error *err);
/* Waits for reads and writes in progress. Other pending calls are completed with ERROR_UNAVAILABLE
 * before it returns. Watches must be canceled before. NULL is allowed. */
void store_close(Store *store);
DEFINE_AUTO(Store, store_close)

/* --- Transactions ---------------------------------------------------------------------------- */

typedef struct StoreKv {
    Str key;
    Str value;
    int64_t create_revision; /* when the key was created */
    int64_t mod_revision;    /* when it was last changed */
    int64_t version;         /* number of puts since it was created, from 1 */
    int64_t lease;           /* 0: no lease */
} StoreKv;

typedef enum StoreTarget {
    STORE_VERSION, /* numeric fields are 0 for a missing key */
    STORE_CREATE_REVISION,
    STORE_MOD_REVISION,
    STORE_LEASE,
    STORE_VALUE, /* never true for a missing key */
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

/* `end` makes it a range of keys from `key` up to, but excluding, `end`. Empty: only `key`;
 * STORE_ALL: all keys from `key` on. */
#define STORE_ALL STR("\0")

typedef struct StoreOp {
    StoreOpKind kind;
    Str key;
    Str end; /* of a range or delete */

    int64_t revision; /* of a range: revision to read; 0: current */
    int64_t limit;    /* of a range: maximum number of keys; 0: all */
    bool keys_only, count_only, descending;

    Str value; /* of a put */
    int64_t lease;
    bool previous; /* of a put or delete: return the previous value */
} StoreOp;

typedef struct StoreTxn {
    const StoreCompare *compares; /* all of them must hold */
    uint32_t compare_count;
    const StoreOp *success; /* executed if they do */
    uint32_t success_count;
    const StoreOp *failure; /* executed otherwise */
    uint32_t failure_count;
    uint32_t lane; /* ordering group; 0: none */
    bool relaxed;  /* only without puts and deletes */
    bool urgent;   /* may use the reserved disk space, like deletes: for cleanup and repair */
} StoreTxn;

typedef struct StoreOpReply {
    StoreOpKind kind;
    /* Of a range: sorted; of a put or delete: the previous value, if requested. */
    const StoreKv *kvs;
    uint32_t kv_count;
    /* of a range: number of keys (with a limit: number of `kvs`); of a delete: number of deleted
     * keys */
    int64_t count;
    bool more; /* the limit was reached */
} StoreOpReply;

typedef struct StoreReply {
    int64_t revision; /* revision of the store, including this transaction */
    bool succeeded;   /* whether all comparisons held */
    const StoreOpReply *ops;
    uint32_t op_count;
} StoreReply;

/* `reply` is NULL on failure; `err` is NULL on success. */
typedef void StoreDone(void *context, const StoreReply *reply, const Error *err);

/* A branch may change a key only once. Ranges in a branch see earlier changes of it. A response
 * larger than STORE_REPLY_MAX is ERROR_LIMIT; a range with a limit ends earlier instead, with
 * `more`. `txn` is deep-copied. */
MUST_CHECK bool store_txn(Store *store, const StoreTxn *txn, StoreDone *done, void *context,
                          Error *err);

/* Like store_txn, for a transaction whose comparisons can no longer hold once it is applied, and
 * which only puts keys that it compares or that are new. While its outcome is unknown it is sent
 * again, and its puts are looked up; ERROR_UNKNOWN is only returned if the store is unreachable for
 * a while. If the outcome was determined that way, the reply has no ops. */
MUST_CHECK bool store_txn_confirmed(Store *store, const StoreTxn *txn, StoreDone *done,
                                    void *context, Error *err);

/* Transactions of one operation. */
MUST_CHECK bool store_op(Store *store, const StoreOp *op, StoreDone *done, void *context,
                         Error *err);
MUST_CHECK bool store_get(Store *store, Str key, StoreDone *done, void *context, Error *err);
MUST_CHECK bool store_put(Store *store, Str key, Str value, int64_t lease, StoreDone *done,
                          void *context, Error *err);
MUST_CHECK bool store_delete(Store *store, Str key, StoreDone *done, void *context, Error *err);
/* All keys that start with `prefix`. */
MUST_CHECK bool store_list(Store *store, Str prefix, StoreDone *done, void *context, Error *err);

/* The current revision, including writes of other clients: the reply has no ops. */
MUST_CHECK bool store_revision(Store *store, StoreDone *done, void *context, Error *err);

/* The end of the range of all keys with this prefix. */
Str store_prefix_end(Arena *arena, Str prefix);

/* --- Leases ---------------------------------------------------------------------------------- */

/* A lease expires unless it is kept alive; the keys put with it are then deleted in one
 * transaction. It counts monotonic time while the store is open: after a restart, all leases start
 * with their full TTL. */
typedef struct StoreLease {
    int64_t id;
    int64_t ttl_s;       /* as granted */
    int64_t remaining_s; /* rounded up; 0: expired, its keys are about to be deleted */
    const Str *keys;     /* of store_lease_time_to_live with keys */
    uint32_t key_count;
    int64_t revision; /* of the store */
} StoreLease;

typedef void StoreLeaseDone(void *context, const StoreLease *lease, const Error *err);
typedef void StoreLeasesDone(void *context, const int64_t *ids, uint32_t count, const Error *err);

/* `id` 0: the store chooses one. ERROR_CONFLICT if it exists. */
MUST_CHECK bool store_lease_grant(Store *store, int64_t ttl_s, int64_t id, StoreLeaseDone *done,
                                  void *context, Error *err);
/* Like store_lease_grant, for leases that the cluster cannot work without, such as the sessions of
 * nodes. Some capacity is reserved for these leases, and they are accepted for as long as possible
 * when the disk is full. */
MUST_CHECK bool store_lease_grant_reserved(Store *store, int64_t ttl_s, StoreLeaseDone *done,
                                           void *context, Error *err);
/* Restarts the TTL of the lease. Nothing is written. */
MUST_CHECK bool store_lease_keep_alive(Store *store, int64_t id, StoreLeaseDone *done,
                                       void *context, Error *err);
MUST_CHECK bool store_lease_revoke(Store *store, int64_t id, StoreLeaseDone *done, void *context,
                                   Error *err);
MUST_CHECK bool store_lease_time_to_live(Store *store, int64_t id, bool keys, StoreLeaseDone *done,
                                         void *context, Error *err);
/* IDs in ascending order. */
MUST_CHECK bool store_lease_list(Store *store, StoreLeasesDone *done, void *context, Error *err);

/* --- Watches --------------------------------------------------------------------------------- */

typedef struct StoreEvent {
    bool deleted;
    StoreKv kv; /* for a deleted key: only key and mod_revision */
    bool has_previous;
    StoreKv previous;
} StoreEvent;

enum {
    STORE_BATCH_EVENTS = 1000,
    STORE_BATCH_BYTES = 1024 * 1024, /* a single event may be larger */
};

typedef struct StoreBatch {
    const StoreEvent *events; /* sorted by revision; empty: no changes so far */
    uint32_t count;
    /* All changes up to this revision are delivered: a client that continues after it misses
     * nothing. If a revision did not fit, its first events are already included. */
    int64_t revision;
    /* The watch has ended in two cases, and must still be canceled. The log does not reach back to
     * its position: read everything again and watch from the revision of that read. */
    bool resync;
    int64_t compacted; /* with `resync`: the newest revision that is not in the log */
    const Error *err;  /* the log cannot be read; otherwise NULL */
} StoreBatch;

typedef struct StoreWatch StoreWatch;
typedef void StoreWatchDone(void *context, const StoreBatch *batch);

typedef struct StoreWatchSpec {
    Str key, end;    /* range of keys; see StoreOp */
    int64_t from;    /* first revision to deliver; 0: the next one */
    bool previous;   /* events include the previous value */
    uint32_t window; /* batches that may await store_watch_ack; 0 means 1 */
    StoreWatchDone *done;
    void *context;
} StoreWatchSpec;

/* Calls `done` with batches until it is canceled: with an empty one as soon as it is up to date,
 * and again when nothing has happened for a while. Every batch with events uses the window. While
 * the window is used up, nothing is buffered for the watch, which continues from the log later. A
 * `from` beyond the next revision results in `resync`: this store is older than the one that was
 * watched. */
MUST_CHECK bool store_watch(Store *store, const StoreWatchSpec *spec, StoreWatch **out, Error *err);
/* Call it when a batch with events has been processed. */
void store_watch_ack(StoreWatch *watch);
/* No more callbacks follow. Allowed within `done`. NULL is allowed. */
void store_watch_cancel(StoreWatch *watch);

/* --- Maintenance ----------------------------------------------------------------------------- */

/* Compacts the history up to and including `revision`, which is at most the current one; current
 * values remain. The space is freed gradually afterwards. ERROR_NOT_FOUND if already compacted. */
MUST_CHECK bool store_compact(Store *store, int64_t revision, StoreDone *done, void *context,
                              Error *err);

/* While it is held, the store does not compact beyond `revision` on its own, unless the disk is
 * nearly full or the log has twice its maximum size. So reads of a past revision are likely, but
 * not guaranteed, to succeed. Can be released before or after the store is closed. */
typedef struct StoreHold StoreHold;
StoreHold *store_hold(Store *store, int64_t revision);
void store_release(StoreHold *hold); /* NULL is allowed */

/* Creates a store in `directory` from an SQLite file that an earlier version copied into a backup.
 * Blocks. The file is verified first, against `digest` unless that is empty. ERROR_CONFLICT if a
 * store exists. */
MUST_CHECK bool store_restore(const char *directory, const char *path, Str digest, Error *err);

typedef struct StoreAccepted {
    int64_t found;        /* last revision in the file */
    int64_t acknowledged; /* if higher than `found`: the writes in between are lost */
    int64_t revision;     /* revision at which the store continues */
} StoreAccepted;

/* Continues with a store that has lost writes, or whose file is readable again: puts `key` at a
 * revision beyond all acknowledged ones, and compacts up to it, so that clients that have seen more
 * resync. Blocks. ERROR_OS if pages are damaged, ERROR_CONFLICT if nothing is wrong or another
 * process has it open. */
MUST_CHECK bool store_accept(const char *directory, Str key, Str value, StoreAccepted *out,
                             Error *err);
/* Whether store_accept is possible: fails like it, and changes nothing. */
MUST_CHECK bool store_can_accept(const char *directory, Error *err);

/* For repairs on a full disk, while the store is closed: releases the disk space reserved for
 * deletes, and reserves as much of it as possible again. Fails like store_open_sqlite; does nothing
 * if there is no store. */
MUST_CHECK bool store_release_reserve(const char *directory, Error *err);
void store_keep_reserve(const char *directory);

/* Whether there is a store that was ever written to. Also true if that cannot be determined. */
bool store_exists(const char *directory);
/* Whether a process has the store open; if so, it is complete, even if its file is lost. */
bool store_is_open(const char *directory);
/* Verifies every page of the store in `directory` and its mark, and changes nothing.
 * ERROR_NOT_FOUND if there is none, ERROR_CONFLICT if a process has it open, otherwise like
 * store_open_sqlite. Blocks. */
MUST_CHECK bool store_check(const char *directory, Error *err);

typedef enum StoreCondition {
    STORE_OK,
    STORE_UNWRITABLE, /* the last write failed */
    STORE_FULL,       /* disk full: only deletes and urgent writes are accepted */
    STORE_LOST,       /* its file was removed or replaced */
    STORE_DAMAGED,    /* no writes are accepted until a backup is restored, or the loss accepted */
} StoreCondition;
const char *store_condition_name(StoreCondition condition); /* "ok", "damaged" */

typedef struct StoreStatus {
    int64_t revision;   /* revision of the last response; other clients may have written since */
    int64_t compacted;  /* 0: nothing was compacted */
    int64_t bytes;      /* size on disk, or size of the log for a store in memory */
    int64_t log_bytes;  /* size of the changes that are not compacted */
    int64_t disk_bytes; /* size of the disk; 0: unknown, or in memory */
    bool has_reserve;   /* the reserved disk space is available */
    uint32_t pending;   /* number of pending calls */
    uint32_t watches, watches_behind;
    uint32_t leases;
    StoreCondition condition;
    bool writable;      /* STORE_OK */
    char reason[480];   /* the reason if not */
    int64_t durable_ms; /* loop_now_ms() of the last write that is on disk */
    uint64_t commits;   /* number of disk transactions since the store was opened */
    uint64_t writes;    /* number of callers' writes in these transactions */
} StoreStatus;

/* Returns the last known state without checking the disk. */
StoreStatus store_status(const Store *store);
/* Also checks the disk. Otherwise, a missing file is only noticed by the next write, which may take
 * a while. */
StoreStatus store_check_status(const Store *store);
