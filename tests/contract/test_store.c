/* The contract of every backend of the store: keys, values, transactions, history, maintenance. */
#include <stdlib.h>
#include <sys/stat.h>

#include "store_world.h"

#define OK(answer)          assert_int_equal((answer)->err.kind, ERROR_NONE)
#define FAILS(answer, code) assert_int_equal((answer)->err.kind, (code))
/* Checks that a revision is that of the test's nth change. */
#define NTH(world, revision, nth) assert_int_equal(world_nth((world), (revision)), (nth))

static StoreOp range(const char *key, Str end)
{
    return (StoreOp){ .kind = STORE_RANGE, .key = str_from_c(key), .end = end };
}

static StoreOp put(const char *key, const char *value)
{
    return (StoreOp){ .kind = STORE_PUT, .key = str_from_c(key), .value = str_from_c(value) };
}

static StoreOp delete_range(const char *key, Str end)
{
    return (StoreOp){ .kind = STORE_DELETE, .key = str_from_c(key), .end = end };
}

static void a_put_is_read_with_its_revisions(World *world)
{
    assert_null(world_get(world, "a"));
    Answer *first = world_put(world, "a", "1");
    OK(first);
    NTH(world, first->reply.revision, 1);
    assert_true(first->reply.succeeded);
    NTH(world, world_put(world, "b", "x")->reply.revision, 2);
    NTH(world, world_put(world, "a", "2")->reply.revision, 3);
    assert_true(world_revision(world, 0) < world_revision(world, 1));
    Answer *read = world_op(world, range("a", STR_EMPTY));
    OK(read);
    NTH(world, read->reply.revision, 3);
    assert_int_equal(read->reply.ops[0].count, 1);
    StoreKv kv = read->reply.ops[0].kvs[0];
    assert_str(kv.key, "a");
    assert_str(kv.value, "2");
    NTH(world, kv.create_revision, 1);
    NTH(world, kv.mod_revision, 3);
    assert_int_equal(kv.version, 2);
    assert_int_equal(kv.lease, 0);
}

static void any_bytes_are_keys_and_values(World *world)
{
    Str key = STR("\0\xff/\n"), value = STR("\0\0\x80");
    OK(world_op(world, (StoreOp){ .kind = STORE_PUT, .key = key, .value = value }));
    OK(world_op(world, put("empty", "")));
    Answer *read = world_op(world, (StoreOp){ .kind = STORE_RANGE, .key = key });
    assert_true(str_eq(read->reply.ops[0].kvs[0].value, value));
    assert_string_equal(world_get(world, "empty"), "");
}

static void a_deleted_key_starts_over(World *world)
{
    world_put(world, "a", "1");
    world_put(world, "a", "2");
    Answer *gone = world_delete(world, "a");
    NTH(world, gone->reply.revision, 3);
    assert_int_equal(gone->reply.ops[0].count, 1);
    assert_null(world_get(world, "a"));
    int64_t before = world_now(world);
    Answer *none = world_op(world, delete_range("a", STR_EMPTY));
    assert_int_equal(none->reply.ops[0].count, 0);
    assert_true(world->backend->others || none->reply.revision == before);
    world_put(world, "a", "3");
    StoreKv kv = world_op(world, range("a", STR_EMPTY))->reply.ops[0].kvs[0];
    NTH(world, kv.create_revision, 4);
    assert_int_equal(kv.version, 1);
}

static void ranges_are_half_open_and_ordered(World *world)
{
    const char *keys[] = { "b", "a/2", "c", "a/1", "a/10", "a0" };
    for (unsigned i = 0; i < COUNT_OF(keys); i++) {
        world_put(world, keys[i], "v");
    }
    Str end = store_prefix_end(&world->arena, STR("a/"));
    assert_string_equal(world_show(world, range("a/", end)), "a/1=v a/10=v a/2=v");
    assert_string_equal(world_show(world, range("a0", STR("c"))), "a0=v b=v");
    assert_string_equal(world_show(world, range("b", STORE_ALL)), "b=v c=v");
    assert_string_equal(world_show(world, range("c", STR("b"))), "");
    StoreOp op = range("a", STORE_ALL);
    op.descending = true;
    op.limit = 2;
    assert_string_equal(world_show(world, op), "c=v b=v");
    op = range("b", STR("d"));
    op.descending = true;
    assert_string_equal(world_show(world, op), "c=v b=v");
    assert_str(store_prefix_end(&world->arena, STR("a\xff")), "b");
    assert_true(str_eq(store_prefix_end(&world->arena, STR("\xff\xff")), STORE_ALL));
}

