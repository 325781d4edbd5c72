/* One suite for all backends of the store: a table of backends, a store of each for every test, and
 * calls that run the loop until they are answered. */
#pragma once

#include "base/arena.h"
#include "store/store.h"
#include "sys/loop.h"
#include "unit.h"

typedef struct Backend {
    const char *name;
    bool on_disk; /* what was written is there when it is opened again */
    bool virtual_time;
    bool is_far; /* asked over a network */
    bool others; /* somebody else writes too: revisions of ours are not one after another */
} Backend;

enum {
    CHANGES_MAX = 4096
};

/* Tests count their own changes, from 1 on: which revisions these are is the backend's affair. */
typedef struct World {
    const Backend *backend;
    Arena arena;
    Loop *loop;
    Store *store;
    StoreSettings settings;
    char folder[64];
    int64_t revisions[CHANGES_MAX]; /* [0]: before the first change */
    uint32_t changes;
} World;

typedef struct StoreTest {
    const char *name;
    void (*run)(World *world);
    bool disk_only;
    bool local_only; /* of what a store has that is beside its server */
    bool time_only;  /* waits for moments that on a real loop would take long */
} StoreTest;

#define STORE_TEST(name)                 \
    {                                    \
#name, name, false, false, false \
    }

/* Runs every test with every backend; the exit code. */
int store_tests_run(const char *suite, const StoreTest *tests, size_t count);

/* Changes of this store are counted from here on. */
void world_begin(World *world);
/* The revision of the nth change; 0: what was there before. */
int64_t world_revision(const World *world, int64_t nth);
/* The revision after that of the store: that of a change that there is not yet, or a later one. */
int64_t world_next_revision(World *world);
/* The revision of the store, which others may have made. */
int64_t world_now(World *world);
/* Which change made this revision, which one of them did. */
int64_t world_nth(World *world, int64_t revision);
/* Closes the store and opens it again. */
void world_reopen(World *world);
/* Runs the loop until `*flag`, which is looked at after every world_wake. */
void world_wait(World *world, const bool *flag);
void world_wake(World *world);
/* Runs it until nothing is left to do now; for virtual time only. */
void world_settle(World *world);

/* The answer, copied into the world's arena; `err.kind` is ERROR_NONE when it went well. A call
 * that is refused at once looks like one that failed. */
typedef struct Answer {
    World *world;
    bool done;
    Error err;
    StoreReply reply;
    StoreLease lease;
    int64_t ids[64];
    uint32_t id_count;
} Answer;

/* For calls that are not waited for at once; `context` is an Answer with its world set. */
void answer_done(void *context, const StoreReply *reply, const Error *err);
void answer_lease(void *context, const StoreLease *lease, const Error *err);

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

/* The value, or NULL when the key is not there. */
const char *world_get(World *world, const char *key);
/* "a=1 b=2", all keys from `key` up to `end`. */
const char *world_show(World *world, StoreOp op);

/* A watch that keeps what it was told, as "put a=1@3 (was 0)" and so on. */
typedef struct Seen {
    World *world;
    StoreWatch *watch;
    char log[8000];
    size_t used;
    uint32_t batches, events;
    int64_t revision; /* of the last batch */
    bool current;     /* an empty batch came */
    bool resync, failed;
    int64_t compacted;
    bool acks;          /* at once */
    uint32_t cancel_at; /* batches; 0: never */
    uint32_t wait_for;  /* events; `reached` then */
    bool reached;
} Seen;

void seen_watch(Seen *seen, World *world, const char *key, Str end, int64_t from, bool previous);
void seen_wait(Seen *seen, uint32_t events);
