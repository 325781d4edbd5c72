/* Shared declarations of the local backend, which stores its rows in memory or in SQLite.
 *
 * The loop thread owns the LocalStore. A call becomes a Job, which is passed between threads and
 * belongs to one at a time:
 *
 *     loop  --writes-->  writer  --written-->  loop         completed, stored in `recent`
 *     loop  --reads--->  reader  --read------>  loop         completed
 *
 * The lists between them are the only data that threads share. Without threads (in memory, or on a
 * virtual loop) the loop does the same work in a later iteration. */
#pragma once

#include <pthread.h>

#include "store/backend.h"
#include "store/execute.h"
#include "store/watch_index.h"
#include "sys/directory.h"
#include "sys/file_lock.h"
#include "sys/slot_file.h"
#include "sys/worker.h"

#define STORE_FILE "store.db"
#define STORE_MARK "store.mark"

typedef enum JobKind {
    JOB_TXN,
    JOB_GRANT,
    JOB_REVOKE,
    JOB_COMPACT,
    JOB_READ,
    JOB_LEASE_KEYS,
    JOB_SCAN,
    JOB_VERIFY, /* internal: reads every page */
    JOB_LEASE,  /* needs only the loop thread's data */
    JOB_LEASES, /* needs only the loop thread's data */
} JobKind;

typedef struct LocalStore LocalStore;
typedef struct LocalWatch LocalWatch;

typedef struct Job Job;
struct Job {
    JobKind kind;
    Job *next;
    Arena arena;
    size_t bytes; /* counted as pending; 0: internal */

    StoreTxn txn;
    int64_t lease, ttl_s, remaining_s;
    int64_t compact_to;
    int64_t revision; /* revision that this job has created; 0: none */
    uint64_t after;   /* reads: number of writes that must be completed first */
    LogScan scan;
    LocalWatch *watch; /* scans: the watch; NULL if it was canceled in the meantime */

    bool ok;
    Error err;
    StoreReply reply;
    Changes changes;
    const Str *keys;
    uint32_t key_count;
    const int64_t *ids;
    uint32_t id_count;

    StoreDone *done; /* the callback, by kind; may be NULL */
    StoreLeaseDone *lease_done;
    StoreLeasesDone *leases_done;
    void *context;
};

typedef struct JobList {
    Job *first, *last;
} JobList;

typedef struct StoreSpace {
    int64_t bytes;      /* size of the reserve; 0: none */
    int64_t disk;       /* size of the disk; 0: unknown */
    int64_t free_bytes; /* free bytes inside the database, when last checked */
    int64_t held;       /* size of the reserve file; 0: there is none */
    bool is_low;        /* writes that need space are rejected */
} StoreSpace;

/* Notifications from the writer to the loop, in addition to jobs. */
typedef struct WriterStatus {
    int64_t compacted;
    int64_t bytes;
    uint64_t commits;
    int64_t log_bytes;
    bool writable;
    char reason[200];
    StoreLostFile loss;
    StoreSpace space;
} WriterStatus;

enum {
    MARK_DAMAGE_MAX = 480, /* bytes */
    MARK_ID_MAX = 80,
};

typedef struct StoreDamage {
    bool exists;
    char text[MARK_DAMAGE_MAX]; /* includes the command to run */
} StoreDamage;

typedef struct StoreMark {
    SlotFile file; /* not open for a store in memory */
    int64_t revision;
    char id[MARK_ID_MAX]; /* of the store; empty or "-" if it has none */
    int64_t synced_us;    /* only used by the writer */
} StoreMark;

/* Recent changes, for watches that are up to date or nearly so. */
typedef struct Recent {
    Job **jobs; /* ring buffer of `cap` jobs, sorted by revision */
    uint32_t first, count, cap;
    size_t bytes;
    int64_t from; /* all changes since this revision are included */
} Recent;

typedef struct Lease Lease;

typedef struct Leases {
    Lease **slots; /* hash chains by id */
    uint32_t count, cap;
    uint32_t granting; /* pending grants */
} Leases;

typedef struct WatchList {
    LocalWatch *first, *last;
} WatchList;

