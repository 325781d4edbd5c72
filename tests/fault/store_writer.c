/* A store user, to be killed, starved and inspected; see test_store.py.
 *
 *     store_writer write DIRECTORY SEED COUNT
 *         writes until it is killed, or COUNT times (0: no limit); prints each response as a line:
 *           ack REVISION KEY VALUE        VALUE "-": deleted
 *           swap WINS                     of two compare-and-swap with the same expectation
 *     store_writer dump DIRECTORY FROM
 *           store REVISION COMPACTED
 *           key KEY VALUE REVISION        all keys
 *           event REVISION KEY VALUE      all from FROM on (0: from the first available)
 *     store_writer sync DIRECTORY
 *         storage.c makes a sync fail; prints "ok" if no acknowledged write is lost and no more
 *         writes
 *         succeed until the store is reopened
 *     store_writer full DIRECTORY BALLAST
 *         on a small disk with a BALLAST file that uses up space; prints "ok" if all checks pass */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bug.h"
#include "store/store.h"

enum {
    IN_FLIGHT = 16,
    KEYS = 24,
    KEEP = 400,
};

typedef struct World World;

typedef struct Slot {
    World *world;
    char key[16], value[32];
} Slot;

struct World {
    Loop *loop;
    Store *store;
    uint64_t random_value, number;
    uint64_t left;
    Slot slots[IN_FLIGHT];
    int64_t counter;      /* the expected revision of the key of the compare-and-swaps */
    unsigned swaps, wins; /* number of completed compare-and-swaps, and of successful ones */
    int64_t last;
};

static uint64_t random_below(World *world, uint64_t below)
{
    world->random_value ^= world->random_value << 13;
    world->random_value ^= world->random_value >> 7;
    world->random_value ^= world->random_value << 17;
    return world->random_value % below;
}

/* In a single write, so that a printed line is always complete. */
static void print_line(const char *line)
{
    size_t len = strlen(line);
    BUG_IF(write(STDOUT_FILENO, line, len) != (ssize_t)len);
}

static void check(bool holds, const char *what, const Error *err)
{
    if (!holds) {
        fprintf(stderr, "store_writer: %s: %s\n", what, err == NULL ? "" : err->text);
        exit(1);
    }
}

static Store *open_store(Loop *loop, const char *directory)
{
    Store *store;
    Error err;
    StoreSettings settings = { .keep_revisions = KEEP, .keep_ms = -1, .wal_pages = 100 };
    check(store_open_sqlite(loop, directory, &settings, &store, &err), "open", &err);
    return store;
}

/* --- Writing --------------------------------------------------------------------------------- */

static void start_one(Slot *slot);
static void start_swap(World *world);

static void one_done(void *context, const StoreReply *reply, const Error *err)
{
    Slot *slot = context;
    World *world = slot->world;
    check(err == NULL, "write", err);
    char line[120];
    bool changed = reply->ops[0].kind == STORE_PUT || reply->ops[0].count > 0;
    check(!changed || reply->revision > world->last, "revisions do not grow", NULL);
    if (changed) {
        world->last = reply->revision;
        snprintf(line, sizeof line, "ack %lld %s %s\n", (long long)reply->revision, slot->key,
                 slot->value);
        print_line(line);
    }
    if (--world->left == 0) {
        loop_stop(world->loop);
        return;
    }
    start_one(slot);
}

static void start_one(Slot *slot)
{
    World *world = slot->world;
    Error err;
    snprintf(slot->key, sizeof slot->key, "k%llu", (unsigned long long)random_below(world, KEYS));
    bool put = random_below(world, 5) > 0;
    snprintf(slot->value, sizeof slot->value, put ? "%d.%llu" : "-", (int)getpid(),
             (unsigned long long)world->number++);
    check(put ? store_put(world->store, str_from_c(slot->key), str_from_c(slot->value), 0, one_done,
                          slot, &err)
              : store_delete(world->store, str_from_c(slot->key), one_done, slot, &err),
          "call", &err);
}

static void swap_done(void *context, const StoreReply *reply, const Error *err)
{
    World *world = context;
    check(err == NULL, "swap", err);
    world->swaps++;
    if (reply->succeeded) {
        world->wins++;
        world->counter = reply->revision;
        check(reply->revision > world->last, "revisions do not grow", NULL);
        world->last = reply->revision;
        char line[64];
        snprintf(line, sizeof line, "ack %lld counter swapped\n", (long long)reply->revision);
        print_line(line);
    }
    if (world->swaps == 2) {
        char line[32];
        snprintf(line, sizeof line, "swap %u\n", world->wins);
        print_line(line);
        start_swap(world);
    }
}

static void start_swap(World *world)
{
    Error err;
    world->swaps = world->wins = 0;
    StoreCompare compare = { STORE_MOD_REVISION, STORE_EQUAL, STR("counter"),
                             .number = world->counter };
    StoreOp op = { .kind = STORE_PUT, .key = STR("counter"), .value = STR("swapped") };
    StoreTxn txn = { .compares = &compare, .compare_count = 1, .success = &op, .success_count = 1 };
    for (int i = 0; i < 2; i++) {
        check(store_txn(world->store, &txn, swap_done, world, &err), "call", &err);
    }
}

