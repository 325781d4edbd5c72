#include "service/session_feed.h"

#include <stdlib.h>

#include "failing_store.h"
#include "ready_state.h"
#include "unit.h"

typedef struct Fixture {
    Loop *loop;
    Store *store;
    FailingStore *failing; /* the same */
    SessionFeed *feed;
    uint32_t messages, changes, resets;
    bool complete;
    int64_t revision, last_sent; /* of the last message, of its last change */
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    f->loop = loop_new_virtual(1);
    f->failing = failing_store_open(f->loop);
    f->store = &f->failing->base;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    session_feed_free(f->feed);
    store_close(f->store);
    loop_free(f->loop);
    free(f);
    return 0;
}

static void pass(Fixture *f, int64_t ms)
{
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + ms);
}

static void reported(void *context, const Changes *changes)
{
    Fixture *f = context;
    assert_int_equal(changes->watch, 3);
    f->messages++;
    f->resets += changes->reset;
    f->changes = (changes->reset ? 0 : f->changes) + changes->change_count;
    f->complete = changes->complete;
    f->revision = changes->revision;
    f->last_sent =
        changes->change_count > 0 ? changes->changes[changes->change_count - 1].revision : 0;
}

static void start(Fixture *f, bool reset, int64_t revision)
{
    Error err;
    assert_true(session_feed_new(&(SessionFeedOptions){ .loop = f->loop,
                                                        .store = f->store,
                                                        .range = { STR("a/"), STR("a0") },
                                                        .watch = 3,
                                                        .reset = reset,
                                                        .revision = revision,
                                                        .send_changes = reported,
                                                        .context = f },
                                 &f->feed, &err));
    pass(f, 10);
}

static void records(Fixture *f)
{
    session_feed_acked(f->feed);
    pass(f, 10);
}

static void put_done(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
    *(int64_t *)context = reply->revision;
}

static int64_t put(Fixture *f, const char *key, const char *value)
{
    int64_t revision = 0;
    Error err;
    assert_true(
        store_put(f->store, str_from_c(key), str_from_c(value), 0, put_done, &revision, &err));
    pass(f, 1);
    assert_true(revision > 0);
    return revision;
}

static void put_many(Fixture *f, int count)
{
    for (int i = 0; i < count; i++) {
        char key[16];
        snprintf(key, sizeof key, "a/%04d", i);
        put(f, key, "1");
    }
}

static void test_pages_show_one_revision(void **state)
{
    Fixture *f = *state;
    put_many(f, FEED_PAGE_KEYS + 10);
    start(f, true, 0);
    assert_int_equal(f->messages, 1);
    assert_false(f->complete);
    int64_t pinned = f->revision;
    int64_t later = put(f, "a/9999", "1");
    assert_int_equal(f->messages, 1);
    records(f);
    assert_int_equal(f->messages, 2);
    assert_true(f->complete);
    assert_int_equal(f->revision, pinned);
    assert_int_equal(f->changes, FEED_PAGE_KEYS + 10);
    records(f);
    assert_int_equal(f->messages, 3);
    assert_int_equal(f->last_sent, later);
    assert_int_equal(f->resets, 1);
}

static void test_a_compacted_page_starts_over(void **state)
{
    Fixture *f = *state;
    put_many(f, FEED_PAGE_KEYS + 10);
    start(f, true, 0);
    int64_t last = put(f, "b", "1"), revision;
    Error err;
    assert_true(store_compact(f->store, last, put_done, &revision, &err));
    pass(f, 10);
    records(f);
    assert_int_equal(f->resets, 2);
    assert_int_equal(f->revision, last);
    assert_false(f->complete);
    records(f);
    assert_true(f->complete);
    assert_int_equal(f->changes, FEED_PAGE_KEYS + 10);
}

/* The session continues: what could not be read is sent when the store is back. */
static void test_an_unreadable_store_is_retried(void **state)
{
    Fixture *f = *state;
    Error broken;
    error_set(&broken, ERROR_OS, "disk I/O error");
    put_many(f, 3);
    f->failing->reads = &broken;
    start(f, true, 0);
    pass(f, 60000);
    assert_int_equal(f->messages, 0);
    f->failing->reads = NULL;
    pass(f, 2000);
    assert_int_equal(f->messages, 1);
    assert_int_equal(f->changes, 3);
    records(f);
    f->failing->reads = &broken;
    failing_store_break_watch(f->failing, &broken);
    int64_t last = put(f, "a/later", "1");
    pass(f, 60000);
    assert_int_equal(f->messages, 1);
    f->failing->reads = NULL;
    pass(f, 2000);
    assert_int_equal(f->messages, 2);
    assert_int_equal(f->last_sent, last);
    assert_int_equal(f->resets, 1);
    /* Also if it breaks while the node has something to receive. */
    f->failing->reads = &broken;
    failing_store_break_watch(f->failing, &broken);
    records(f);
    put(f, "a/latest", "1");
    f->failing->reads = NULL;
    pass(f, 2000);
    assert_int_equal(f->messages, 3);
}