typedef struct Watches {
    WatchNode *root; /* root of the index by range */
    uint32_t count, behind_count;
    uint64_t created_count;
    WatchList feed; /* watches that may have something to deliver */
    WatchList wait; /* watches that wait for a scan */
    uint32_t scans;
    LoopTask feed_task;
    LoopTimer progress;
    Arena arena; /* holds the events of a batch */
} Watches;

struct LocalStore {
    Store base;
    StoreSettings settings;
    Engine *writer, *reader; /* the same engine for a store in memory */
    char *path;              /* path of the database; NULL for a store in memory */
    Directory directory;
    FileLock lock;

    bool threaded; /* false: the loop thread does everything */
    Worker *write_worker, *read_worker, *verify_worker;
    pthread_mutex_t mutex;
    JobList writes, written, reads, read, checks, checked; /* protected by the mutex */
    /* protected by the mutex: length of `writes` */
    uint32_t write_count;
    /* protected by the mutex: count at which the writer wakes up */
    uint32_t wake_count;
    WriterStatus status_update; /* protected by the mutex */
    /* protected by the mutex: do not compact beyond it; INT64_MAX: no limit */
    int64_t held_revision;
    size_t completed_bytes;     /* protected by the mutex: size of undelivered responses */
    bool closing;               /* protected by the mutex */
    StoreDamage damage;         /* protected by the mutex */
    StoreMark mark;             /* protected by the mutex */
    EngineState writer_state;   /* only used by the writer */
    StoreSpace space;           /* only used by the writer */
    History history;            /* only used by the writer */
    WriterStatus writer_status; /* only used by the writer */
    LoopTask deliver_task;      /* posted or, without threads, deferred */

    JobList held;      /* reads that wait for writes */
    JobList completed; /* calls that the loop thread completed itself */
    LoopTask completion_task;
    uint64_t writes_called, writes_completed;
    uint32_t pending;
    size_t pending_bytes;
    WriterStatus notified; /* the newest notification from the writer */
    bool loss_reported, save_reported;
    StoreDamage notified_damage; /* damage that `notified` refers to */
    bool damage_reported;
    LoopTimer verify;
    bool verifying;
    int64_t durable_ms;
    EngineState state; /* as of the last completed write */
    int64_t newest;    /* newest revision seen by a read, which may not be completed yet */
    Recent recent;
    Leases leases;
    Watches watches;
};

enum {
    /* size of undelivered responses above which the threads wait */
    COMPLETED_BYTES = 64 * 1024 * 1024
};

/* --- job.c ----------------------------------------------------------------------------------- */

void job_list_add(JobList *list, Job *job);
Job *job_list_take(JobList *list); /* NULL if empty */

Job *job_new(JobKind kind);
void job_free(Job *job);
/* Calls the callback with the result or error of the job. */
void job_complete(Job *job);
/* Whether another call may be queued. Fails with ERROR_LIMIT, or with ERROR_UNAVAILABLE while the
 * store is closing. */
MUST_CHECK bool job_admit(LocalStore *store, size_t bytes, Error *err);
void job_uncount(LocalStore *store, const Job *job); /* counterpart of job_admit */

/* Queues the job, which is completed later. */
void store_start_write(LocalStore *store, Job *job);
void store_start_read(LocalStore *store, Job *job);
/* Starts reads whose preceding writes are now completed. */
void store_release_reads(LocalStore *store);
void store_start_verify(LocalStore *store, Job *job);
void store_start_completion(LocalStore *store, Job *job);

/* --- store_threads.c: run on the threads ------------------------------------------------------ */

void work_write(void *context); /* the context is a LocalStore here and below */
void work_read(void *context);
void work_verify(void *context);

/* --- damage.c -------------------------------------------------------------------------------- */

/* Reads the mark and compares it with the state. Creates a missing one. */
MUST_CHECK bool damage_open(LocalStore *store, Error *err);
void damage_close(LocalStore *store);
/* The writer has committed up to `revision` and is about to notify callers. */
void damage_acknowledge(LocalStore *store, int64_t revision);
/* Called by the writer between groups. */
void damage_sync_mark(LocalStore *store);
/* Records that the file is damaged (ERROR_OS of an engine). Any thread. */
void damage_record(LocalStore *store, const Error *why);
/* Whether the file is known to be damaged; if so, sets `err`. Any thread. */
bool damage_refuses(LocalStore *store, Error *err);
/* Compares the mark with a file that ends at `revision`, without opening the store. */
MUST_CHECK bool damage_check(LocalStore *store, int64_t revision, Error *err);
/* Determines which writes were lost, in a store whose pages are all readable. ERROR_CONFLICT:
 * nothing was lost. */
