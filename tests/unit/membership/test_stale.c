/* What a server knows while its store is unavailable: the same as before, marked stale. */
#include "failing_store.h"
#include "membership/roster.h"
#include "pki/revocation.h"
#include "store_world.h"

typedef struct Fixture {
    StoreWorld world;
    FailingStore *store;
    uint32_t ready, stale, current, became_stale, seen, changes;
    Error why; /* when it last became stale */
    StateView view;
} Fixture;

static void ready(void *context)
{
    ((Fixture *)context)->ready++;
}

static void stale(void *context, const Error *err)
{
    Fixture *f = context;
    f->stale++;
    f->why = *err;
}

static void current(void *context)
{
    ((Fixture *)context)->current++;
}

static void became_stale(void *context)
{
    ((Fixture *)context)->became_stale++;
}

static void changed(void *context, const StateEntry *now, const StateEntry *before)
{
    ((Fixture *)context)->changes++;
}

static void seen(void *context)
{
    ((Fixture *)context)->seen++;
}

static void pass(Fixture *f, int64_t ms)
{
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + ms);
}

static Str node_key(Fixture *f, const char *name)
{
    return cluster_key_node(&f->world.arena, PREFIX, str_from_c(name));
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    store_close(f->world.cluster_store.store);
    f->store = failing_store_open(f->world.cluster_store.loop);
    f->world.cluster_store.store = &f->store->base;
    world_put(&f->world, node_key(f, "web1"), STR("{}"));
    f->world.cluster_store.state =
        state_new(&f->world.cluster_store, &(StateEvents){ ready, stale, current, .context = f });
    f->world.cluster_store.roster = roster_new(f->world.cluster_store.state, PREFIX,
                                               &(RosterEvents){ .changed = ready_state_ignore });
    f->view = (StateView){
        .kinds = STATE_KIND(KEY_NODE), .changed = changed, .age_changed = became_stale, .context = f
    };
    pass(f, 10);
    assert_int_equal(f->ready, 1);
    state_attach(f->world.cluster_store.state, &f->view);
    f->changes = 0;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    failing_store_release(f->store);
    state_detach(f->world.cluster_store.state, &f->view);
    world_close(&f->world);
    free(f);
    return 0;
}

static StateAge age(const Fixture *f)
{
    return state_age(f->world.cluster_store.state);
}

static bool has_seen(Fixture *f, const char *name)
{
    return state_find(f->world.cluster_store.state, node_key(f, name)) != NULL;
}

static void a_copy_is_kept_if_it_cannot_be_reread(void **state)
{
    Fixture *f = *state;
    Error broken;
    error_set(&broken, ERROR_OS, "disk I/O error");
    f->store->reads = &broken;
    int64_t since_ms = loop_wall_ms(f->world.cluster_store.loop), revision = age(f).revision;
    failing_store_break_watch(f->store, &broken);
    assert_int_equal(f->stale, 1);
    assert_string_equal(f->why.text, "disk I/O error");
    for (int i = 0; i < 60; i++) { /* it is retried */
        pass(f, 1000);
        assert_true(has_seen(f, "web1"));
        assert_int_equal(age(f).stale_since_ms, since_ms);
        assert_int_equal(age(f).revision, revision);
        assert_true(age(f).is_behind);
    }
    assert_int_equal(f->stale, 1); /* and reported once */
    assert_int_equal(f->became_stale, 1);
    assert_int_equal(f->current, 0);
    assert_int_equal(f->changes, 0);
    f->store->reads = NULL;
    world_put(&f->world, node_key(f, "web2"), STR("{}"));
    pass(f, 10000);
    assert_int_equal(age(f).stale_since_ms, 0);
    assert_string_equal(age(f).why, "");
    assert_true(has_seen(f, "web1") && has_seen(f, "web2"));
    assert_int_equal(f->changes, 1);
    assert_int_equal(f->current, 1);
    assert_int_equal(f->became_stale, 2);
}