static void counter_done(void *context, const StoreReply *reply, const Error *err)
{
    World *world = context;
    check(err == NULL, "read", err);
    world->counter = reply->ops[0].kv_count == 0 ? 0 : reply->ops[0].kvs[0].mod_revision;
    start_swap(world);
    for (int i = 0; i < IN_FLIGHT; i++) {
        start_one(&world->slots[i]);
    }
}

static void do_write(World *world, const char *directory, char **argv)
{
    world->random_value = strtoull(argv[0], NULL, 10) | 1;
    world->left = strtoull(argv[1], NULL, 10);
    world->left = world->left == 0 ? UINT64_MAX : world->left;
    for (int i = 0; i < IN_FLIGHT; i++) {
        world->slots[i].world = world;
    }
    Error err;
    world->store = open_store(world->loop, directory);
    check(store_get(world->store, STR("counter"), counter_done, world, &err), "call", &err);
    loop_run(world->loop);
    /* Callbacks of pending requests must not run anymore. */
    _exit(0);
}

/* --- Dumping --------------------------------------------------------------------------------- */

static void keys_done(void *context, const StoreReply *reply, const Error *err)
{
    World *world = context;
    check(err == NULL, "read", err);
    for (uint32_t i = 0; i < reply->ops[0].kv_count; i++) {
        const StoreKv *kv = &reply->ops[0].kvs[i];
        printf("key %" STR_FMT " %" STR_FMT " %lld\n", STR_ARG(kv->key), STR_ARG(kv->value),
               (long long)kv->mod_revision);
    }
    loop_stop(world->loop);
}

typedef struct Dump {
    World *world;
    StoreWatch *watch;
} Dump;

static void dump_batch(void *context, const StoreBatch *batch)
{
    Dump *dump = context;
    check(!batch->resync && batch->err == NULL, "watch", batch->err);
    for (uint32_t i = 0; i < batch->count; i++) {
        const StoreKv *kv = &batch->events[i].kv;
        Str value = batch->events[i].deleted ? STR("-") : kv->value;
        printf("event %lld %" STR_FMT " %" STR_FMT "\n", (long long)kv->mod_revision,
               STR_ARG(kv->key), STR_ARG(value));
    }
    if (batch->count > 0) {
        store_watch_ack(dump->watch);
    } else {
        loop_stop(dump->world->loop);
    }
}

static void do_dump(World *world, const char *directory, char **argv)
{
    Error err;
    world->store = open_store(world->loop, directory);
    StoreStatus status = store_status(world->store);
    printf("store %lld %lld\n", (long long)status.revision, (long long)status.compacted);
    check(store_list(world->store, STR("k"), keys_done, world, &err), "call", &err);
    loop_run(world->loop);
    int64_t from = strtoll(argv[0], NULL, 10);
    Dump dump = { .world = world };
    StoreWatchSpec spec = {
        .key = STORE_ALL,
        .end = STORE_ALL,
        .from = from == 0 ? status.compacted + 1 : from,
        .done = dump_batch,
        .context = &dump,
    };
    check(store_watch(world->store, &spec, &dump.watch, &err), "watch", &err);
    loop_run(world->loop);
    store_watch_cancel(dump.watch);
    store_close(world->store);
    loop_free(world->loop);
}

/* --- A full disk ----------------------------------------------------------------------------- */

typedef struct Full {
    World *world;
    bool answered, failed, found;
    Error err;
    int64_t revision;
} Full;

static void full_done(void *context, const StoreReply *reply, const Error *err)
{
    Full *full = context;
    full->answered = true;
    full->failed = err != NULL;
    if (err != NULL) {
        full->err = *err;
    } else {
        full->revision = reply->revision;
        full->found = reply->ops[0].kv_count > 0;
    }
    loop_stop(full->world->loop);
}

static void full_lease(void *context, const StoreLease *lease, const Error *err)
{
    Full *full = context;
    full->answered = true;
    full->failed = err != NULL;
    loop_stop(full->world->loop);
}

static void wait_for(Full *full)
{
    while (!full->answered) {
        loop_run(full->world->loop);
    }
    full->answered = false;
}

static bool put_large(Full *full, const char *key, size_t size)
{
    static char value[256 * 1024];
    Error err;
    check(store_put(full->world->store, str_from_c(key), str_from(value, size), 0, full_done, full,
                    &err),
          "call", &err);
    wait_for(full);
    return !full->failed;
}

static bool has_key(Full *full, const char *key)
{
    Error err;
    check(store_get(full->world->store, str_from_c(key), full_done, full, &err), "call", &err);
    wait_for(full);
    check(!full->failed, "a read failed", &full->err);
    return full->found;
}