MUST_CHECK bool damage_find_loss(LocalStore *store, StoreAccepted *out, Error *err);
MUST_CHECK bool damage_accept(LocalStore *store, Str key, Str value, StoreAccepted *out,
                              Error *err);

/* --- space.c: only used by the writer -------------------------------------------------------- */

/* Determines the size of the reserve and the log limit that follows from it. Called before the file
 * is opened. */
void space_init(LocalStore *store);
/* On a full disk, reserves the remaining space. */
void space_open(LocalStore *store);
/* Called if the file cannot be opened: frees the reserve, which may provide the missing space.
 * Returns false if there is none. */
bool space_release_all(LocalStore *store);
/* Called before each group: checks the free space, and recreates the reserve when there is
 * enough. */
void space_update(LocalStore *store);
/* Pure: whether `free` on the disk and `free_bytes` in the database are too little. */
bool space_is_low(const StoreSpace *space, int64_t free, int64_t free_bytes);
/* Frees the reserve. Returns false if there is none. */
bool space_release(LocalStore *store);
bool job_needs_space(const Job *job);
/* Whether this job is rejected for lack of space; if so, sets `err`. */
bool space_refuses(const LocalStore *store, const Job *job, Error *err);

/* --- rescue.c -------------------------------------------------------------------------------- */

/* Saves the data of an engine whose file at `path` is lost. */
void rescue_run(Engine *engine, const char *path, StoreLostFile *out);
/* Whether there is a saved copy that has not replaced the lost file yet; and the replacement
 * itself. */
bool rescue_exists(const char *path);
MUST_CHECK bool rescue_adopt(const char *path, Error *err);
/* Reports that both files exist. Always returns false. */
bool rescue_refuse(const char *path, Error *err);

/* --- Calls of backend.h ---------------------------------------------------------------------- */

bool local_lease_grant(Store *store, const StoreLeaseGrant *grant, StoreLeaseDone *done,
                       void *context, Error *err);
bool local_lease_keep_alive(Store *store, int64_t id, StoreLeaseDone *done, void *context,
                            Error *err);
bool local_lease_revoke(Store *store, int64_t id, StoreLeaseDone *done, void *context, Error *err);
bool local_lease_time_to_live(Store *store, int64_t id, bool keys, StoreLeaseDone *done,
                              void *context, Error *err);
bool local_lease_list(Store *store, StoreLeasesDone *done, void *context, Error *err);
bool local_watch(Store *base, const StoreWatchSpec *spec, StoreWatch **out, Error *err);
void local_watch_ack(StoreWatch *base);
void local_watch_cancel(StoreWatch *base);

/* --- lease.c --------------------------------------------------------------------------------- */

MUST_CHECK bool leases_load(LocalStore *store, Error *err);
void leases_clear(LocalStore *store);
/* A lease job is completed: updates the loop thread's data before the caller is notified. */
void leases_job_done(LocalStore *store, Job *job);

/* --- watch.c --------------------------------------------------------------------------------- */

void watches_init(LocalStore *store);
void watches_clear(LocalStore *store);
/* A write is completed. Takes ownership of the job. */
void watches_write_done(LocalStore *store, Job *job);
/* A scan is done. Takes ownership of the job. */
void watches_scanned(LocalStore *store, Job *job);

struct LocalWatch {
    StoreWatch base;
    LocalStore *store;
    WatchNode node;
    StoreWatchSpec spec; /* key and end are stored after this struct */
    int64_t next_id;     /* earlier changes are delivered or outside of its range */
    uint32_t window;     /* batches that may be delivered now */
    bool is_behind;      /* there may be changes to deliver */
    bool start_checked;  /* its start revision was validated */
    bool current;        /* it was notified that it is up to date */
    bool was_delivered;  /* something was delivered since the last check */
    bool progress_due;   /* progress notification is due */
    bool is_ended;
    bool in_callback; /* its callback is running */
    bool canceled;    /* canceled during its callback */
    Job *scan;
    WatchList *list; /* the list that contains it */
    LocalWatch *next, *previous;
};