static void limits_counts_and_keys_only(World *world)
{
    for (char key[] = "k0"; key[1] < '5'; key[1]++) {
        world_put(world, key, "value");
    }
    StoreOp op = range("k", STR("l"));
    StoreOpReply all = world_op(world, op)->reply.ops[0];
    assert_int_equal(all.count, 5);
    assert_false(all.more);
    op.limit = 3;
    StoreOpReply some = world_op(world, op)->reply.ops[0];
    assert_int_equal(some.kv_count, 3);
    assert_true(some.more);
    op.limit = 5;
    assert_false(world_op(world, op)->reply.ops[0].more);
    op.limit = 0;
    op.keys_only = true;
    assert_string_equal(world_show(world, op), "k0= k1= k2= k3= k4=");
    op.keys_only = false;
    op.count_only = true;
    StoreOpReply count = world_op(world, op)->reply.ops[0];
    assert_int_equal(count.count, 5);
    assert_int_equal(count.kv_count, 0);
}

static void reads_can_use_past_revisions(World *world)
{
    world_put(world, "a", "1");
    world_put(world, "b", "1");
    world_delete(world, "a");
    world_put(world, "a", "2");
    world_put(world, "c", "1");
    const char *const then[] = { "", "a=1", "a=1 b=1", "b=1", "a=2 b=1", "a=2 b=1 c=1" };
    for (int64_t revision = 1; revision < (int64_t)COUNT_OF(then); revision++) {
        StoreOp op = range("a", STORE_ALL);
        op.revision = world_revision(world, revision);
        assert_string_equal(world_show(world, op), then[revision]);
        op.count_only = true;
        assert_int_equal(world_op(world, op)->reply.ops[0].count,
                         (int64_t)(strlen(then[revision]) + 1) / 4);
    }
    StoreOp op = range("a", STR_EMPTY);
    op.revision = world_revision(world, 2);
    StoreKv kv = world_op(world, op)->reply.ops[0].kvs[0];
    NTH(world, kv.mod_revision, 1);
    op.revision = world_revision(world, 3);
    assert_int_equal(world_op(world, op)->reply.ops[0].kv_count, 0);
    op.revision = world_next_revision(world);
    FAILS(world_op(world, op), ERROR_INVALID);
}

static void comparisons_decide(World *world)
{
    OK(world_grant(world, 100, 7));
    world_put(world, "x", "0");
    int64_t create = world_put_lease(world, "a", "m", 7)->reply.revision;
    int64_t mod = world_put_lease(world, "a", "m", 7)->reply.revision;
    assert_true(create < mod);
    const struct {
        StoreTarget target;
        const char *key;
        int64_t number; /* the actual revision */
    } numbers[] = {
        { STORE_VERSION, "a", 2 },         { STORE_CREATE_REVISION, "a", create },
        { STORE_MOD_REVISION, "a", mod },  { STORE_LEASE, "a", 7 },
        { STORE_VERSION, "none", 0 },      { STORE_CREATE_REVISION, "none", 0 },
        { STORE_MOD_REVISION, "none", 0 }, { STORE_LEASE, "x", 0 },
    };
    for (unsigned i = 0; i < COUNT_OF(numbers); i++) {
        for (int64_t off = -1; off <= 1; off++) {
            for (StoreRelation relation = STORE_EQUAL; relation <= STORE_GREATER; relation++) {
                StoreCompare compare = { numbers[i].target, relation, str_from_c(numbers[i].key),
                                         .number = numbers[i].number + off };
                const bool expected[] = { off == 0, off != 0, off > 0, off < 0 };
                StoreTxn txn = { .compares = &compare, .compare_count = 1 };
                assert_int_equal(world_txn(world, &txn)->reply.succeeded, expected[relation]);
            }
        }
    }
    const char *const values[] = { "l", "m", "n" };
    for (int i = 0; i < 3; i++) {
        for (StoreRelation relation = STORE_EQUAL; relation <= STORE_GREATER; relation++) {
            const bool expected[] = { i == 1, i != 1, i > 1, i < 1 };
            StoreCompare compare = { STORE_VALUE, relation, STR("a"),
                                     .value = str_from_c(values[i]) };
            StoreTxn txn = { .compares = &compare, .compare_count = 1 };
            assert_int_equal(world_txn(world, &txn)->reply.succeeded, expected[relation]);
            compare.key = STR("none");
            assert_false(world_txn(world, &txn)->reply.succeeded);
        }
    }
}

