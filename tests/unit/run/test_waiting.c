#include "run/waiting.h"

#include <stdlib.h>

#include "unit.h"

enum {
    STEPS = 20,
    SECRET_STEP = 19
};

/* A run of steps that print something; the calls of its view are in `log`. */
typedef struct Fixture {
    Arena arena;
    Host *host;
    StepSpec plain, secret;
    Step steps[STEPS];
    Graph graph;
    RunCoreSettings settings;
    Buf log;
} Fixture;

static void shows_wait(void *context, uint32_t step, Str why, int64_t until_us)
{
    Fixture *f = context;
    buf_put_format(&f->log, "%u waits %" STR_FMT "\n", step, STR_ARG(why));
}

static void shows_progress(void *context, uint32_t step, Str line)
{
    Fixture *f = context;
    buf_put_format(&f->log, "%u is at %" STR_FMT "\n", step, STR_ARG(line));
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    arena_init(&f->arena, ARENA_UNLIMITED);
    assert_true(host_open("/", &f->host, &err));
    f->secret.secret = true;
    for (uint32_t i = 0; i < STEPS; i++) {
        f->steps[i] = (Step){ .spec = i == SECRET_STEP ? &f->secret : &f->plain, .index = i };
    }
    f->graph.steps = (Steps){ .items = f->steps, .count = STEPS };
    f->log = buf_make_in(&f->arena, BUF_UNLIMITED);
    f->settings = (RunCoreSettings){
        .graph = &f->graph,
        .host = f->host,
        .view = { .context = f, .waits = shows_wait, .progress = shows_progress },
    };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    host_close(f->host);
    arena_clear(&f->arena);
    free(f);
    return 0;
}

static void tick(Fixture *f, const char *expected)
{
    buf_reset(&f->log);
    waiting_tick(&f->settings, &f->arena);
    assert_str(buf_str(&f->log), expected);
}

static void the_last_message_of_a_step_counts(void **state)
{
    Fixture *f = *state;
    Shared *shared = host_shared(f->host);
    waiting_note(shared, 3, STR("a lock"));
    waiting_note_progress(shared, 3, STR("10%"));
    waiting_note_progress(shared, 1, STR("1 of 9"));
    waiting_note_progress(shared, 3, STR("20%"));
    waiting_note(shared, 3, STR("another lock"));
    waiting_note(shared, 0, STR("a port"));
    tick(f, "3 waits another lock\n3 is at 20%\n1 is at 1 of 9\n0 waits a port\n");
    tick(f, "");
    waiting_note_progress(shared, 1, STR("2 of 9"));
    tick(f, "1 is at 2 of 9\n");
}

static void secret_steps_and_long_messages_are_not_shown(void **state)
{
    Fixture *f = *state;
    static char text[1001];
    memset(text, 'x', sizeof text);
    Shared *shared = host_shared(f->host);
    waiting_note(shared, SECRET_STEP, STR("hunter2"));
    waiting_note(shared, 1, str_from(text, sizeof text));
    tick(f, "");
    waiting_note(shared, 1, str_from(text, sizeof text - 1));
    waiting_tick(&f->settings, &f->arena);
    assert_int_equal(f->log.len, strlen("1 waits \n") + sizeof text - 1);
}

/* Further ones are shown at a later check. */
static void the_number_of_messages_is_limited(void **state)
{
    Fixture *f = *state;
    for (uint32_t i = 0; i < STEPS; i++) {
        waiting_note(host_shared(f->host), i, STR(""));
    }
    waiting_tick(&f->settings, &f->arena);
    assert_true(str_ends(buf_str(&f->log), STR("15 waits \n")));
    waiting_note(host_shared(f->host), 17, STR("a"));
    tick(f, "17 waits a\n");
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(the_last_message_of_a_step_counts),
        ROW(secret_steps_and_long_messages_are_not_shown),
        ROW(the_number_of_messages_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
