/* Leases whose expiry cannot be written: the keys are deleted when it can be, and nothing revives
 * the lease. The store is in memory, and writes fail on demand. */
#include <stdlib.h>

#include "store/local_store.h"
#include "sys/loop.h"
#include "unit.h"

typedef struct Fixture {
    Loop *loop;
    Store *store;
    EngineKind failing;
    bool answered, found;
    Error err;
} Fixture;

static const EngineKind *real;

/* Reads continue. */
static bool fail_to_write(Engine *engine, bool writing, Error *err)
{
    return writing ? error_set(err, ERROR_UNAVAILABLE, "no room")
                   : real->begin(engine, writing, err);
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    f->loop = loop_new_virtual(1);
    f->store = store_open_memory(f->loop, NULL);
    real = ((LocalStore *)f->store)->writer->kind;
    f->failing = *real;
    f->failing.begin = fail_to_write;
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

static void lease_done(void *context, const StoreLease *lease, const Error *err)
{
    Fixture *f = context;
    f->answered = true;
    f->err = err == NULL ? (Error){ 0 } : *err;
}

static void reply_done(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    f->answered = true;
    f->err = err == NULL ? (Error){ 0 } : *err;
    f->found = err == NULL && reply->ops[0].kv_count > 0;
}

static bool has_key(Fixture *f)
{
    Error err;
    f->answered = false;
    assert_true(store_get(f->store, STR("a"), reply_done, f, &err));
    pass(f, 1);
    assert_true(f->answered);
    return f->found;
}

static void grant(Fixture *f)
{
    Error err;
    assert_true(store_lease_grant(f->store, 10, 7, lease_done, f, &err));
    pass(f, 1);
    assert_int_equal(f->err.kind, ERROR_NONE);
    assert_true(store_put(f->store, STR("a"), STR("1"), 7, reply_done, f, &err));
    pass(f, 1);
    assert_int_equal(f->err.kind, ERROR_NONE);
}

static void keys_are_deleted_when_possible(void **state)
{
    Fixture *f = *state;
    grant(f);
    ((LocalStore *)f->store)->writer->kind = &f->failing;
    pass(f, 15000);
    assert_true(has_key(f));
    assert_int_equal(store_check_status(f->store).leases, 1);
    ((LocalStore *)f->store)->writer->kind = real;
    pass(f, 2000);
    assert_false(has_key(f));
    assert_int_equal(store_check_status(f->store).leases, 0);
}

static void an_expired_lease_cannot_be_kept_alive(void **state)
{
    Fixture *f = *state;
    Error err;
    grant(f);
    ((LocalStore *)f->store)->writer->kind = &f->failing;
    pass(f, 15000);
    assert_true(store_lease_keep_alive(f->store, 7, lease_done, f, &err));
    pass(f, 1);
    assert_int_equal(f->err.kind, ERROR_NOT_FOUND);
    ((LocalStore *)f->store)->writer->kind = real;
    pass(f, 2000);
    assert_false(has_key(f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keys_are_deleted_when_possible, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_expired_lease_cannot_be_kept_alive, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
