#include "api/read_queue.h"

#include "scratch.h"
#include "sys/clock.h"

enum {
    REQUESTS_MAX = 100
};

typedef struct Fixture Fixture;

typedef struct Request {
    QueuedRead read;
    Fixture *of;
} Request;

struct Fixture {
    Loop *loop;
    ReadQueue queue;
    char served[REQUESTS_MAX + 1];
    size_t count;
    int64_t takes_microseconds;
    bool stays; /* still running after it was served */
    Request requests[REQUESTS_MAX];
    uint32_t request_count;
};

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    f->loop = loop_new_virtual(1);
    read_queue_init(&f->queue, f->loop);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    read_queue_stop(&f->queue);
    loop_free(f->loop);
    free(f);
    return 0;
}

static void serve(QueuedRead *read)
{
    Request *request = (Request *)read;
    Fixture *f = request->of;
    f->served[f->count++] = (char)read->caller;
    for (int64_t began = clock_monotonic_us();
         clock_monotonic_us() - began < f->takes_microseconds;) {
    }
    if (!f->stays) {
        read_queue_end(&f->queue, read);
    }
}

static void ask(Fixture *f, char caller)
{
    Request *request = &f->requests[f->request_count++];
    *request = (Request){ { .run = serve, .caller = (uint64_t)caller }, f };
    read_queue_add(&f->queue, &request->read);
}

static void iterate(Fixture *f)
{
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 1);
}

static void cheap_requests_are_served_immediately(void **state)
{
    Fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        ask(f, 'a');
        ask(f, 'b');
    }
    assert_string_equal(f->served, "ababab");
}

static void a_used_up_share_is_restored_in_the_next_iteration(void **state)
{
    Fixture *f = *state;
    f->takes_microseconds = READ_SLICE_US;
    ask(f, 'a');
    ask(f, 'a');
    assert_string_equal(f->served, "a");
    iterate(f);
    assert_string_equal(f->served, "aa");
    ask(f, 'b');
    assert_string_equal(f->served, "aab");
}

static void callers_take_turns(void **state)
{
    Fixture *f = *state;
    f->takes_microseconds = READ_SLICE_US;
    for (int i = 0; i < 4; i++) {
        ask(f, 'a');
    }
    for (int i = 0; i < 2; i++) {
        ask(f, 'b');
    }
    ask(f, 'c');
    f->takes_microseconds = 0;
    iterate(f);
    assert_string_equal(f->served, "aabcaba");
}

/* A caller that had many turns does not wait for later callers without any. */
static void late_callers_start_at_the_current_round(void **state)
{
    Fixture *f = *state;
    f->takes_microseconds = READ_SLICE_US;
    for (int i = 0; i < 4; i++) {
        ask(f, 'a');
    }
    iterate(f);
    assert_int_equal(f->count, 4);
    ask(f, 'x');
    f->takes_microseconds = 0;
    ask(f, 'a');
    ask(f, 'a');
    ask(f, 'b');
    ask(f, 'b');
    iterate(f);
    assert_string_equal(f->served, "aaaaxabab");
}

static void concurrent_requests_per_caller_are_limited(void **state)
{
    Fixture *f = *state;
    f->stays = true;
    for (int i = 0; i < READ_CALLER_MAX + 2; i++) {
        ask(f, 'a');
    }
    iterate(f);
    assert_int_equal(f->count, READ_CALLER_MAX);
    ask(f, 'b');
    assert_string_equal(f->served, "aaaab");
    read_queue_end(&f->queue, &f->requests[3].read);
    read_queue_end(&f->queue, &f->requests[3].read);
    iterate(f);
    assert_string_equal(f->served, "aaaaba");
    read_queue_end(&f->queue, &f->requests[READ_CALLER_MAX + 2].read);
    iterate(f);
    assert_string_equal(f->served, "aaaaba");
}

static void concurrent_requests_of_all_callers_are_limited(void **state)
{
    Fixture *f = *state;
    f->stays = true;
    for (int i = 0; i < READ_TOTAL_MAX + 1; i++) {
        ask(f, (char)('a' + i % 16));
    }
    iterate(f);
    assert_int_equal(f->count, READ_TOTAL_MAX);
    read_queue_end(&f->queue, &f->requests[0].read);
    iterate(f);
    assert_int_equal(f->count, READ_TOTAL_MAX + 1);
}

static void no_request_is_served_after_shutdown(void **state)
{
    Fixture *f = *state;
    f->takes_microseconds = READ_SLICE_US;
    ask(f, 'a');
    ask(f, 'b');
    read_queue_stop(&f->queue);
    iterate(f);
    assert_string_equal(f->served, "a");
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(cheap_requests_are_served_immediately),
        ROW(a_used_up_share_is_restored_in_the_next_iteration),
        ROW(callers_take_turns),
        ROW(late_callers_start_at_the_current_round),
        ROW(concurrent_requests_per_caller_are_limited),
        ROW(concurrent_requests_of_all_callers_are_limited),
        ROW(no_request_is_served_after_shutdown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
