#include "sys/line_reader.h"

#include <stdlib.h>

#include "unit.h"

enum {
    LIMIT = 10
};

/* A pipe and a reader of its end; lines of at most LIMIT bytes. */
typedef struct Fixture {
    int ends[2];
    LineReader reader;
    Str line;
    Error err;
} Fixture;

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    if (pipe(fixture->ends) != 0) {
        return -1;
    }
    fixture->reader = line_reader_make(fixture->ends[0], LIMIT);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    line_reader_clear(&fixture->reader);
    close(fixture->ends[0]);
    close(fixture->ends[1]);
    free(fixture);
    return 0;
}

static void send(Fixture *fixture, const char *text)
{
    assert_int_equal(write(fixture->ends[1], text, strlen(text)), (ssize_t)strlen(text));
}

static void end_input(Fixture *fixture)
{
    close(fixture->ends[1]);
    fixture->ends[1] = -1;
}

static LineOutcome next(Fixture *fixture)
{
    return line_reader_next(&fixture->reader, &fixture->line, &fixture->err);
}

static void lines_are_read_one_by_one(void **state)
{
    Fixture *fixture = *state;
    send(fixture, "one\n\nthree\nlast");
    end_input(fixture);
    assert_int_equal(next(fixture), LINE_READ);
    assert_str(fixture->line, "one");
    assert_int_equal(next(fixture), LINE_READ);
    assert_str(fixture->line, "");
    assert_int_equal(next(fixture), LINE_READ);
    assert_str(fixture->line, "three");
    assert_int_equal(next(fixture), LINE_READ);
    assert_str(fixture->line, "last");
    assert_int_equal(next(fixture), LINE_END);
    assert_int_equal(next(fixture), LINE_END);
}

static void empty_input_has_no_lines(void **state)
{
    Fixture *fixture = *state;
    end_input(fixture);
    assert_int_equal(next(fixture), LINE_END);
}

static void a_line_can_have_exactly_the_maximum_length(void **state)
{
    Fixture *fixture = *state;
    send(fixture, "0123456789\n0123456789X\nok\n0123456789");
    end_input(fixture);
    assert_int_equal(next(fixture), LINE_READ);
    assert_str(fixture->line, "0123456789");
    assert_int_equal(next(fixture), LINE_TOO_LONG);
    assert_int_equal(next(fixture), LINE_READ);
    assert_str(fixture->line, "ok");
    assert_int_equal(next(fixture), LINE_READ);
    assert_str(fixture->line, "0123456789");
    assert_int_equal(next(fixture), LINE_END);
}

/* Several reads long, so that the start of the line is dropped before its end is seen. */
static void a_very_long_line_is_skipped_in_bounded_memory(void **state)
{
    Fixture *fixture = *state;
    pid_t writer = fork();
    if (writer == 0) {
        for (int i = 0; i < 100000; i++) {
            if (write(fixture->ends[1], "0123456789", 10) != 10) {
                _exit(1);
            }
        }
        _exit(write(fixture->ends[1], "\nafter\n", 7) == 7 ? 0 : 1);
    }
    end_input(fixture);
    assert_int_equal(next(fixture), LINE_TOO_LONG);
    assert_true(fixture->reader.buf.cap < 200000);
    assert_int_equal(next(fixture), LINE_READ);
    assert_str(fixture->line, "after");
    assert_int_equal(next(fixture), LINE_END);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
}

static void a_long_last_line_is_reported_too(void **state)
{
    Fixture *fixture = *state;
    send(fixture, "01234567890123456789");
    end_input(fixture);
    assert_int_equal(next(fixture), LINE_TOO_LONG);
    assert_int_equal(next(fixture), LINE_END);
}

static void ready_means_that_a_complete_line_is_available(void **state)
{
    Fixture *fixture = *state;
    assert_false(line_reader_is_ready(&fixture->reader));
    send(fixture, "one\ntwo\nthr");
    assert_int_equal(next(fixture), LINE_READ);
    assert_true(line_reader_is_ready(&fixture->reader));
    assert_int_equal(next(fixture), LINE_READ);
    assert_str(fixture->line, "two");
    assert_false(line_reader_is_ready(&fixture->reader));
    send(fixture, "ee\n");
    assert_int_equal(next(fixture), LINE_READ);
    assert_str(fixture->line, "three");
}

static void bytes_of_any_value_are_part_of_a_line(void **state)
{
    Fixture *fixture = *state;
    assert_int_equal(write(fixture->ends[1], "a\0b\xff\n", 5), 5);
    assert_int_equal(next(fixture), LINE_READ);
    assert_int_equal(fixture->line.len, 4);
}

static void read_errors_are_reported(void **state)
{
    int directory = open("/", O_RDONLY);
    AUTO_CLEAR(LineReader) reader = line_reader_make(directory, LIMIT);
    Str line;
    Error err;
    assert_int_equal(line_reader_next(&reader, &line, &err), LINE_FAILED);
    assert_int_equal(err.kind, ERROR_OS);
    close(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_are_read_one_by_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_input_has_no_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_can_have_exactly_the_maximum_length, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_very_long_line_is_skipped_in_bounded_memory, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_long_last_line_is_reported_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ready_means_that_a_complete_line_is_available, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(bytes_of_any_value_are_part_of_a_line, set_up, tear_down),
        cmocka_unit_test(read_errors_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
