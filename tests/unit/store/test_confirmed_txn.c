/* Transactions whose requests or responses get lost: applied once, and reported correctly. */
#include <stdlib.h>

#include "lossy_store.h"

typedef struct Fixture {
    Loop *loop;
    LossyStore lossy;
    Store *store;
    uint32_t answers;
    bool succeeded;
    uint32_t op_count;
    int64_t revision;
    Error err;
    StoreKv found; /* of the last read; no value */
    char value[16];
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    f->loop = loop_new_virtual(1);
    f->store = lossy_open(&f->lossy, f->loop, store_open_memory(f->loop, NULL), NULL, 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    store_close(f->store);
    loop_free(f->loop);
    free(f);
    return 0;
}

static void pass(Fixture *f, int64_t ms)
{
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + ms);
}

static void meets(Fixture *f, const Fate *fates, uint32_t count)
{
    f->lossy.fates = fates;
    f->lossy.fate_count = count;
    f->lossy.sent = 0;
}
#define MEETS(f, ...)                            \
    static const Fate fates[] = { __VA_ARGS__ }; \
    meets(f, fates, COUNT_OF(fates))

static void answered(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    f->answers++;
    f->err = err == NULL ? (Error){ 0 } : *err;
    if (err == NULL) {
        f->succeeded = reply->succeeded;
        f->op_count = reply->op_count;
        f->revision = reply->revision;
    }
}

/* Puts `key` if it is as old as `seen`, otherwise reads "other". */
static void send(Fixture *f, const char *key, const char *value, int64_t lease, int64_t seen)
{
    StoreCompare compare = { .target = STORE_MOD_REVISION,
                             .relation = STORE_EQUAL,
                             .key = str_from_c(key),
                             .number = seen };
    StoreOp put = {
        .kind = STORE_PUT, .key = str_from_c(key), .value = str_from_c(value), .lease = lease
    };
    StoreOp look = { .kind = STORE_RANGE, .key = STR("other") };
    StoreTxn txn = { .compares = &compare,
                     .compare_count = 1,
                     .success = &put,
                     .success_count = 1,
                     .failure = &look,
                     .failure_count = 1 };
    Error err;
    f->answers = 0;
    assert_true(store_txn_confirmed(f->store, &txn, answered, f, &err));
}

/* Another client's, which has no trouble. */
static void put_other(Fixture *f, const char *key, const char *value, int64_t lease)
{
    Error err;
    assert_true(store_put(f->lossy.real, str_from_c(key), str_from_c(value), lease, lossy_ignore,
                          NULL, &err));
}

static void looked(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    f->found = reply->ops[0].kv_count > 0 ? reply->ops[0].kvs[0] : (StoreKv){ 0 };
    snprintf(f->value, sizeof f->value, "%.*s", (int)f->found.value.len, f->found.value.data);
}

static void look(Fixture *f, const char *key)
{
    Error err;
    assert_true(store_get(f->store, str_from_c(key), looked, f, &err));
    pass(f, 10);
}

static void expect_once(Fixture *f, const char *value)
{
    assert_int_equal(f->answers, 1);
    assert_int_equal(f->err.kind, ERROR_NONE);
    assert_true(f->succeeded);
    look(f, "k");
    assert_string_equal(f->value, value);
    assert_int_equal(f->found.version, 1);
    assert_int_equal(f->found.mod_revision, f->revision);
}

static void a_lost_response_is_resolved_by_the_written_value(void **state)
{
    Fixture *f = *state;
    MEETS(f, FATE_ANSWER_LOST);
    send(f, "k", "1", 0, 0);
    pass(f, 1000);
    expect_once(f, "1");
    assert_int_equal(f->lossy.sent, 2);
}

static void a_lost_request_is_sent_again(void **state)
{
    Fixture *f = *state;
    MEETS(f, FATE_REQUEST_LOST, FATE_REFUSED, FATE_REQUEST_LOST);
    send(f, "k", "1", 0, 0);
    pass(f, 5000);
    expect_once(f, "1");
    assert_int_equal(f->lossy.sent, 4);
}

static void a_late_write_is_applied_once(void **state)
{
    Fixture *f = *state;
    MEETS(f, FATE_LATE);
    send(f, "k", "1", 0, 0);
    pass(f, 1000);
    expect_once(f, "1");
}

static void a_faster_writer_is_reported(void **state)
{
    Fixture *f = *state;
    MEETS(f, FATE_REQUEST_LOST);
    send(f, "k", "1", 0, 0);
    put_other(f, "k", "2", 0);
    pass(f, 1000);
    assert_int_equal(f->answers, 1);
    assert_int_equal(f->err.kind, ERROR_NONE);
    assert_false(f->succeeded);
    assert_int_equal(f->op_count, 1); /* only what was requested */
}