static void a_transaction_is_one_revision_or_none(World *world)
{
    world_put(world, "a", "1");
    StoreCompare compare = { STORE_VALUE, STORE_EQUAL, STR("a"), .value = STR("1") };
    StoreOp success[] = { put("a", "2"), put("b", "2"), range("a", STORE_ALL),
                          delete_range("c", STR("z")) };
    StoreOp failure[] = { range("a", STR_EMPTY) };
    StoreTxn txn = { &compare, 1, success, COUNT_OF(success), failure, COUNT_OF(failure) };
    Answer *done = world_txn(world, &txn);
    assert_true(done->reply.succeeded);
    NTH(world, done->reply.revision, 2);
    assert_int_equal(done->reply.op_count, 4);
    /* A range sees what was put before it. */
    assert_int_equal(done->reply.ops[2].kv_count, 2);
    assert_str(done->reply.ops[2].kvs[0].value, "2");
    NTH(world, done->reply.ops[2].kvs[1].mod_revision, 2);
    assert_int_equal(done->reply.ops[3].count, 0);
    done = world_txn(world, &txn);
    assert_false(done->reply.succeeded);
    assert_int_equal(done->reply.revision, world_now(world));
    assert_int_equal(world->changes, 2);
    assert_int_equal(done->reply.op_count, 1);
    assert_str(done->reply.ops[0].kvs[0].value, "2");
}

static void previous_values_are_returned_on_request(World *world)
{
    StoreOp op = put("a", "1");
    op.previous = true;
    assert_int_equal(world_op(world, op)->reply.ops[0].kv_count, 0);
    op.value = STR("2");
    StoreOpReply reply = world_op(world, op)->reply.ops[0];
    assert_int_equal(reply.kv_count, 1);
    assert_str(reply.kvs[0].value, "1");
    NTH(world, reply.kvs[0].mod_revision, 1);
    world_put(world, "b", "x");
    op = delete_range("a", STORE_ALL);
    op.previous = true;
    reply = world_op(world, op)->reply.ops[0];
    assert_int_equal(reply.count, 2);
    assert_str(reply.kvs[0].value, "2");
    assert_str(reply.kvs[1].value, "x");
    op.previous = false;
    world_put(world, "a", "1");
    assert_int_equal(world_op(world, op)->reply.ops[0].kv_count, 0);
}

static void a_key_changes_once_in_a_transaction(World *world)
{
    StoreOp twice[] = { put("a", "1"), put("b", "1"), put("a", "2") };
    StoreTxn txn = { .success = twice, .success_count = 3 };
    FAILS(world_txn(world, &txn), ERROR_INVALID);
    StoreOp within[] = { delete_range("a", STR("c")), put("b", "1") };
    txn = (StoreTxn){ .failure = within, .failure_count = 2 };
    FAILS(world_txn(world, &txn), ERROR_INVALID);
    StoreOp deletes[] = { delete_range("a", STR("c")), delete_range("b", STORE_ALL),
                          put("a0", "") };
    deletes[2].key = STR("A");
    txn = (StoreTxn){ .success = deletes, .success_count = 3 };
    world_put(world, "b", "1");
    Answer *done = world_txn(world, &txn);
    OK(done);
    assert_int_equal(done->reply.ops[0].count, 1);
    assert_int_equal(done->reply.ops[1].count, 0);
    assert_string_equal(world_show(world, range("A", STORE_ALL)), "A=");
}

