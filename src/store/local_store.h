/* The backend that keeps its rows itself, in memory or in SQLite: what its files share.
 *
 * The loop's thread owns the LocalStore. A call becomes a Job, which is handed from thread to thread and
 * belongs to one at a time:
 *
 *     loop  --writes-->  writer  --written-->  loop         answered, kept in `recent`
 *     loop  --reads--->  reader  --read------>  loop         answered
 *
 * The lists between them are the only thing that threads share. Without threads (memory, a virtual
 * loop) the loop does the same work itself in a later turn. */
#pragma once

#include <pthread.h>

#include "store/backend.h"
#include "store/execute.h"
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
    JOB_VERIFY, /* the store's own: looks at every page */
    JOB_LEASE,  /* asks the loop's thread alone */
    JOB_LEASES, /* the same */
} JobKind;

typedef struct LocalStore LocalStore;
typedef struct LocalWatch LocalWatch;

typedef struct Job Job;
struct Job {
    JobKind kind;
    Job *next;
    Arena arena;
    size_t bytes; /* counted among those that wait; 0: one of the store's own */

    StoreTxn txn;
    int64_t lease, ttl_s, remaining_s;
    int64_t compact_to;
    int64_t revision; /* that this job has made; 0: none */
    uint64_t after;   /* of a read: so many writes must be answered first */
    LogScan scan;
    LocalWatch *watch; /* of a scan; NULL: canceled meanwhile */

    bool ok;
    Error err;
    StoreReply reply;
    Changes changes;
    const Str *keys;
    uint32_t key_count;
    const int64_t *ids;
    uint32_t id_count;

    StoreDone *done; /* by kind one of these, all may be NULL */
    StoreLeaseDone *lease_done;
    StoreLeasesDone *leases_done;
    void *context;
};

typedef struct JobList {
    Job *first, *last;
} JobList;

typedef struct StoreSpace {
    int64_t bytes; /* that are kept back; 0: none */
    int64_t spare; /* free inside of the store, as far as it was looked at */
    int64_t held;  /* the size of the file that keeps them; 0: there is none */
    bool is_short; /* what takes room is refused */
} StoreSpace;

/* What the writer tells the loop beside the jobs. */
typedef struct WriterNews {
    int64_t compacted;
    int64_t bytes;
    uint64_t commits;
    int64_t log_bytes;
    bool writable;
    char reason[200];
    StoreLoss loss;
    StoreSpace space;
} WriterNews;

enum {
    MARK_DAMAGE_MAX = 480, /* bytes */
    MARK_ID_MAX = 80,
};

typedef struct StoreDamage {
    bool is_there;
    char text[MARK_DAMAGE_MAX]; /* with what to do */
} StoreDamage;

typedef struct StoreMark {
    SlotFile file; /* closed: of a store in memory */
    int64_t revision;
    char id[MARK_ID_MAX]; /* of the store; empty or "-": it has none */
    int64_t synced_us;    /* the writer's */
} StoreMark;

/* Changes of late, for watches that are up to date or nearly. */
typedef struct Recent {
    Job **jobs; /* a ring of `cap`, by revision */
    uint32_t first, count, cap;
    size_t bytes;
    int64_t from; /* all changes of this and later revisions are there */
} Recent;

typedef struct Lease Lease;

typedef struct Leases {
    Lease **slots; /* chains by id */
    uint32_t count, cap;
    uint32_t granting; /* called and not answered */
} Leases;

typedef struct WatchList {
    LocalWatch *first, *last;
} WatchList;

typedef struct Watches {
    LocalWatch *root; /* of the index by ranges */
    uint32_t count, behind;
    uint64_t made;
    WatchList feed; /* something may be told to them */
    WatchList wait; /* for a scan */
    uint32_t scans;
    LoopTask feed_task;
    LoopTimer progress;
    Arena arena; /* of a batch */
} Watches;

struct LocalStore {
    Store base;
    StoreSettings settings;
    Engine *writer, *reader; /* the same for memory */
    char *path;              /* of the file; NULL: memory */
    Directory directory;
    FileLock lock;

    bool threaded; /* else the loop's thread does it all */
    Worker *write_worker, *read_worker, *verify_worker;
    pthread_mutex_t mutex;
    JobList writes, written, reads, read, checks, checked; /* with the mutex held */
    uint32_t write_count;                                  /* the same: of `writes` */
    uint32_t write_goal;                                   /* the same: wakes the writer */
    WriterNews news;                                       /* the same */
    int64_t held_revision;    /* the same: not compacted beyond it; INT64_MAX: none */
    size_t answer_bytes;      /* the same: of what is done and not told yet */
    bool closing;             /* the same */
    StoreDamage damage;       /* the same */
    StoreMark mark;           /* the same */
    EngineState writer_state; /* the writer's */
    StoreSpace space;         /* the same */
    History history;          /* the same */
    WriterNews writer_news;   /* the same */
    LoopTask deliver_task;    /* posted or, without threads, deferred */

    JobList held;    /* reads that wait for writes */
    JobList answers; /* what the loop's thread answers by itself */
    LoopTask answer_task;
    uint64_t writes_called, writes_answered;
    uint32_t pending;
    size_t pending_bytes;
    WriterNews told; /* the newest */
    bool loss_told, saving_told;
    StoreDamage damage_told; /* as of `told` */
    bool damage_is_told;
    LoopTimer verify;
    bool verifying;
    int64_t durable_ms;
    EngineState state; /* as of the last write that was answered */
    int64_t newest; /* revision that a read has told, which may be one that is not answered yet */
    Recent recent;
    Leases leases;
    Watches watches;
};

enum {
    ANSWERS_BYTES = 64 * 1024 * 1024 /* that wait to be told; with more, the threads wait */
};

