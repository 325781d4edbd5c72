/* Watches: every change once and in order, from any retained revision, and without gaps. */
#include <stdlib.h>

#include "store_world.h"

static Str end_of(World *world, const char *prefix)
{
    return store_prefix_end(&world->arena, str_from_c(prefix));
}

static void changes_are_delivered_from_now_on(World *world)
{
    world_put(world, "a", "0");
    WatchLog seen = { .acks = true };
    watch_log_start(&seen, world, "a", STR_EMPTY, 0, false);
    watch_log_wait(&seen, 0);
    assert_int_equal(world_nth(world, seen.revision), 1);
    world_put(world, "a", "1");
    world_put(world, "b", "1");
    world_delete(world, "a");
    world_put(world, "a", "2");
    watch_log_wait(&seen, 3);
    assert_string_equal(seen.log, "put a=1@2, delete a@4, put a=2@5");
    store_watch_cancel(seen.watch);
}

static void ranges_previous_values_and_the_past(World *world)
{
    world_put(world, "a/1", "x");
    world_put(world, "b", "x");
    world_put(world, "a/2", "y");
    world_put(world, "a/1", "z");
    world_delete(world, "a/2");
    world_put(world, "a/2", "new");
    WatchLog all = { .acks = true }, later = { .acks = true }, rest = { .acks = true };
    watch_log_start(&all, world, "a/", end_of(world, "a/"), world_revision(world, 1), true);
    watch_log_start(&later, world, "a/2", STR_EMPTY, world_revision(world, 4), false);
    watch_log_start(&rest, world, "a/2", STORE_ALL, world_revision(world, 2), false);
    watch_log_wait(&all, 5);
    assert_string_equal(all.log, "put a/1=x@1, put a/2=y@3, put a/1=z@4 (was x@1), "
                                 "delete a/2@5 (was y@3), put a/2=new@6");
    watch_log_wait(&later, 2);
    assert_string_equal(later.log, "delete a/2@5, put a/2=new@6");
    watch_log_wait(&rest, 4);
    assert_string_equal(rest.log, "put b=x@2, put a/2=y@3, delete a/2@5, put a/2=new@6");
    store_watch_cancel(all.watch);
    store_watch_cancel(later.watch);
    store_watch_cancel(rest.watch);
}

static void a_restart_loses_no_change(World *world)
{
    world_put(world, "a", "1");
    world_put(world, "a", "2");
    world_delete(world, "a");
    world_reopen(world);
    WatchLog seen = { .acks = true };
    watch_log_start(&seen, world, "a", STR_EMPTY, world_revision(world, 2), true);
    world_put(world, "a", "3");
    watch_log_wait(&seen, 3);
    assert_string_equal(seen.log, "put a=2@2 (was 1@1), delete a@3 (was 2@2), put a=3@4");
    store_watch_cancel(seen.watch);
}

static void a_transaction_is_delivered_in_order(World *world)
{
    WatchLog seen = { .acks = true };
    watch_log_start(&seen, world, "a", STORE_ALL, 0, false);
    StoreOp ops[] = {
        { .kind = STORE_PUT, .key = STR("c"), .value = STR("1") },
        { .kind = STORE_PUT, .key = STR("a"), .value = STR("1") },
        { .kind = STORE_PUT, .key = STR("b"), .value = STR("1") },
    };
    StoreTxn txn = { .success = ops, .success_count = COUNT_OF(ops) };
    world_txn(world, &txn);
    watch_log_wait(&seen, 3);
    assert_string_equal(seen.log, "put c=1@1, put a=1@1, put b=1@1");
    store_watch_cancel(seen.watch);
}

/* Nothing is sent beyond the window; the rest follows afterward. */
static void a_slow_watcher_gets_changes_later(World *world)
{
    WatchLog seen = { 0 };
    watch_log_start(&seen, world, "a", STR_EMPTY, 0, false);
    watch_log_wait(&seen, 0);
    char value[32];
    for (int i = 1; i <= 20; i++) {
        snprintf(value, sizeof value, "%d", i);
        world_put(world, "a", value);
    }
    watch_log_wait(&seen, 1);
    uint32_t first = seen.events;
    assert_true(first >= 1 && first < 20);
    assert_int_equal(store_status(world->store).watches_behind, 1);
    seen.acks = true;
    store_watch_ack(seen.watch);
    watch_log_wait(&seen, 20);
    assert_int_equal(seen.events, 20);
    const char *at = seen.log;
    for (int i = 1; i <= 20; i++) {
        snprintf(value, sizeof value, "a=%d@%d", i, i);
        at = strstr(at, value);
        assert_non_null(at);
    }
    assert_int_equal(world_nth(world, seen.revision), 20);
    store_watch_cancel(seen.watch);
}