static void requests_have_limits(World *world)
{
    char *large = arena_alloc(&world->arena, STORE_REQUEST_MAX);
    memset(large, 'x', STORE_REQUEST_MAX);
    Str key = str_from(large, STORE_KEY_MAX), value = str_from(large, STORE_VALUE_MAX);
    OK(world_op(world, (StoreOp){ .kind = STORE_PUT, .key = key, .value = value }));
    assert_int_equal(world_op(world, (StoreOp){ .kind = STORE_RANGE, .key = key })
                         ->reply.ops[0]
                         .kvs[0]
                         .value.len,
                     STORE_VALUE_MAX);
    key.len++;
    FAILS(world_op(world, (StoreOp){ .kind = STORE_PUT, .key = key }), ERROR_LIMIT);
    FAILS(world_op(world, (StoreOp){ .kind = STORE_RANGE, .key = STR("a"), .end = key }),
          ERROR_LIMIT);
    FAILS(world_op(world, put("", "")), ERROR_INVALID);
    FAILS(world_op(world, (StoreOp){ .kind = (StoreOpKind)9, .key = STR("a") }), ERROR_INVALID);
    StoreOp negative = range("a", STR_EMPTY);
    negative.revision = -1;
    FAILS(world_op(world, negative), ERROR_INVALID);
    value.len++;
    FAILS(world_op(world, (StoreOp){ .kind = STORE_PUT, .key = STR("a"), .value = value }),
          ERROR_LIMIT);
    StoreOp many[STORE_OPS_MAX + 1];
    char names[STORE_OPS_MAX + 1][16];
    for (int i = 0; i <= STORE_OPS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        many[i] = put(names[i], "v");
    }
    StoreTxn txn = { .success = many, .success_count = STORE_OPS_MAX + 1 };
    FAILS(world_txn(world, &txn), ERROR_LIMIT);
    txn.success_count--;
    OK(world_txn(world, &txn));
    many[0].value = many[1].value = str_from(large, STORE_REQUEST_MAX / 2 + 1);
    FAILS(world_txn(world, &txn), ERROR_LIMIT);
}

static void oversized_responses_fail_and_undo_the_transaction(World *world)
{
    char *large = arena_alloc(&world->arena, STORE_VALUE_MAX);
    memset(large, 'x', STORE_VALUE_MAX);
    for (char key[] = "a"; key[0] < 'm'; key[0]++) {
        StoreOp op = { .kind = STORE_PUT,
                       .key = str_from(key, 1),
                       .value = str_from(large, STORE_VALUE_MAX) };
        OK(world_op(world, op));
    }
    FAILS(world_op(world, range("a", STORE_ALL)), ERROR_LIMIT);
    StoreOp op = range("a", STORE_ALL);
    op.limit = 1000;
    StoreOpReply some = world_op(world, op)->reply.ops[0];
    assert_true(some.more);
    assert_int_equal(some.kv_count, STORE_REPLY_MAX / STORE_VALUE_MAX);
    StoreOp ops[] = { put("new", "1"), range("a", STORE_ALL) };
    StoreTxn txn = { .success = ops, .success_count = 2 };
    FAILS(world_txn(world, &txn), ERROR_LIMIT);
    assert_null(world_get(world, "new"));
    op = delete_range("a", STORE_ALL);
    op.previous = true;
    FAILS(world_op(world, op), ERROR_LIMIT);
    assert_true(store_status(world->store).writable); /* the disk is not at fault */
    Answer *after = world_put(world, "new", "2");
    NTH(world, after->reply.revision, 13);
    op.previous = false;
    assert_int_equal(world_op(world, op)->reply.ops[0].count, 13);
}

/* More pending completions than may be queued: the threads wait for the loop, but not forever. */
static void large_responses_are_complete(World *world)
{
    enum {
        READS = 12
    };
    char *large = arena_alloc(&world->arena, STORE_VALUE_MAX);
    memset(large, 'x', STORE_VALUE_MAX);
    for (char key[] = "a"; key[0] < 'i'; key[0]++) {
        StoreOp op = { .kind = STORE_PUT,
                       .key = str_from(key, 1),
                       .value = str_from(large, STORE_VALUE_MAX) };
        OK(world_op(world, op));
    }
    static Answer answers[2 * READS];
    memset(answers, 0, sizeof answers);
    StoreOp ops[] = { put("z", "1"), range("a", STR("i")) };
    StoreTxn reads = { .success = ops + 1, .success_count = 1 };
    StoreTxn writes = { .success = ops, .success_count = 2 };
    Error err;
    for (unsigned i = 0; i < COUNT_OF(answers); i++) {
        answers[i].world = world;
        assert_true(
            store_txn(world->store, i % 2 == 0 ? &reads : &writes, answer_done, &answers[i], &err));
    }
    for (unsigned i = 0; i < COUNT_OF(answers); i++) {
        while (!answers[i].done) {
            world_wait(world, &answers[i].done);
        }
        OK(&answers[i]);
        assert_int_equal(answers[i].reply.ops[i % 2].kv_count, 8);
    }
}

