#include "sys/fifo.h"

#include "scratch.h"

static void a_long_text_waits_for_its_reader(void **state)
{
    Scratch *scratch = *state;
    const char *path = scratch_place(scratch, "pipe");
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED), got = buf_make(BUF_UNLIMITED);
    int made;
    Error err;
    buf_put_repeat(&text, 'x', 200 << 10);
    assert_true(fifo_make(path, &made, &err));
    assert_true(fifo_write(made, buf_str(&text), &err));
    fifo_read(made, &got);
    assert_true(str_eq(buf_str(&got), buf_str(&text)));
    fifo_read(made, &got); /* does not block */
    assert_int_equal(got.len, text.len);
    fifo_close(made);
}

static void a_pipe_that_nothing_reads_is_not_found(void **state)
{
    Scratch *scratch = *state;
    const char *path = scratch_place(scratch, "pipe");
    int made, end;
    Error err;
    assert_true(fifo_make(path, &made, &err));
    assert_true(fifo_open(path, &end, &err));
    fifo_close(end);
    fifo_close(made);
    assert_false(fifo_open(path, &end, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_true(fifo_make(path, &made, &err)); /* replaces it */
    fifo_close(made);
    fifo_close(-1);
    assert_false(fifo_open(scratch_place(scratch, "missing"), &end, &err));
    assert_false(fifo_make(scratch_place(scratch, "missing/pipe"), &made, &err));
}

static void more_than_it_can_hold_is_an_error(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    int made;
    Error err;
    buf_put_repeat(&text, 'x', FIFO_BYTES_MAX + 1);
    assert_true(fifo_make(scratch_place(scratch, "pipe"), &made, &err));
    assert_false(fifo_write(made, buf_str(&text), &err));
    assert_false(fifo_write(made, STR("x"), &err));
    fifo_close(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_long_text_waits_for_its_reader, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_pipe_that_nothing_reads_is_not_found, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(more_than_it_can_hold_is_an_error, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