typedef struct Count {
    World *world;
    StoreWatch *watch;
    uint32_t events, batches, largest;
    int64_t last, reported;
    uint32_t expected;
    bool reached, fails;
} Count;

static void count_batch(void *context, const StoreBatch *batch)
{
    Count *count = context;
    count->batches++;
    count->fails |= batch->resync || batch->err != NULL;
    for (uint32_t i = 0; i < batch->count; i++) {
        int64_t revision = batch->events[i].kv.mod_revision;
        count->fails |= world_nth(count->world, revision) != count->events + i + 1;
        count->fails |= revision <= count->reported;
        count->last = revision;
    }
    count->reported = batch->revision;
    /* The last revision may continue in the next batch. */
    count->fails |= count->reported + 1 < count->last;
    count->events += batch->count;
    count->largest = batch->count > count->largest ? batch->count : count->largest;
    if (batch->count > 0) {
        store_watch_ack(count->watch);
    }
    count->reached = count->events >= count->expected;
    world_wake(count->world);
}

/* More changes than are held in memory: the rest comes from the log, in batches. */
static void a_watch_from_long_ago_reads_the_log(World *world)
{
    enum {
        PUTS = 400,
        SIZE = 50000
    };
    char *large = arena_alloc(&world->arena, SIZE);
    memset(large, 'x', SIZE);
    Answer *answers = ARENA_ARRAY(&world->arena, Answer, PUTS);
    memset(answers, 0, PUTS * sizeof *answers);
    Error err;
    for (int i = 0; i < PUTS; i++) {
        world_start_put(world, STR("k"), str_from(large, SIZE), &answers[i]);
    }
    while (!answers[PUTS - 1].done) {
        world_wait(world, &answers[PUTS - 1].done);
    }
    Count counts[6] = { 0 };
    for (unsigned i = 0; i < COUNT_OF(counts); i++) {
        counts[i] = (Count){ .world = world, .expected = PUTS };
        StoreWatchSpec spec = { .key = STR("k"),
                                .from = world_revision(world, 1),
                                .window = i,
                                .done = count_batch,
                                .context = &counts[i] };
        assert_true(store_watch(world->store, &spec, &counts[i].watch, &err));
    }
    for (unsigned i = 0; i < COUNT_OF(counts); i++) {
        while (!counts[i].reached) {
            world_wait(world, &counts[i].reached);
        }
        assert_false(counts[i].fails);
        assert_int_equal(counts[i].events, PUTS);
        assert_true(counts[i].largest <= STORE_BATCH_BYTES / SIZE + 1);
        store_watch_cancel(counts[i].watch);
    }
}

/* A revision larger than a batch, and larger than what is held in memory. */
static void a_large_delete_is_delivered_in_batches(World *world)
{
    enum {
        KEYS = 2300,
        SIZE = 4000
    };
    char *large = arena_alloc(&world->arena, SIZE);
    memset(large, 'x', SIZE);
    Answer *answers = ARENA_ARRAY(&world->arena, Answer, KEYS);
    memset(answers, 0, KEYS * sizeof *answers);
    for (int i = 0; i < KEYS; i++) {
        Str key = arena_format(&world->arena, "k%05d", i);
        world_start_put(world, key, str_from(large, SIZE), &answers[i]);
    }
    while (!answers[KEYS - 1].done) {
        world_wait(world, &answers[KEYS - 1].done);
    }
    WatchLog seen = { .acks = true };
    watch_log_start(&seen, world, "k", STR("l"), 0, true);
    watch_log_wait(&seen, 0);
    world_op(world, (StoreOp){ .kind = STORE_DELETE, .key = STR("k"), .end = STR("l") });
    world_put(world, "k", "after");
    while (seen.events < KEYS + 1) {
        watch_log_wait(&seen, KEYS + 1);
    }
    assert_int_equal(seen.events, KEYS + 1);
    assert_int_equal(world_nth(world, seen.revision), KEYS + 2);
    store_watch_cancel(seen.watch);
}