typedef struct Order {
    Answer answer;
    uint32_t *next;
    uint32_t came;
} Order;

static void order_done(void *context, const StoreReply *reply, const Error *err)
{
    Order *order = context;
    order->came = (*order->next)++;
    answer_done(&order->answer, reply, err);
}

static void calls_of_a_lane_take_effect_in_order(World *world)
{
    enum {
        CALLS = 60
    };
    static Order orders[CALLS];
    uint32_t next = 0;
    memset(orders, 0, sizeof orders);
    for (uint32_t i = 0; i < CALLS; i++) {
        orders[i] = (Order){ .answer.world = world, .next = &next };
        char value[12];
        snprintf(value, sizeof value, "%u", i);
        StoreOp op = i % 3 == 2 ? range("a", STR_EMPTY) : put("a", value);
        StoreTxn txn = { .success = &op, .success_count = 1, .lane = 1 };
        Error err;
        assert_true(store_txn(world->store, &txn, order_done, &orders[i], &err));
        assert_false(orders[i].answer.done);
    }
    assert_int_equal(store_status(world->store).pending, CALLS);
    for (uint32_t i = 0; i < CALLS; i++) {
        while (!orders[i].answer.done) {
            world_wait(world, &orders[i].answer.done);
        }
    }
    for (uint32_t i = 2; i < CALLS; i += 3) {
        /* Sees the write before it or a later one, and no write that was completed earlier is
         * missing. */
        const StoreKv *kv = &orders[i].answer.reply.ops[0].kvs[0];
        assert_true(kv->version >= (int64_t)(i / 3 + 1) * 2);
        assert_true(orders[i].came > orders[i - 1].came);
        assert_true(i < 3 || orders[i].came > orders[i - 3].came);
    }
    for (uint32_t i = 3; i < CALLS; i += 3) {
        assert_true(orders[i].came > orders[i - 2].came && orders[i + 1].came > orders[i].came);
        assert_true(orders[i].answer.reply.revision > orders[i - 2].answer.reply.revision);
        assert_true(orders[i + 1].answer.reply.revision > orders[i].answer.reply.revision);
    }
    assert_int_equal(store_status(world->store).pending, 0);
}

static void a_relaxed_read_sees_acknowledged_writes(World *world)
{
    world_put(world, "a", "1");
    StoreOp op = range("a", STR_EMPTY);
    StoreTxn txn = { .success = &op, .success_count = 1, .relaxed = true };
    assert_str(world_txn(world, &txn)->reply.ops[0].kvs[0].value, "1");
    StoreOp write = put("a", "2");
    txn.success = &write;
    FAILS(world_txn(world, &txn), ERROR_INVALID);
}

static void never_leased(void *context, const StoreLease *lease, const Error *err)
{
    fail_msg("the call was rejected");
}

static void never_listed(void *context, const int64_t *ids, uint32_t count, const Error *err)
{
    fail_msg("the call was rejected");
}

