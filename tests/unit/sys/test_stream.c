#include "sys/stream.h"

#include "unit.h"

static void memory_stream_keeps_everything(void **state)
{
    AUTO_CLEAR(Stream) stream = stream_make(STREAM_MEMORY);
    stream_put(&stream, STR("a"));
    stream_put_format(&stream, "%d", 1);
    for (int i = 0; i < 3 * STREAM_PIECE; i++) {
        stream_put(&stream, STR("x"));
    }
    assert_true(stream_flush(&stream));
    assert_int_equal(stream.buf.len, 2 + 3 * STREAM_PIECE);
    assert_memory_equal(stream.buf.data, "a1x", 3);
    assert_false(stream_is_terminal(&stream));
}

static void chunks_arrive_in_order(void **state)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    AUTO_CLEAR(Stream) stream = stream_make(ends[1]);
    stream_put(&stream, STR("first "));
    stream_put(&stream, STR("second"));
    assert_int_equal(stream.buf.len, 12); /* nothing is written before it must be */
    assert_true(stream_flush(&stream));
    assert_int_equal(stream.buf.len, 0);
    char got[64] = { 0 };
    assert_int_equal(read(ends[0], got, sizeof got), 12);
    assert_string_equal(got, "first second");
    close(ends[0]);
    close(ends[1]);
}

static void the_first_failure_is_kept(void **state)
{
    int full = open("/dev/full", O_WRONLY);
    assert_true(full >= 0);
    AUTO_CLEAR(Stream) stream = stream_make(full);
    stream_put(&stream, STR("lost"));
    assert_false(stream.failed);
    assert_false(stream_flush(&stream));
    assert_non_null(strstr(stream.error.text, "No space left"));
    stream_put(&stream, STR("more"));
    assert_false(stream_flush(&stream));
    assert_int_equal(stream.buf.len, 0); /* unwritable output does not accumulate */
    close(full);
}

static void a_long_text_fails_too(void **state)
{
    static char text[2 * STREAM_PIECE];
    memset(text, 'x', sizeof text);
    int full = open("/dev/full", O_WRONLY);
    AUTO_CLEAR(Stream) stream = stream_make(full);
    stream_put(&stream, str_from(text, sizeof text));
    assert_true(stream.failed);
    close(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_stream_keeps_everything),
        cmocka_unit_test(chunks_arrive_in_order),
        cmocka_unit_test(the_first_failure_is_kept),
        cmocka_unit_test(a_long_text_fails_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