static void a_compacted_start_is_answered_with_resync(World *world)
{
    for (int i = 0; i < 5; i++) {
        world_put(world, "a", "1");
    }
    int64_t third = world_revision(world, 3);
    world_compact(world, third);
    WatchLog old = { .acks = true }, kept = { .acks = true };
    watch_log_start(&old, world, "a", STR_EMPTY, third, false);
    watch_log_start(&kept, world, "a", STR_EMPTY, third + 1, false);
    watch_log_wait(&old, 1);
    assert_true(old.resync);
    assert_int_equal(old.compacted, third);
    assert_int_equal(old.events, 0);
    watch_log_wait(&kept, 2);
    assert_false(kept.resync);
    world_put(world, "a", "2");
    watch_log_wait(&kept, 3);
    assert_int_equal(old.batches, 1);
    store_watch_cancel(old.watch);
    store_watch_cancel(kept.watch);
    if (world->backend->on_disk) {
        world_reopen(world);
        WatchLog again = { .acks = true };
        watch_log_start(&again, world, "a", STR_EMPTY, world_revision(world, 2), false);
        watch_log_wait(&again, 1);
        assert_true(again.resync);
        store_watch_cancel(again.watch);
    }
}

static void a_start_in_the_future_is_answered_with_resync(World *world)
{
    world_put(world, "a", "1");
    WatchLog next = { .acks = true }, beyond = { .acks = true };
    int64_t after = world_next_revision(world);
    watch_log_start(&next, world, "a", STR_EMPTY, after, false);
    watch_log_start(&beyond, world, "a", STR_EMPTY, after + 1, false);
    watch_log_wait(&beyond, 1);
    assert_true(beyond.resync);
    assert_int_equal(beyond.compacted, after - 1);
    world_put(world, "a", "2");
    watch_log_wait(&next, 1);
    assert_string_equal(next.log, "put a=2@2");
    store_watch_cancel(next.watch);
    store_watch_cancel(beyond.watch);
}

typedef struct Writers {
    World *world;
    int left;
    uint32_t running;
    bool done;
} Writers;

static void put_again(Writers *writers);

static void put_completed(void *context, const StoreReply *reply, const Error *err)
{
    Writers *writers = context;
    assert_null(err);
    writers->running--;
    put_again(writers);
}

static void put_again(Writers *writers)
{
    Error err;
    writers->done = writers->left == 0 && writers->running == 0;
    if (writers->left > 0) {
        writers->left--;
        writers->running++;
        assert_true(
            store_put(writers->world->store, STR("a"), STR("1"), 0, put_completed, writers, &err));
    } else if (writers->done) {
        world_wake(writers->world);
    }
}

/* A read may see a committed change whose writer has not been notified yet, which is no reason to
 * resync. */
static void a_watch_continues_from_the_revision_of_a_read(World *world)
{
    Writers writers = { .world = world, .left = 4000 };
    for (int i = 0; i < 16; i++) {
        put_again(&writers);
    }
    while (writers.left > 0) {
        StoreOp op = { .kind = STORE_RANGE, .key = STR("b") };
        StoreTxn txn = { .success = &op, .success_count = 1, .relaxed = true };
        WatchLog seen = { .acks = true };
        int64_t revision = world_txn(world, &txn)->reply.revision;
        watch_log_start(&seen, world, "b", STR_EMPTY, revision + 1, false);
        watch_log_wait(&seen, 0);
        assert_false(seen.resync);
        assert_true(seen.revision >= revision);
        store_watch_cancel(seen.watch);
    }
    world_wait(world, &writers.done);
}

static void a_watch_can_be_canceled_anywhere(World *world)
{
    WatchLog first = { .acks = true, .cancel_at = 1 }, second = { .acks = true, .cancel_at = 2 };
    watch_log_start(&first, world, "a", STR_EMPTY, 0, false);
    watch_log_start(&second, world, "a", STR_EMPTY, 0, false);
    WatchLog before = { 0 };
    watch_log_start(&before, world, "a", STR_EMPTY, 0, false);
    store_watch_cancel(before.watch);
    watch_log_wait(&second, 0);
    world_put(world, "a", "1");
    watch_log_wait(&second, 1);
    world_put(world, "a", "2");
    world_get(world, "a");
    assert_int_equal(first.events, 0);
    assert_int_equal(second.events, 1);
    assert_int_equal(before.batches, 0);
    assert_int_equal(store_status(world->store).watches, 0);
    /* While its scan is running. */
    WatchLog scanning = { 0 };
    if (world->backend->on_disk) {
        world_reopen(world);
    }
    watch_log_start(&scanning, world, "a", STR_EMPTY, world_revision(world, 1), false);
    Error err;
    Answer one = { .world = world };
    assert_true(store_get(world->store, STR("a"), answer_done, &one, &err));
    store_watch_cancel(scanning.watch);
    world_wait(world, &one.done);
    assert_int_equal(scanning.batches, 0);
}

