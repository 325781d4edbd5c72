#include "agent/facts_feed.h"

#include "net/world.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Directory directory;
    FactsFeed *feed;
    uint64_t sent;
} Fixture;

static bool send_facts(void *context, Str facts, uint64_t *sequence, Error *err)
{
    Fixture *f = context;
    assert_true(str_starts(facts, STR("{")));
    *sequence = ++f->sent;
    loop_stop(f->world.loop);
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

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    assert_true(directory_make(scratch_place(f->scratch, "agent"), &f->directory, &err));
    start(f);
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

static void tell(Fixture *f)
{
    world_run(&f->world);
    facts_feed_stored(f->feed, f->sent);
}

static void restart(Fixture *f)
{
    facts_feed_free(TAKE(f->feed));
    start(f);
}

static void what_was_told_is_not_told_again(void **state)
{
    Fixture *f = *state;
    tell(f);
    restart(f);
    while (facts_feed_status(f->feed).looked_ms == 0) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(f->sent, 1);
}

/* The store is another one; and it is killed before it has told it. */
static void what_nobody_knows_is_told_again_also_after_a_restart(void **state)
{
    Fixture *f = *state;
    tell(f);
    facts_feed_repeat(f->feed);
    restart(f);
    tell(f);
    assert_int_equal(f->sent, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_told_is_not_told_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_nobody_knows_is_told_again_also_after_a_restart,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