static void granted(void *context, const StoreLease *lease, const Error *err)
{
    assert_null(err);
    *(int64_t *)context = lease->id;
}

/* Two that claim the same thing write the same: their leases distinguish them. */
static void an_equal_value_of_another_writer_is_not_ours(void **state)
{
    Fixture *f = *state;
    int64_t own = 0, other = 0;
    Error err;
    assert_true(store_lease_grant(f->store, 60, 0, granted, &own, &err));
    assert_true(store_lease_grant(f->store, 60, 0, granted, &other, &err));
    pass(f, 10);
    MEETS(f, FATE_REQUEST_LOST);
    send(f, "k", "claimed", own, 0);
    put_other(f, "k", "claimed", other);
    pass(f, 1000);
    assert_int_equal(f->answers, 1);
    assert_false(f->succeeded);
}

/* A put that changes nothing proves nothing. */
static void a_previous_value_is_not_ours(void **state)
{
    Fixture *f = *state;
    put_other(f, "k", "1", 0);
    pass(f, 10);
    look(f, "k");
    int64_t seen = f->found.mod_revision;
    StoreCompare compares[] = {
        { .target = STORE_MOD_REVISION, .key = STR("k"), .number = seen },
        { .target = STORE_MOD_REVISION, .key = STR("l"), .number = 0 },
    };
    StoreOp puts[] = { { .kind = STORE_PUT, .key = STR("k"), .value = STR("1") },
                       { .kind = STORE_PUT, .key = STR("l"), .value = STR("1") } };
    StoreTxn txn = {
        .compares = compares, .compare_count = 2, .success = puts, .success_count = 2
    };
    Error err;
    MEETS(f, FATE_REQUEST_LOST);
    assert_true(store_txn_confirmed(f->store, &txn, answered, f, &err));
    put_other(f, "l", "2", 0);
    pass(f, 1000);
    assert_int_equal(f->answers, 1);
    assert_false(f->succeeded);
    assert_int_equal(f->op_count, 0);
}

static void deletes_are_resolved_by_absence(void **state)
{
    Fixture *f = *state;
    put_other(f, "k", "1", 0);
    pass(f, 10);
    look(f, "k");
    StoreCompare compare = { .target = STORE_MOD_REVISION,
                             .key = STR("k"),
                             .number = f->found.mod_revision };
    StoreOp gone = { .kind = STORE_DELETE, .key = STR("k") };
    StoreTxn txn = {
        .compares = &compare, .compare_count = 1, .success = &gone, .success_count = 1
    };
    Error err;
    MEETS(f, FATE_ANSWER_LOST);
    assert_true(store_txn_confirmed(f->store, &txn, answered, f, &err));
    pass(f, 1000);
    assert_int_equal(f->answers, 1);
    assert_true(f->succeeded);
}

static void unresolvable_outcomes_are_unknown(void **state)
{
    Fixture *f = *state;
    MEETS(f, FATE_ANSWER_LOST, FATE_REFUSED, FATE_REFUSED, FATE_REFUSED, FATE_REFUSED, FATE_REFUSED,
          FATE_REFUSED, FATE_REFUSED);
    send(f, "k", "1", 0, 0);
    pass(f, 60000);
    assert_int_equal(f->answers, 1);
    assert_int_equal(f->err.kind, ERROR_UNKNOWN);
    assert_non_null(strstr(f->err.text, "it cannot be reached"));
    assert_int_equal(f->lossy.sent, 7);
}

static void rejections_are_reported_at_once(void **state)
{
    Fixture *f = *state;
    MEETS(f, FATE_REFUSED);
    send(f, "k", "1", 0, 0);
    pass(f, 10);
    assert_int_equal(f->answers, 1);
    assert_int_equal(f->err.kind, ERROR_UNAVAILABLE);
    assert_int_equal(f->lossy.sent, 1);
}

static void closing_ends_pending_retries(void **state)
{
    Fixture *f = *state;
    MEETS(f, FATE_ANSWER_LOST);
    send(f, "k", "1", 0, 0);
    pass(f, 10);
    assert_int_equal(f->answers, 0);
    store_close(f->store);
    assert_int_equal(f->answers, 1);
    assert_int_equal(f->err.kind, ERROR_UNKNOWN);
    f->store = NULL;
}

int main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(a_lost_response_is_resolved_by_the_written_value),
        ROW(a_lost_request_is_sent_again),
        ROW(a_late_write_is_applied_once),
        ROW(a_faster_writer_is_reported),
        ROW(an_equal_value_of_another_writer_is_not_ours),
        ROW(a_previous_value_is_not_ours),
        ROW(deletes_are_resolved_by_absence),
        ROW(unresolvable_outcomes_are_unknown),
        ROW(rejections_are_reported_at_once),
        ROW(closing_ends_pending_retries),
    };
    return cmocka_run_group_tests_name("store/sure", tests, NULL, NULL);
}