static void an_idle_watch_gets_the_revision(World *world)
{
    WatchLog seen = { .acks = true };
    watch_log_start(&seen, world, "a", STR_EMPTY, 0, false);
    watch_log_wait(&seen, 0);
    world_put(world, "b", "1");
    assert_int_equal(seen.batches, 1);
    loop_run_virtual_until(world->loop, loop_now_ms(world->loop) + STORE_PROGRESS_MS);
    assert_int_equal(seen.batches, 2);
    assert_int_equal(world_nth(world, seen.revision), 1);
    world_put(world, "a", "1");
    loop_run_virtual_until(world->loop, loop_now_ms(world->loop) + STORE_PROGRESS_MS);
    assert_int_equal(seen.batches, 3);
    loop_run_virtual_until(world->loop, loop_now_ms(world->loop) + STORE_PROGRESS_MS);
    assert_int_equal(seen.batches, 4);
    assert_int_equal(seen.events, 1);
    store_watch_cancel(seen.watch);
}

static void compaction_behind_a_watch_does_not_affect_it(World *world)
{
    world_put(world, "a", "1");
    WatchLog seen = { .acks = true };
    watch_log_start(&seen, world, "a", STR_EMPTY, world_revision(world, 1), false);
    watch_log_wait(&seen, 1);
    loop_run_virtual_until(world->loop, loop_now_ms(world->loop) + 3 * STORE_PROGRESS_MS);
    world_put(world, "b", "1");
    world_compact(world, world_revision(world, 2));
    world_put(world, "a", "2");
    watch_log_wait(&seen, 2);
    assert_false(seen.resync);
    assert_string_equal(seen.log, "put a=1@1, put a=2@3");
    store_watch_cancel(seen.watch);
}

typedef struct Order {
    unsigned *next;
    unsigned came;
} Order;

static void order_batch(void *context, const StoreBatch *batch)
{
    Order *order = context;
    if (batch->count > 0) {
        order->came = (*order->next)++;
    }
}

/* Equal watches are notified in the order of their creation, so that simulations are
 * reproducible. */
static void watches_are_notified_in_the_order_they_were_created(World *world)
{
    enum {
        WATCHES = 50
    };
    StoreWatch *watches[WATCHES];
    Order orders[WATCHES];
    unsigned next = 0;
    WatchLog last = { .acks = true };
    Error err;
    for (int i = 0; i < WATCHES; i++) {
        orders[i] = (Order){ &next, WATCHES };
        StoreWatchSpec spec = { .key = STR("a"), .done = order_batch, .context = &orders[i] };
        assert_true(store_watch(world->store, &spec, &watches[i], &err));
    }
    watch_log_start(&last, world, "a", STR_EMPTY, 0, false);
    watch_log_wait(&last, 0);
    world_put(world, "a", "1");
    watch_log_wait(&last, 1);
    for (int i = 0; i < WATCHES; i++) {
        assert_int_equal(orders[i].came, i);
        store_watch_cancel(watches[i]);
    }
    store_watch_cancel(last.watch);
}

static void invalid_watches_are_rejected(World *world)
{
    Error err;
    StoreWatch *watch;
    StoreWatchSpec spec = { .key = STR_EMPTY };
    assert_false(store_watch(world->store, &spec, &watch, &err));
    spec = (StoreWatchSpec){ .key = STR("a"), .from = -1 };
    assert_false(store_watch(world->store, &spec, &watch, &err));
    spec = (StoreWatchSpec){ .key = STR("a"), .from = INT64_MAX - 1 };
    assert_false(store_watch(world->store, &spec, &watch, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
}

int main(void)
{
    static const StoreTest tests[] = {
        STORE_TEST(changes_are_delivered_from_now_on),
        STORE_TEST(ranges_previous_values_and_the_past),
        { "a_restart_loses_no_change", a_restart_loses_no_change, .disk_only = true },
        STORE_TEST(a_transaction_is_delivered_in_order),
        STORE_TEST(a_slow_watcher_gets_changes_later),
        STORE_TEST(a_watch_from_long_ago_reads_the_log),
        STORE_TEST(a_large_delete_is_delivered_in_batches),
        STORE_TEST(a_compacted_start_is_answered_with_resync),
        STORE_TEST(a_start_in_the_future_is_answered_with_resync),
        STORE_TEST(a_watch_continues_from_the_revision_of_a_read),
        STORE_TEST(a_watch_can_be_canceled_anywhere),
        { "an_idle_watch_gets_the_revision", an_idle_watch_gets_the_revision, .time_only = true },
        { "compaction_behind_a_watch_does_not_affect_it",
          compaction_behind_a_watch_does_not_affect_it, .time_only = true },
        STORE_TEST(watches_are_notified_in_the_order_they_were_created),
        STORE_TEST(invalid_watches_are_rejected),
    };
    return store_tests_run("store watches", tests, COUNT_OF(tests));
}