static void resync_batch(void *context, const StoreBatch *batch)
{
    Full *full = context;
    if (batch->count > 0) {
        full->answered = batch->events[0].deleted;
        loop_stop(full->world->loop);
    }
}

static void fill(Full *full, int *puts)
{
    char key[16];
    size_t size = 256 * 1024;
    while (size >= 64) {
        snprintf(key, sizeof key, "f%d", *puts);
        if (put_large(full, key, size)) {
            ++*puts;
        } else {
            check(full->err.kind == ERROR_UNAVAILABLE, "another failure", &full->err);
            check(strstr(full->err.text, "disk is full") != NULL, "another reason", &full->err);
            size /= 2;
        }
    }
}

static void check_all(Full *full, int puts)
{
    char key[16];
    for (int i = 0; i < puts; i++) {
        snprintf(key, sizeof key, "f%d", i);
        check(has_key(full, key), key, NULL);
    }
    snprintf(key, sizeof key, "f%d", puts);
    check(!has_key(full, key), "a refused write is there", NULL);
}

/* --- A faulty disk --------------------------------------------------------------------------- */

static void do_sync(World *world, const char *directory, char **argv)
{
    Full full = { .world = world };
    char key[16];
    int puts = 0;
    world->store = open_store(world->loop, directory);
    for (;; puts++) {
        snprintf(key, sizeof key, "f%d", puts);
        if (!put_large(&full, key, 4000)) {
            break;
        }
        check(puts < 2000, "no failure", NULL);
    }
    check(full.err.kind == ERROR_UNAVAILABLE, "another failure", &full.err);
    check(strstr(full.err.text, "failed to store") != NULL, "another reason", &full.err);
    check(!put_large(&full, "after", 10), "written all the same", NULL);
    check(full.err.kind == ERROR_UNAVAILABLE, "another failure", &full.err);
    check(!store_status(world->store).writable, "status", NULL);
    check(!has_key(&full, "after") && (puts == 0 || has_key(&full, "f0")), "reads", NULL);
    store_close(world->store);

    world->store = open_store(world->loop, directory);
    for (int i = 0; i < puts; i++) {
        snprintf(key, sizeof key, "f%d", i);
        check(has_key(&full, key), key, NULL);
    }
    check(!has_key(&full, "after"), "a refused write is there", NULL);
    check(put_large(&full, "after", 10), "put", &full.err);
    store_close(world->store);
    loop_free(world->loop);
    print_line("ok\n");
}

static void do_full(World *world, const char *directory, char **argv)
{
    Full full = { .world = world };
    Error err;
    int puts = 0;
    world->store = open_store(world->loop, directory);
    check(store_lease_grant(world->store, 1, 7, full_lease, &full, &err), "call", &err);
    wait_for(&full);
    check(store_put(world->store, STR("leased"), STR("1"), 7, full_done, &full, &err), "call",
          &err);
    wait_for(&full);
    fill(&full, &puts);
    check(puts > 3, "no room from the start", NULL);
    int64_t revision = full.revision;
    StoreStatus status = store_status(world->store);
    check(!status.writable && strstr(status.reason, "disk is full") != NULL, "status", NULL);
    check_all(&full, puts);
    StoreWatch *watch;
    StoreWatchSpec spec = { .key = STR("leased"), .done = resync_batch, .context = &full };
    check(store_watch(world->store, &spec, &watch, &err), "watch", &err);
    check(unlink(argv[0]) == 0, "no ballast", NULL);
    check(put_large(&full, "again", 1000), "no write although there is room", &full.err);
    check(full.revision > revision, "revisions do not grow", NULL);
    check(store_status(world->store).writable, "status", NULL);
    /* The lease expired while the disk was full; it ends now. */
    if (has_key(&full, "leased")) {
        wait_for(&full);
    }
    store_watch_cancel(watch);
    fill(&full, &puts);
    check_all(&full, puts);
    store_close(world->store);

    world->store = open_store(world->loop, directory);
    check_all(&full, puts);
    check(has_key(&full, "again") && !has_key(&full, "leased"), "after a restart", NULL);
    store_close(world->store);
    loop_free(world->loop);
    print_line("ok\n");
}

int main(int argc, char **argv)
{
    static World world;
    static const struct {
        const char *name;
        int args;
        void (*run)(World *world, const char *directory, char **argv);
    } verbs[] = { { "write", 2, do_write },
                  { "dump", 1, do_dump },
                  { "sync", 0, do_sync },
                  { "full", 1, do_full } };
    for (unsigned i = 0; i < COUNT_OF(verbs); i++) {
        if (argc == 3 + verbs[i].args && strcmp(argv[1], verbs[i].name) == 0) {
            world.loop = loop_new();
            verbs[i].run(&world, argv[2], argv + 3);
            return 0;
        }
    }
    fprintf(stderr, "usage: store_writer write|dump|sync|full DIRECTORY ...\n");
    return 64;
}
