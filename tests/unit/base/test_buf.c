#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

static void an_empty_buffer_is_an_empty_string(void **state)
{
    AUTO_CLEAR(Buf) buf = buf_make(10);
    assert_str(buf_str(&buf), "");
    assert_string_equal(buf_c(&buf), "");
    buf_put(&buf, STR_EMPTY);
    buf_put_c(&buf, NULL);
    buf_put_repeat(&buf, 'x', 0);
    buf_put_format(&buf, "%s", "");
    assert_null(buf.data); /* nothing appended, nothing allocated */
}

static void appending_grows_and_preserves_the_content(void **state)
{
    AUTO_CLEAR(Buf) buf = buf_make(BUF_UNLIMITED);
    for (int i = 0; i < 10000; i++) {
        buf_put_i64(&buf, i % 10);
        buf_put_char(&buf, ',');
    }
    assert_int_equal(buf.len, 20000);
    for (size_t i = 0; i < buf.len; i += 2) {
        assert_int_equal(buf.data[i], '0' + (int)(i / 2 % 10));
    }
    assert_int_equal(strlen(buf_c(&buf)), 20000);
    buf_reset(&buf);
    assert_str(buf_str(&buf), "");
    assert_true(buf.cap >= 20000);
}

static void integers_print_at_their_limits(void **state)
{
    AUTO_CLEAR(Buf) buf = buf_make(BUF_UNLIMITED);
    buf_put_i64(&buf, INT64_MIN);
    buf_put_char(&buf, ' ');
    buf_put_i64(&buf, INT64_MAX);
    buf_put_char(&buf, ' ');
    buf_put_i64(&buf, 0);
    buf_put_i64(&buf, -7);
    assert_str(buf_str(&buf), "-9223372036854775808 9223372036854775807 0-7");
}

static void small_integers_print_like_printf(void **state)
{
    for (int number = 0; number < 10100; number++) {
        AUTO_CLEAR(Buf) buf = buf_make(5);
        char text[16];
        snprintf(text, sizeof text, "%d", number);
        assert_true(buf_put_i64(&buf, number));
        assert_str(buf_str(&buf), text);
    }
    AUTO_CLEAR(Buf) narrow = buf_make(2);
    assert_true(buf_put_i64(&narrow, 12));
    assert_false(buf_put_i64(&narrow, 3));
    assert_str(buf_str(&narrow), "12");
}

static void padded_parts_count_by_their_length(void **state)
{
    enum {
        LEN = 100
    };
    char text[LEN + BUF_SLACK];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (char)('a' + i % 26);
    }
    for (size_t len = 0; len <= LEN; len++) {
        AUTO_CLEAR(Buf) buf = buf_make(len + 1);
        buf_put_char(&buf, '>');
        assert_true(buf_put_padded(&buf, text, len));
        assert_int_equal(buf.len, len + 1);
        assert_memory_equal(buf.data + 1, text, len);
        assert_false(buf_put_padded(&buf, text, 1));
    }
}

/* Each way to append fills a buffer to the last byte and fails on the next one. */
static void the_maximum_can_be_reached_but_not_exceeded(void **state)
{
    enum {
        MAX = 300
    };
    for (int way = 0; way < 4; way++) {
        AUTO_CLEAR(Buf) buf = buf_make(MAX);
        char text[MAX + 1];
        memset(text, 'x', MAX);
        text[MAX] = '\0';
        switch (way) {
        case 0: buf_put(&buf, str_from(text, MAX)); break;
        case 1: buf_put_repeat(&buf, 'x', MAX); break;
        case 2: buf_put_format(&buf, "%s", text); break;
        default:
            for (int i = 0; i < MAX; i++) {
                buf_put_char(&buf, 'x');
            }
        }
        assert_false(buf.overflow);
        assert_str(buf_str(&buf), text);
        assert_string_equal(buf_c(&buf), text); /* the NUL does not count */
        switch (way) {
        case 0: buf_put(&buf, STR("y")); break;
        case 1: buf_put_repeat(&buf, 'y', SIZE_MAX); break;
        case 2: buf_put_format(&buf, "%d", 1); break;
        default: buf_put_char(&buf, 'y');
        }
        assert_true(buf.overflow);
        assert_str(buf_str(&buf), text);
        assert_null(buf_c(&buf));
    }
}

static void after_an_overflow_nothing_is_appended(void **state)
{
    AUTO_CLEAR(Buf) buf = buf_make(4);
    buf_put(&buf, STR("abc"));
    buf_put(&buf, STR("de"));
    buf_put_char(&buf, 'f'); /* would fit */
    assert_str(buf_str(&buf), "abc");
    assert_true(buf.overflow);
    assert_false(buf_reserve(&buf, 1));
    buf_reset(&buf);
    buf_put(&buf, STR("wxyz"));
    assert_str(buf_str(&buf), "wxyz");
    assert_false(buf.overflow);
}

static void a_maximum_of_zero_accepts_nothing(void **state)
{
    AUTO_CLEAR(Buf) buf = buf_make(0);
    assert_false(buf.overflow);
    buf_put_char(&buf, 'x');
    assert_true(buf.overflow);
    assert_str(buf_str(&buf), "");
}

static void a_buffer_in_an_arena_respects_its_budget(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 32 << 20);
    Buf outer = buf_make_in(&arena, 100 << 20), inner = buf_make_in(&arena, 100 << 20);
    while (outer.len < 5 << 20) {
        buf_put(&outer, STR("outer "));
    }
    while (!inner.overflow) {
        buf_put(&inner, STR("inner "));
    }
    while (!outer.overflow) {
        buf_put(&outer, STR("outer "));
    }
    assert_false(arena_exceeded(&arena));
    assert_true(inner.len > 10 << 20);
    assert_true(arena.chunk_bytes <= 32 << 20);
    assert_true(str_ends(buf_str(&outer), STR("outer ")));

    Buf own = buf_make_in(&arena, BUF_UNLIMITED); /* its writer knows why */
    buf_put_repeat(&own, 'x', 40 << 20);
    assert_false(own.overflow);
    assert_true(arena_exceeded(&arena));
}

static void a_buffer_in_an_arena_needs_no_clearing(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Buf buf = buf_make_in(&arena, BUF_UNLIMITED);
    char *between = NULL;
    for (int i = 0; i < 2000; i++) {
        buf_put_c(&buf, "abc");
        if (i == 100) {
            between = arena_alloc(&arena, 1); /* so that it cannot always grow in place */
            *between = 'x';
        }
    }
    assert_int_equal(buf.len, 6000);
    assert_memory_equal(buf.data, "abcabc", 6);
    assert_memory_equal(buf.data + buf.len - 3, "abc", 3);
    assert_int_equal(*between, 'x');
    assert_true(arena_used(&arena) > 6000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_is_an_empty_string),
        cmocka_unit_test(appending_grows_and_preserves_the_content),
        cmocka_unit_test(integers_print_at_their_limits),
        cmocka_unit_test(small_integers_print_like_printf),
        cmocka_unit_test(padded_parts_count_by_their_length),
        cmocka_unit_test(the_maximum_can_be_reached_but_not_exceeded),
        cmocka_unit_test(after_an_overflow_nothing_is_appended),
        cmocka_unit_test(a_maximum_of_zero_accepts_nothing),
        cmocka_unit_test(a_buffer_in_an_arena_respects_its_budget),
        cmocka_unit_test(a_buffer_in_an_arena_needs_no_clearing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