static void an_unresponsive_store_is_detected(void **state)
{
    Fixture *f = *state;
    Error err;
    pass(f, 10000);
    assert_int_equal(f->stale, 0);
    assert_true(state_accepts_writes(f->world.cluster_store.state, &err));
    f->store->hangs = true;
    pass(f, 4000);
    assert_int_equal(f->stale, 0);
    pass(f, 6000);
    assert_int_equal(f->stale, 1);
    assert_true(age(f).is_behind && has_seen(f, "web1"));
    assert_false(state_accepts_writes(f->world.cluster_store.state, &err));
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "the store has been unavailable since 2027-"));
    assert_non_null(strstr(err.text, "the store is not responding"));
    pass(f, 60000);
    assert_true(has_seen(f, "web1"));
    failing_store_release(f->store);
    pass(f, 10);
    assert_int_equal(age(f).stale_since_ms, 0);
    assert_int_equal(f->current, 1);
    assert_int_equal(f->changes, 0); /* the watch continued */
}

/* The store answers, but its watch delivers nothing any more. */
static void a_silent_watch_is_detected(void **state)
{
    Fixture *f = *state;
    f->store->is_mute = true;
    pass(f, 60000); /* there is nothing to deliver */
    assert_int_equal(f->stale, 0);
    world_put(&f->world, node_key(f, "web2"), STR("{}"));
    state_wait(f->world.cluster_store.state, age(f).revision + 1, seen, f);
    pass(f, 3000);
    assert_int_equal(f->stale, 0);
    assert_int_equal(f->seen, 0);
    pass(f, 5000);
    assert_int_equal(f->stale, 1);
    assert_int_equal(f->seen, 1);
    f->store->is_mute = false;
    pass(f, 2000);
    assert_int_equal(age(f).stale_since_ms, 0);
    assert_true(has_seen(f, "web2"));
    world_put(&f->world, node_key(f, "web3"), STR("{}"));
    assert_true(has_seen(f, "web3"));
}

/* The store itself rejects writes, with a reason. Reads still follow it. */
static void a_read_only_store_makes_the_state_stale(void **state)
{
    Fixture *f = *state;
    static const struct {
        StoreCondition condition;
        bool is_stale;
    } rows[] = {
        { STORE_UNWRITABLE, true },
        { STORE_LOST, true },
        { STORE_DAMAGED, true },
        { STORE_FULL, false }, /* deletes are accepted, and so is what expires */
    };
    Error err;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        f->store->condition = rows[i].condition;
        state_check(f->world.cluster_store.state);
        assert_int_equal(age(f).stale_since_ms != 0, rows[i].is_stale);
        assert_false(age(f).is_behind);
        assert_true(state_accepts_writes(f->world.cluster_store.state, &err));
        assert_int_equal(strstr(age(f).why, "the disk is ") != NULL, rows[i].is_stale);
        f->store->condition = STORE_OK;
        pass(f, 2000); /* it checks by itself */
        assert_int_equal(age(f).stale_since_ms, 0);
    }
    f->store->condition = STORE_UNWRITABLE;
    pass(f, 2000);
    assert_true(age(f).stale_since_ms != 0);
    state_wait(f->world.cluster_store.state, age(f).revision + 1, seen, f);
    assert_int_equal(f->seen, 0);
    world_put(&f->world, node_key(f, "web2"), STR("{}"));
    assert_int_equal(f->seen, 1);
    assert_true(has_seen(f, "web2"));
}

static void waiters_do_not_wait_for_a_copy_that_is_behind(void **state)
{
    Fixture *f = *state;
    Error broken;
    state_wait(f->world.cluster_store.state, age(f).revision + 1, seen, f);
    assert_int_equal(f->seen, 0);
    failing_store_break_watch(f->store, (error_set(&broken, ERROR_OS, "disk I/O error"), &broken));
    assert_int_equal(f->seen, 1);
    state_wait(f->world.cluster_store.state, age(f).revision + 1, seen, f);
    assert_int_equal(f->seen, 2);
}

