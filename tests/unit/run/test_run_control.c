#include "run/run_control.h"

#include "scratch.h"
#include "sys/fifo.h"

typedef struct Pipe {
    int agent, runner;
    RunControl control;
} Pipe;

static Pipe open_pipe(Scratch *scratch)
{
    Pipe pipe;
    Error err;
    const char *path = scratch_place(scratch, "control");
    assert_true(fifo_make(path, &pipe.runner, &err));
    assert_true(fifo_open(path, &pipe.agent, &err));
    pipe.control = run_control_make(pipe.runner);
    return pipe;
}

static void close_pipe(Pipe *pipe)
{
    fifo_close(pipe->agent);
    fifo_close(pipe->runner);
    run_control_clear(&pipe->control);
}

static void tell(const Pipe *pipe, Str text)
{
    Error err;
    assert_true(fifo_write(pipe->agent, text, &err));
}

static void cancel(const Pipe *pipe, bool now)
{
    AUTO_CLEAR(Buf) message = buf_make(BUF_UNLIMITED);
    run_control_put_cancel(&message, now);
    tell(pipe, buf_str(&message));
}

static void the_first_message_has_the_variables(void **state)
{
    Scratch *scratch = *state;
    Pipe pipe = open_pipe(scratch);
    AUTO_CLEAR(Buf) message = buf_make(BUF_UNLIMITED);
    Str defines[] = { STR("pw=a \"b\"\n"), STR("list:=[1]") };
    RunStart start;
    Error err;
    run_control_put_start(&message, defines, COUNT_OF(defines));
    tell(&pipe, buf_str(&message));
    cancel(&pipe, false);
    assert_true(run_control_start(&pipe.control, &scratch->arena, &start, &err));
    assert_int_equal(start.define_count, 2);
    assert_string_equal(start.defines[0], "pw=a \"b\"\n");
    assert_string_equal(start.defines[1], "list:=[1]");
    assert_int_equal(run_control_take(&pipe.control), 1); /* it came together with the first one */
    close_pipe(&pipe);
}

static void anything_else_is_no_first_message(void **state)
{
    static const char *const wrong[] = { "", "{\"control\":\"start\"}",
                                         "{\"control\":\"cancel\"}\n", "[]\n",
                                         "{\"control\":\"start\",\"defines\":[1]}\n" };
    Scratch *scratch = *state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        Pipe pipe = open_pipe(scratch);
        RunStart start;
        Error err;
        tell(&pipe, str_from_c(wrong[i]));
        assert_false(run_control_start(&pipe.control, &scratch->arena, &start, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
        close_pipe(&pipe);
    }
}

static void a_cancel_interrupts_once_or_twice(void **state)
{
    Pipe pipe = open_pipe(*state);
    assert_int_equal(run_control_take(&pipe.control), 0);
    cancel(&pipe, false);
    assert_int_equal(run_control_take(&pipe.control), 1);
    cancel(&pipe, true);
    assert_int_equal(run_control_take(&pipe.control), 2);
    assert_int_equal(run_control_take(&pipe.control), 0);
    close_pipe(&pipe);
}

static void unknown_messages_and_parts_of_messages_are_not_taken(void **state)
{
    Pipe pipe = open_pipe(*state);
    tell(&pipe, STR("{\"control\":\"later\"}\nnot JSON\n\n{\"control\":\"can"));
    assert_int_equal(run_control_take(&pipe.control), 0);
    tell(&pipe, STR("cel\"}\n"));
    assert_int_equal(run_control_take(&pipe.control), 1);
    close_pipe(&pipe);
}

/* Another agent can continue. */
static void the_end_of_the_agent_is_no_message(void **state)
{
    Scratch *scratch = *state;
    Pipe pipe = open_pipe(scratch);
    Error err;
    fifo_close(pipe.agent);
    assert_int_equal(run_control_take(&pipe.control), 0);
    assert_true(fifo_open(scratch_place(scratch, "control"), &pipe.agent, &err));
    cancel(&pipe, false);
    assert_int_equal(run_control_take(&pipe.control), 1);
    close_pipe(&pipe);
}

/* Only a broken agent would write that. */
static void a_message_without_an_end_is_dropped(void **state)
{
    Scratch *scratch = *state;
    Pipe pipe = open_pipe(scratch);
    char *piece = arena_alloc_zero(&scratch->arena, FIFO_BYTES_MAX);
    memset(piece, 'x', FIFO_BYTES_MAX);
    for (int i = 0; i < 4; i++) {
        tell(&pipe, str_from(piece, FIFO_BYTES_MAX));
        assert_int_equal(run_control_take(&pipe.control), 0);
    }
    tell(&pipe, STR("\n"));
    cancel(&pipe, false);
    assert_int_equal(run_control_take(&pipe.control), 1);
    close_pipe(&pipe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_message_has_the_variables, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(anything_else_is_no_first_message, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_cancel_interrupts_once_or_twice, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(unknown_messages_and_parts_of_messages_are_not_taken,
                                        scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_the_agent_is_no_message, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_message_without_an_end_is_dropped, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