static void too_many_calls_are_rejected(World *world)
{
    static Answer answers[STORE_PENDING_MAX];
    memset(answers, 0, sizeof answers);
    Error err;
    uint32_t called = 0;
    for (; called < STORE_PENDING_MAX; called++) {
        answers[called].world = world;
        if (!store_get(world->store, STR("a"), answer_done, &answers[called], &err)) {
            break;
        }
    }
    assert_int_equal(called, STORE_PENDING_MAX);
    Answer one = { .world = world };
    Store *store = world->store;
    assert_false(store_get(store, STR("a"), answer_done, &one, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_false(store_put(store, STR("a"), STR("1"), 0, answer_done, &one, &err));
    assert_false(store_revision(store, answer_done, &one, &err));
    assert_false(store_compact(store, 1, answer_done, &one, &err));
    assert_false(store_lease_grant(store, 30, 0, never_leased, NULL, &err));
    assert_false(store_lease_keep_alive(store, 1, never_leased, NULL, &err));
    assert_false(store_lease_revoke(store, 1, never_leased, NULL, &err));
    assert_false(store_lease_time_to_live(store, 1, false, never_leased, NULL, &err));
    assert_false(store_lease_time_to_live(store, 1, true, never_leased, NULL, &err));
    assert_false(store_lease_list(store, never_listed, NULL, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    for (uint32_t i = 0; i < called; i++) {
        while (!answers[i].done) {
            world_wait(world, &answers[i].done);
        }
    }
    assert_null(world_get(world, "a"));
}

static void call_again(void *context, const StoreReply *reply, const Error *err)
{
    Answer *answer = context;
    Error refused;
    if (err != NULL) {
        assert_false(store_get(answer->world->store, STR("a"), answer_done, answer, &refused));
        assert_int_equal(refused.kind, ERROR_UNAVAILABLE);
    }
    answer_done(context, reply, err);
}

static void closing_completes_pending_calls(World *world)
{
    static Answer answers[300];
    memset(answers, 0, sizeof answers);
    Error err;
    for (unsigned i = 0; i < COUNT_OF(answers); i++) {
        answers[i].world = world;
        bool called = i % 4 == 3 ? store_get(world->store, STR("a"), call_again, &answers[i], &err)
                                 : store_put(world->store, STR("a"), STR("1"), 0, answer_done,
                                             &answers[i], &err);
        assert_true(called);
    }
    world_reopen(world);
    unsigned written = 0;
    for (unsigned i = 0; i < COUNT_OF(answers); i++) {
        assert_true(answers[i].done);
        written += answers[i].err.kind == ERROR_NONE && i % 4 != 3;
        assert_true(
            answers[i].err.kind == ERROR_NONE || answers[i].err.kind == ERROR_UNAVAILABLE ||
            (world->backend->is_remote && i % 4 != 3 && answers[i].err.kind == ERROR_UNKNOWN));
    }
    /* All acknowledged writes are there, and nothing else. */
    if (world->backend->on_disk) {
        assert_true(world_now(world) - world_revision(world, 0) >= written);
    }
}

/* --- Maintenance ----------------------------------------------------------------------------- */

static void compaction_only_drops_the_past(World *world)
{
    world_put(world, "a", "1");
    world_put(world, "a", "2");
    world_put(world, "b", "1");
    world_delete(world, "b");
    world_put(world, "c", "1");
    world_put(world, "a", "3");
    int64_t fourth = world_revision(world, 4), fifth = world_revision(world, 5);
    FAILS(world_compact(world, world_next_revision(world)), ERROR_INVALID);
    OK(world_compact(world, fifth));
    FAILS(world_compact(world, fifth), ERROR_NOT_FOUND);
    assert_int_equal(store_status(world->store).compacted, fifth);
    StoreOp op = range("a", STORE_ALL);
    assert_string_equal(world_show(world, op), "a=3 c=1");
    op.revision = fifth;
    assert_string_equal(world_show(world, op), "a=2 c=1");
    op.revision = fourth;
    FAILS(world_op(world, op), ERROR_NOT_FOUND);
    NTH(world, world_put(world, "b", "2")->reply.revision, 7);
    assert_int_equal(world_op(world, range("b", STR_EMPTY))->reply.ops[0].kvs[0].version, 1);
}

static void revisions_continue_after_everything_was_deleted_and_compacted(World *world)
{
    world_put(world, "a", "1");
    world_delete(world, "a");
    int64_t second = world_revision(world, 2);
    OK(world_compact(world, second));
    if (world->backend->on_disk) {
        world_reopen(world);
    }
    assert_int_equal(world_now(world), second);
    assert_int_equal(store_status(world->store).compacted, second);
    int64_t third = world_put(world, "a", "2")->reply.revision;
    assert_true(third > second);
    OK(world_compact(world, third));
    assert_string_equal(world_get(world, "a"), "2");
}

/* Puts this number of keys "k00000" and so on, or one key this often, and waits for the last
 * response. Returns the responses. */
static const Answer *put_many(World *world, const char *format, int count)
{
    Answer *answers = ARENA_ARRAY(&world->arena, Answer, (size_t)count);
    memset(answers, 0, (size_t)count * sizeof *answers);
    for (int i = 0; i < count; i++) {
        Str key = arena_format(&world->arena, "%s%05d", format, i), value = key;
        if (format[1] == '\0') {
            key = STR("a");
        }
        world_start_put(world, key, value, &answers[i]);
    }
    while (!answers[count - 1].done) {
        world_wait(world, &answers[count - 1].done);
    }
    return answers;
}

static void old_revisions_are_compacted_automatically(World *world)
{
    world->settings.keep_revisions = 100;
    world->settings.keep_ms = -1;
    world_reopen(world);
    const Answer *puts = put_many(world, "v", 1000);
    put_many(world, "v", 1);
    /* The result of work between groups is reported with the next group. */
    world_put(world, "b", "1");
    StoreStatus status = store_status(world->store);
    /* A remote store compacts a moment later. */
    while (world->backend->is_remote && world_now(world) - status.compacted > 100 + 100 / 8 + 4) {
        world_put(world, "b", "1");
        status = store_status(world->store);
    }
    assert_in_range(world_now(world) - status.compacted, 100, 100 + 100 / 8 + 4);
    StoreOp op = range("a", STR_EMPTY);
    op.revision = puts[949].reply.revision;
    assert_string_equal(world_show(world, op), "a=v00949");
}

static void pass_ms(World *world, int64_t ms)
{
    loop_run_virtual_until(world->loop, loop_now_ms(world->loop) + ms);
}

/* Ten minutes of revisions are retained, regardless of their number; older ones are retained if
 * they are among the newest. */
static void old_revisions_are_compacted_by_age_and_count(World *world)
{
    const int64_t minute = 60 * 1000;
    world->settings.keep_revisions = 100;
    world->settings.keep_ms = 10 * minute;
    world_reopen(world);
    put_many(world, "v", 1000);
    int64_t first = world_now(world);
    pass_ms(world, 9 * minute);
    put_many(world, "v", 50);
    assert_int_equal(store_status(world->store).compacted, 0);
    int64_t second = world_now(world);
    pass_ms(world, 2 * minute);
    put_many(world, "v", 1);
    world_put(world, "b", "1");
    /* The first revisions are old, but the last of these are among the newest hundred. */
    int64_t compacted = store_status(world->store).compacted;
    assert_in_range(compacted, first - 100, second - 100 + 2);
    pass_ms(world, 60 * minute);
    world_put(world, "b", "2");
    world_put(world, "b", "3");
    assert_true(store_status(world->store).compacted <= world_now(world) - 100);
    put_many(world, "v", 400); /* all of them are recent */
    compacted = store_status(world->store).compacted;
    assert_in_range(compacted, second - 50, second + 4);
}

static void a_rolled_back_transaction_adds_no_history(World *world)
{
    char *large = arena_alloc(&world->arena, STORE_VALUE_MAX);
    memset(large, 'x', STORE_VALUE_MAX);
    for (char key[] = "a"; key[0] < 'm'; key[0]++) {
        StoreOp op = { .kind = STORE_PUT,
                       .key = str_from(key, 1),
                       .value = str_from(large, STORE_VALUE_MAX) };
        OK(world_op(world, op));
    }
    int64_t log_bytes = store_status(world->store).log_bytes;
    StoreOp ops[] = { put("new", "1"), range("a", STORE_ALL) };
    StoreTxn txn = { .success = ops, .success_count = 2 };
    FAILS(world_txn(world, &txn), ERROR_LIMIT);
    if (!world->backend->others) {
        assert_int_equal(store_status(world->store).log_bytes, log_bytes);
    }
}

/* Nothing beyond the size limit is retained because of age or count. */
static void history_has_a_size_limit(World *world)
{
    world->settings.keep_bytes = 100 * 1000;
    world_reopen(world);
    char value[1000];
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    for (int i = 0; i < 300; i++) {
        OK(world_put(world, "a", value));
        assert_true(store_status(world->store).log_bytes <= 100 * 1000 + 1100);
    }
    StoreStatus status = store_status(world->store);
    assert_true(status.log_bytes >= 80 * 1000);
    /* A store determines the size of its history when it is opened. */
    if (world->backend->on_disk) {
        world_reopen(world);
        assert_int_equal(store_status(world->store).log_bytes, status.log_bytes);
        put_many(world, "v", 1500);
        assert_true(store_status(world->store).log_bytes <= 100 * 1000 + 1100);
    }
}

static void large_deletes_are_atomic(World *world)
{
    enum {
        KEYS = 2500
    };
    put_many(world, "k/", KEYS);
    Answer *gone = world_op(world, delete_range("k", STR("l")));
    assert_int_equal(gone->reply.ops[0].count, KEYS);
    NTH(world, gone->reply.revision, KEYS + 1);
    StoreOp op = range("k", STR("l"));
    op.count_only = true;
    assert_int_equal(world_op(world, op)->reply.ops[0].count, 0);
    op.revision = world_revision(world, KEYS);
    assert_int_equal(world_op(world, op)->reply.ops[0].count, KEYS);
    OK(world_compact(world, gone->reply.revision));
    op.revision = 0;
    assert_int_equal(world_op(world, op)->reply.ops[0].count, 0);
}

static void everything_survives_a_restart(World *world)
{
    world_put(world, "a", "1");
    world_put(world, "a", "2");
    world_put(world, "b", "1");
    world_delete(world, "b");
    world_reopen(world);
    NTH(world, world_now(world), 4);
    assert_string_equal(world_show(world, range("a", STORE_ALL)), "a=2");
    StoreOp op = range("a", STORE_ALL);
    op.revision = world_revision(world, 3);
    assert_string_equal(world_show(world, op), "a=2 b=1");
    NTH(world, world_put(world, "a", "3")->reply.revision, 5);
    StoreStatus status = store_status(world->store);
    assert_true(status.writable);
    assert_true(status.bytes > 0);
    assert_int_equal(status.commits, world->backend->others ? 3 : 1);
}

static void files_are_private_and_used_by_one_process(World *world)
{
    struct stat status;
    world_put(world, "a", "1");
    const char *const names[] = { "store.db", "store.db-wal", "store.db-shm", "store.lock" };
    for (unsigned i = 0; i < COUNT_OF(names); i++) {
        const char *path =
            arena_format(&world->arena, "%s/%s%c", world->directory, names[i], '\0').data;
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
    }
    Error err;
    Store *second;
    assert_false(store_open_sqlite(world->loop, world->directory, NULL, &second, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
}

int main(void)
{
    static const StoreTest tests[] = {
        STORE_TEST(a_put_is_read_with_its_revisions),
        STORE_TEST(any_bytes_are_keys_and_values),
        STORE_TEST(a_deleted_key_starts_over),
        STORE_TEST(ranges_are_half_open_and_ordered),
        STORE_TEST(limits_counts_and_keys_only),
        STORE_TEST(reads_can_use_past_revisions),
        STORE_TEST(comparisons_decide),
        STORE_TEST(a_transaction_is_one_revision_or_none),
        STORE_TEST(previous_values_are_returned_on_request),
        STORE_TEST(a_key_changes_once_in_a_transaction),
        STORE_TEST(requests_have_limits),
        STORE_TEST(oversized_responses_fail_and_undo_the_transaction),
        STORE_TEST(large_responses_are_complete),
        STORE_TEST(calls_of_a_lane_take_effect_in_order),
        STORE_TEST(a_relaxed_read_sees_acknowledged_writes),
        STORE_TEST(too_many_calls_are_rejected),
        STORE_TEST(closing_completes_pending_calls),
        STORE_TEST(compaction_only_drops_the_past),
        STORE_TEST(revisions_continue_after_everything_was_deleted_and_compacted),
        STORE_TEST(old_revisions_are_compacted_automatically),
        { "old_revisions_are_compacted_by_age_and_count",
          old_revisions_are_compacted_by_age_and_count, .time_only = true },
        { "a_rolled_back_transaction_adds_no_history", a_rolled_back_transaction_adds_no_history,
          .time_only = true },
        { "history_has_a_size_limit", history_has_a_size_limit, .time_only = true },
        STORE_TEST(large_deletes_are_atomic),
        { "everything_survives_a_restart", everything_survives_a_restart, .disk_only = true,
          .local_only = true },
        { "files_are_private_and_used_by_one_process", files_are_private_and_used_by_one_process,
          .disk_only = true, .local_only = true },
    };
    return store_tests_run("store", tests, COUNT_OF(tests));
}
