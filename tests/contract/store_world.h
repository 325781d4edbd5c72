/* One suite for all backends of the store: a table of backends, a store of each for every test, and
 * calls that run the loop until they complete. */
#pragma once

#include "base/arena.h"
#include "etcd_cluster.h"
#include "store/store.h"
#include "sys/loop.h"
#include "unit.h"

typedef struct Backend {
    const char *name;
    bool on_disk; /* keeps its content when it is reopened */
    bool virtual_time;
    bool is_remote;   /* accessed over a network */
    bool others;      /* other clients write too, so our revisions are not consecutive */
    uint32_t members; /* of an etcd cluster */
    bool fails; /* its members are killed, and its leader changes, between the calls of a test */
} Backend;

enum {
    CHANGES_MAX = 4096
};

/* Tests count their own changes, starting at 1; the backend determines their revisions. */
typedef struct World {
    const Backend *backend;
    Arena arena;
    Loop *loop;
    Store *store;
    StoreSettings settings;
    char directory[64];
    EtcdCluster *cluster;           /* of `store`; otherwise NULL */
    TlsContext *tls;                /* for it */
    uint32_t calls;                 /* since the test began */
    int64_t revisions[CHANGES_MAX]; /* [0]: before the first change */
    uint32_t changes;
} World;

typedef struct StoreTest {
    const char *name;
    void (*run)(World *world);
    bool disk_only;  /* of a store that keeps its content when it is reopened */
    bool local_only; /* only for a store in the process of its server */
    bool time_only;  /* only with virtual time, because it would take long on a real loop */
} StoreTest;

#define STORE_TEST(name)                 \
    {                                    \
#name, name, false, false, false \
    }

/* Runs every test with every local backend, or with those on etcd that EDEN_STORE_ON names; returns
 * the exit code. */
int store_tests_run(const char *suite, const StoreTest *tests, size_t count);

/* Starts counting changes of this store. */
void world_begin(World *world);
/* The revision of the nth change; 0: before the first one. */
int64_t world_revision(const World *world, int64_t nth);
/* A revision that the store has not reached yet: its next one, or a later one. */
int64_t world_next_revision(World *world);
/* The current revision of the store, which may be due to other clients. */
int64_t world_now(World *world);
/* The number of the test's change with this revision; there must be one. */
int64_t world_nth(World *world, int64_t revision);
/* Opens another store, which is empty. It replaces `store`, which must be closed if it is etcd. */
void world_open_empty(World *world, uint64_t number);
/* Closes the store and reopens it. */
void world_reopen(World *world);
/* Runs the loop until `*flag`, which is checked after every world_wake. */
void world_wait(World *world, const bool *flag);
void world_wake(World *world);
/* Runs the loop until nothing is due now; for virtual time only. */
void world_run_due(World *world);

/* A response, copied into the world's arena; `err.kind` is ERROR_NONE on success. A call that is
 * rejected immediately looks like one that failed. */
typedef struct Answer {
    World *world;
    bool done;
    Error err;
    StoreReply reply;
    StoreLease lease;
    int64_t ids[64];
    uint32_t id_count;
} Answer;

/* For calls that are not waited for immediately; `context` is an Answer with its world set. */
void answer_done(void *context, const StoreReply *reply, const Error *err);
void answer_lease(void *context, const StoreLease *lease, const Error *err);

/* Puts without waiting for earlier ones, in the order of the calls. */
void world_start_put(World *world, Str key, Str value, Answer *answer);

Answer *world_txn(World *world, const StoreTxn *txn);
Answer *world_op(World *world, StoreOp op);
Answer *world_put(World *world, const char *key, const char *value);
Answer *world_put_lease(World *world, const char *key, const char *value, int64_t lease);
Answer *world_delete(World *world, const char *key);
Answer *world_compact(World *world, int64_t revision);
Answer *world_grant(World *world, int64_t ttl_s, int64_t id);
Answer *world_revoke(World *world, int64_t id);
Answer *world_keep_alive(World *world, int64_t id);
Answer *world_time_to_live(World *world, int64_t id, bool keys);
Answer *world_lease_list(World *world);

/* Returns the value, or NULL if the key does not exist. */
const char *world_get(World *world, const char *key);
/* Returns "a=1 b=2", all keys from `key` up to `end`. */
const char *world_show(World *world, StoreOp op);

/* A watch that records what it received, as "put a=1@3 (was 0)" and so on. */
typedef struct WatchLog {
    World *world;
    StoreWatch *watch;
    char log[8000];
    size_t used;
    uint32_t batches, events;
    int64_t revision; /* revision of the last batch */
    bool current;     /* an empty batch arrived */
    bool resync, failed;
    int64_t compacted;
    bool acks;          /* acknowledges batches immediately */
    uint32_t cancel_at; /* number of batches; 0: never */
    uint32_t wait_for;  /* number of events after which `reached` is set */
    bool reached;
} WatchLog;

void watch_log_start(WatchLog *seen, World *world, const char *key, Str end, int64_t from,
                     bool previous);
void watch_log_wait(WatchLog *seen, uint32_t events);