/* --- job.c ----------------------------------------------------------------------------------- */

void job_list_add(JobList *list, Job *job);
Job *job_list_take(JobList *list); /* NULL: empty */

Job *job_new(JobKind kind);
void job_free(Job *job);
/* Calls back with what is in the job, or its error. */
void job_answer(Job *job);
/* Whether one more can wait: ERROR_LIMIT, or ERROR_UNAVAILABLE while the store closes. */
MUST_CHECK bool job_admit(LocalStore *store, size_t bytes, Error *err);
void job_leaves(LocalStore *store, const Job *job); /* counts it out */

/* Hands the job on; it is answered later. */
void store_start_write(LocalStore *store, Job *job);
void store_start_read(LocalStore *store, Job *job);
/* Those that have waited for writes which are answered now. */
void store_release_reads(LocalStore *store);
void store_start_verify(LocalStore *store, Job *job);
void store_start_answer(LocalStore *store, Job *job);

/* --- work.c: on the threads ------------------------------------------------------------------ */

void work_write(void *context); /* a LocalStore, as of the others */
void work_read(void *context);
void work_verify(void *context);

/* --- damage.c -------------------------------------------------------------------------------- */

/* Reads the mark and compares it with the state; makes one where there is none. */
MUST_CHECK bool damage_open(LocalStore *store, Error *err);
void damage_close(LocalStore *store);
/* The writer has committed up to `revision`, and tells its callers next. */
void damage_acknowledge(LocalStore *store, int64_t revision);
/* The writer, between groups. */
void damage_sync_mark(LocalStore *store);
/* The file is damaged: ERROR_OS of an engine. Any thread. */
void damage_note(LocalStore *store, const Error *why);
/* Whether it is known to be damaged; then `err` says so. Any thread. */
bool damage_refuses(LocalStore *store, Error *err);
/* What the mark says of a file that ends at `revision`; of a store that was only entered. */
MUST_CHECK bool damage_check(LocalStore *store, int64_t revision, Error *err);
/* What is lost of a store whose pages can all be read; ERROR_CONFLICT: nothing is. */
MUST_CHECK bool damage_find_loss(LocalStore *store, StoreAccepted *out, Error *err);
MUST_CHECK bool damage_accept(LocalStore *store, Str key, Str value, StoreAccepted *out,
                              Error *err);

/* --- space.c: the writer's -------------------------------------------------------------------- */

/* How much is kept back, and how large the log may become for that; before the file is opened. */
void space_init(LocalStore *store);
/* On a disk that is full already keeps what is left. */
void space_open(LocalStore *store);
/* It cannot be opened: what was kept back may be the room that is missing. False: there is none. */
bool space_give_up(LocalStore *store);
/* Before each group: how much room there is, and the file again when there is enough. */
void space_look(LocalStore *store);
/* Pure: `free` of the disk and `spare` inside of the store are too little. */
bool space_is_short(const StoreSpace *space, int64_t free, int64_t spare);
/* Gives the room that was kept back away; false: it is gone already. */
bool space_release(LocalStore *store);
bool space_needs_room(const Job *job);
/* Whether this one is not taken at present; then `err` says so. */
bool space_refuses(const LocalStore *store, const Job *job, Error *err);

/* --- rescue.c -------------------------------------------------------------------------------- */

/* Saves what an engine has open whose file at `path` is lost. */
void rescue_run(Engine *engine, const char *path, StoreLoss *out);
/* Whether something was saved and has not taken the place of what is lost; doing that. */
bool rescue_is_there(const char *path);
MUST_CHECK bool rescue_adopt(const char *path, Error *err);
/* Says that both are there. Always false. */
bool rescue_refuse(const char *path, Error *err);

/* --- Calls, as in backend.h ------------------------------------------------------------------ */

bool local_lease_grant(Store *store, int64_t ttl_s, int64_t id, bool is_reserved,
                       StoreLeaseDone *done, void *context, Error *err);
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
/* A job about leases is done: the loop's thread learns of it before the caller. */
void leases_told(LocalStore *store, Job *job);

/* --- watch.c --------------------------------------------------------------------------------- */

void watches_init(LocalStore *store);
void watches_clear(LocalStore *store);
/* A write was answered; takes the job. */
void watches_told(LocalStore *store, Job *job);
/* A scan is done; takes the job. */
void watches_scanned(LocalStore *store, Job *job);

/* --- watch_index.c --------------------------------------------------------------------------- */

typedef struct WatchNode {
    LocalWatch *left, *right;
    uint64_t number;   /* of ranges that start alike, the first made comes first */
    uint64_t priority; /* by chance */
    Str key;
    Str end;                /* empty: there is none */
    const LocalWatch *last; /* below and with this one: whose end is the last */
} WatchNode;

struct LocalWatch {
    StoreWatch base;
    LocalStore *store;
    WatchNode node;
    StoreWatchSpec spec; /* key and end lie behind this struct */
    int64_t next_id;     /* all changes before it were told, or are out of its range */
    uint32_t window;     /* batches that may be told now */
    bool behind;         /* there may be something to tell */
    bool begun;          /* its start was looked at */
    bool current;        /* was told that it is up to date */
    bool news;           /* was told something since the last look */
    bool note;           /* shall be told that there is nothing new */
    bool over;
    bool telling;  /* `done` is being called */
    bool canceled; /* meanwhile */
    Job *scan;
    WatchList *list; /* the one it is in */
    LocalWatch *next, *previous;
};

void watch_index_add(LocalWatch **root, LocalWatch *watch);
void watch_index_remove(LocalWatch **root, LocalWatch *watch);
/* Those whose range has `key`. The index must not change meanwhile. */
void watch_index_find(LocalWatch *root, Str key, void (*found)(LocalWatch *watch, void *context),
                      void *context);