/* What the state knows needs no read, even while the store does not answer. */
static void test_a_single_key_is_read_from_the_state(void **state)
{
    Fixture *f = *state;
    Error err;
    put(f, "/eden/nodes/web1", "1");
    put(f, "/eden/nodes/web2", "1");
    ClusterStore cluster_store = { f->loop, f->store, STR("/eden") };
    State *known = ready_state(&cluster_store, NULL);
    f->failing->hangs = true;
    SessionFeedOptions options = { .loop = f->loop,
                                   .store = f->store,
                                   .state = known,
                                   .range = { .key = STR("/eden/nodes/web1"), .is_known = true },
                                   .watch = 3,
                                   .reset = true,
                                   .send_changes = reported,
                                   .context = f };
    assert_true(session_feed_new(&options, &f->feed, &err));
    assert_int_equal(f->messages, 0);
    pass(f, 1);
    assert_int_equal(f->messages, 1);
    assert_int_equal(f->resets, 1);
    assert_int_equal(f->changes, 1);
    assert_true(f->complete);
    assert_int_equal(f->revision, state_age(known).revision);
    records(f);
    failing_store_release(f->failing);
    put(f, "/eden/nodes/web2", "2");
    int64_t last = put(f, "/eden/nodes/web1", "2");
    pass(f, 10);
    assert_int_equal(f->messages, 2);
    assert_int_equal(f->last_sent, last);
    session_feed_free(TAKE(f->feed));
    /* That there is none is known, too. */
    options.range.key = STR("/eden/nodes/web9");
    assert_true(session_feed_new(&options, &f->feed, &err));
    pass(f, 1);
    assert_int_equal(f->resets, 2);
    assert_int_equal(f->changes, 0);
    state_free(known);
    session_feed_free(TAKE(f->feed));
}

/* The log starts after what the state knows: sending from there would immediately be repeated. */
static void test_a_state_that_is_behind_is_not_used(void **state)
{
    Fixture *f = *state;
    Error err;
    put(f, "/eden/nodes/web1", "1");
    ClusterStore cluster_store = { f->loop, f->store, STR("/eden") };
    State *known = ready_state(&cluster_store, NULL);
    state_stop(known);
    int64_t last = put(f, "/eden/nodes/web1", "2"), revision;
    assert_true(store_compact(f->store, last, put_done, &revision, &err));
    pass(f, 10);
    SessionFeedOptions options = { .loop = f->loop,
                                   .store = f->store,
                                   .state = known,
                                   .range = { .key = STR("/eden/nodes/web1"), .is_known = true },
                                   .watch = 3,
                                   .revision = state_age(known).revision,
                                   .send_changes = reported,
                                   .context = f };
    assert_true(session_feed_new(&options, &f->feed, &err));
    pass(f, 10);
    assert_int_equal(f->resets, 1);
    assert_int_equal(f->last_sent, last);
    assert_int_equal(f->revision, last);
    records(f);
    assert_int_equal(f->messages, 1);
    session_feed_free(TAKE(f->feed));
    state_free(known);
}

static void test_nothing_is_sent_before_the_last_was_acknowledged(void **state)
{
    Fixture *f = *state;
    int64_t first = put(f, "a/1", "1");
    put(f, "a/1", "2");
    start(f, false, first);
    assert_int_equal(f->messages, 1);
    put(f, "a/1", "3");
    put(f, "a/1", "4");
    assert_int_equal(f->messages, 1);
    records(f);
    records(f);
    assert_int_equal(f->changes, 3);
    assert_int_equal(f->resets, 0);
}

static void test_a_revision_too_large_for_a_message_is_one_unit(void **state)
{
    Fixture *f = *state;
    int64_t first = put(f, "a/1", "1"), revision = 0;
    static char large[600 * 1000];
    memset(large, 'x', sizeof large);
    Str value = str_from(large, sizeof large);
    const StoreOp ops[] = { { .kind = STORE_PUT, .key = STR("a/1"), .value = value },
                            { .kind = STORE_PUT, .key = STR("a/2"), .value = value },
                            { .kind = STORE_PUT, .key = STR("a/3"), .value = value } };
    Error err;
    assert_true(store_txn(f->store, &(StoreTxn){ .success = ops, .success_count = COUNT_OF(ops) },
                          put_done, &revision, &err));
    pass(f, 10);
    start(f, false, first);
    assert_int_equal(f->changes, 2);
    assert_false(f->complete);
    assert_int_equal(f->revision, first);
    records(f);
    assert_int_equal(f->changes, 3);
    assert_true(f->complete);
    assert_int_equal(f->revision, revision);
}

static void test_a_quiet_range_is_refreshed(void **state)
{
    Fixture *f = *state;
    start(f, true, 0);
    assert_true(f->complete);
    records(f);
    int64_t last = 0;
    for (int i = 0; i < FEED_NOTE_REVISIONS + 5; i++) {
        last = put(f, "b", "1");
    }
    assert_int_equal(f->messages, 1);
    pass(f, 3 * (int64_t)STORE_PROGRESS_MS);
    assert_int_equal(f->messages, 2);
    assert_int_equal(f->revision, last);
    assert_true(f->complete);
    /* Changes made meanwhile wait until the note is received. */
    int64_t changed = put(f, "a/1", "1");
    assert_int_equal(f->messages, 2);
    records(f);
    assert_int_equal(f->messages, 3);
    assert_int_equal(f->last_sent, changed);
}

static void test_another_store_is_sent_from_the_start(void **state)
{
    Fixture *f = *state;
    put(f, "a/1", "1");
    start(f, false, 1000); /* as if a backup had been restored */
    assert_int_equal(f->resets, 1);
    assert_int_equal(f->changes, 1);
    assert_true(f->complete);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pages_show_one_revision, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_compacted_page_starts_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_unreadable_store_is_retried, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_single_key_is_read_from_the_state, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_state_that_is_behind_is_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_is_sent_before_the_last_was_acknowledged,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_revision_too_large_for_a_message_is_one_unit, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_quiet_range_is_refreshed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_another_store_is_sent_from_the_start, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