static void a_store_that_went_back_is_not_adopted(void **state)
{
    Fixture *f = *state;
    Error broken;
    int64_t revision = age(f).revision;
    f->store->behind = 1;
    failing_store_break_watch(f->store, (error_set(&broken, ERROR_OS, "disk I/O error"), &broken));
    pass(f, 60000);
    assert_int_equal(age(f).revision, revision);
    assert_non_null(strstr(age(f).why, "is a different store"));
    assert_true(has_seen(f, "web1"));
    f->store->behind = 0;
    pass(f, 20000);
    assert_int_equal(age(f).stale_since_ms, 0);
}

/* Everything is read again, page by page, and between two of them the store fails to answer a
 * health check: no page is lost. */
static void a_failed_check_does_not_interrupt_a_full_read(void **state)
{
    Fixture *f = *state;
    Error broken;
    char name[16];
    for (int i = 0; i < 1500; i++) {
        snprintf(name, sizeof name, "a%04d", i);
        world_put(&f->world, node_key(f, name), STR("{}"));
    }
    f->store->hangs = true;
    failing_store_resync(f->store);
    failing_store_release_one(f->store); /* the first page of nodes, or of what precedes them */
    pass(f, 10);
    while (f->store->held->txn.success[0].revision == 0 ||
           !str_starts(f->store->held->txn.success[0].key, node_key(f, "a"))) {
        failing_store_release_one(f->store);
        pass(f, 10);
    }
    pass(f, 4000); /* the second one blocks, and so does the check */
    assert_true(f->store->held->counts);
    error_set(&broken, ERROR_UNAVAILABLE, "the store cannot be reached");
    f->store->counts = &broken;
    failing_store_release(f->store);
    pass(f, 100);
    assert_true(has_seen(f, "a0000") && has_seen(f, "a1499") && has_seen(f, "web1"));
    f->store->counts = NULL;
    pass(f, 20000);
    assert_true(has_seen(f, "a0000") && has_seen(f, "a1499") && has_seen(f, "web1"));
    assert_int_equal(age(f).stale_since_ms, 0);
    assert_int_equal(store_status(&f->store->base).watches, 1);
}

static bool lets_in(const Fixture *f, Str serial)
{
    Error err;
    return revocation_check(roster_revoked(f->world.cluster_store.roster), STR("web9"), serial,
                            &err);
}

static void revocations_stay_valid_without_a_store(void **state)
{
    Fixture *f = *state;
    Arena *arena = &f->world.arena;
    RevocationList list = { 0 };
    Str serial = STR("0123456789abcdef0123456789abcdef");
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Error broken;
    assert_true(revocation_add_serial(arena, &list, serial, INT64_MAX / 2, &broken));
    revocation_print(&list, &text);
    world_put(&f->world, cluster_key_revocations(arena, PREFIX), buf_str(&text));
    assert_false(lets_in(f, serial));
    error_set(&broken, ERROR_OS, "disk I/O error");
    f->store->reads = &broken;
    failing_store_break_watch(f->store, &broken);
    pass(f, 60000);
    assert_false(lets_in(f, serial));
    f->store->reads = NULL;
    pass(f, 20000);
    assert_int_equal(age(f).stale_since_ms, 0);
    assert_false(lets_in(f, serial));
}

static void it_can_be_freed_while_the_store_is_unresponsive(void **state)
{
    Fixture *f = *state;
    f->store->hangs = true;
    pass(f, 20000);
    assert_int_equal(f->stale, 1);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_copy_is_kept_if_it_cannot_be_reread),
        ROW(an_unresponsive_store_is_detected),
        ROW(a_silent_watch_is_detected),
        ROW(a_read_only_store_makes_the_state_stale),
        ROW(waiters_do_not_wait_for_a_copy_that_is_behind),
        ROW(a_store_that_went_back_is_not_adopted),
        ROW(a_failed_check_does_not_interrupt_a_full_read),
        ROW(revocations_stay_valid_without_a_store),
        ROW(it_can_be_freed_while_the_store_is_unresponsive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
