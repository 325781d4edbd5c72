#include "agent/facts_feed.h"

#include "net/world.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Directory directory;
    FactsFeed *feed;
    uint32_t sent;
    bool is_full;
} Fixture;

static bool send_facts(void *context, Str body, uint64_t *sequence, Error *err)
{
    Fixture *f = context;
    if (f->is_full) {
        return error_set(err, ERROR_LIMIT, "no room");
    }
    assert_true(str_find(body, STR("\"kernel\""), 0) != STR_NOT_FOUND);
    *sequence = ++f->sent;
    return true;
}

static void start(Fixture *f)
{
    f->feed = facts_feed_new(&(FactsFeedOptions){ .loop = f->world.loop,
                                                  .root = f->scratch->path,
                                                  .directory = &f->directory,
                                                  .send = send_facts,
                                                  .context = f });
}

/* Runs until it has checked once more. */
static void wait_look(Fixture *f)
{
    while (facts_feed_status(f->feed).collected_ms == 0) {
        world_pass(&f->world, 1);
    }
}

static void restart(Fixture *f)
{
    facts_feed_free(f->feed);
    start(f);
    wait_look(f);
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    scratch_put(f->scratch, "etc/hostname", "web1\n");
    assert_true(directory_make(scratch_place(f->scratch, "agent"), &f->directory, &err));
    start(f);
    wait_look(f);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    facts_feed_free(f->feed);
    directory_close(&f->directory);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

static void stored_facts_are_not_sent_again(void **state)
{
    Fixture *f = *state;
    assert_int_equal(f->sent, 1);
    facts_feed_stored(f->feed, 1);
    restart(f);
    assert_int_equal(f->sent, 1);
    assert_int_equal(facts_feed_status(f->feed).sent_ms, 0);
}

static void unchanged_facts_are_not_sent_again(void **state)
{
    Fixture *f = *state;
    int64_t before = facts_feed_status(f->feed).collected_ms;
    facts_feed_check(f->feed);
    while (facts_feed_status(f->feed).collected_ms == before) {
        world_pass(&f->world, 2);
    }
    assert_int_equal(f->sent, 1);
}

static void unstored_facts_are_sent_again_after_a_restart(void **state)
{
    Fixture *f = *state;
    facts_feed_stored(f->feed, 0);
    restart(f);
    assert_int_equal(f->sent, 2);
}

static void possibly_lost_facts_are_sent_again(void **state)
{
    Fixture *f = *state;
    facts_feed_stored(f->feed, 1);
    facts_feed_resend(f->feed);
    while (f->sent < 2) {
        world_pass(&f->world, 1);
    }
}

/* The store was replaced; and the process is killed before it has sent them. */
static void possibly_lost_facts_are_sent_again_after_a_restart(void **state)
{
    Fixture *f = *state;
    facts_feed_stored(f->feed, 1);
    facts_feed_resend(f->feed);
    restart(f);
    assert_int_equal(f->sent, 2);
}

static void a_changed_file_triggers_a_collection(void **state)
{
    Fixture *f = *state;
    facts_feed_stored(f->feed, 1);
    scratch_put(f->scratch, "etc/hostname", "web2\n");
    while (f->sent < 2) {
        world_pass(&f->world, 1);
    }
}

static void without_capacity_they_are_sent_later(void **state)
{
    Fixture *f = *state;
    f->is_full = true;
    restart(f);
    assert_int_equal(f->sent, 1);
    f->is_full = false;
    facts_feed_check(f->feed);
    while (f->sent < 2) {
        world_pass(&f->world, 1);
    }
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(stored_facts_are_not_sent_again),
        ROW(unstored_facts_are_sent_again_after_a_restart),
        ROW(possibly_lost_facts_are_sent_again),
        ROW(possibly_lost_facts_are_sent_again_after_a_restart),
        ROW(a_changed_file_triggers_a_collection),
        ROW(without_capacity_they_are_sent_later),
        ROW(unchanged_facts_are_not_sent_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
