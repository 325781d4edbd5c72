#include "base/str.h"

#include <stdlib.h>

#include "unit.h"

static void slices_stay_inside(void **state)
{
    Str s = STR("hello");
    assert_str(str_slice(s, 1, 3), "el");
    assert_str(str_slice(s, 3, SIZE_MAX), "lo");
    assert_str(str_slice(s, 5, 9), "");
    assert_str(str_slice(s, 4, 2), "");
    assert_str(str_slice(s, SIZE_MAX, SIZE_MAX), "");
    assert_str(str_from_offset(s, 2), "llo");
    assert_str(str_from_c(NULL), "");
}

static void empty_strings_are_equal(void **state)
{
    Str null = { NULL, 0 };
    assert_true(str_eq(null, STR_EMPTY));
    assert_true(str_starts(null, null));
    assert_true(str_ends(STR("a"), null));
    assert_false(str_starts(null, STR("a")));
    assert_int_equal(str_compare(null, STR_EMPTY), 0);
    assert_str(str_trim(null), "");
    assert_int_equal(str_find(null, null, 0), 0);
}

static void find_respects_start_and_end(void **state)
{
    Str s = STR("abcabc");
    assert_int_equal(str_find(s, STR("bc"), 0), 1);
    assert_int_equal(str_find(s, STR("bc"), 2), 4);
    assert_true(str_find(s, STR("bc"), 5) == STR_NOT_FOUND);
    assert_true(str_find(s, STR("abcabcd"), 0) == STR_NOT_FOUND);
    assert_int_equal(str_find(s, STR_EMPTY, 6), 6);
    assert_true(str_find(s, STR_EMPTY, 7) == STR_NOT_FOUND);
    assert_int_equal(str_find_last(s, STR("abc")), 3);
    assert_int_equal(str_find_last(s, STR("abcabc")), 0);
    assert_int_equal(str_find_last(s, STR_EMPTY), 6);
    assert_true(str_find_last(s, STR("x")) == STR_NOT_FOUND);
    assert_int_equal(str_find(STR("a\0b"), STR("\0b"), 0), 1); /* NUL is a regular byte */
}

/* Long needles use another algorithm; both must find what a plain loop finds. */
static void find_last_finds_long_needles(void **state)
{
    char text[400];
    for (unsigned period = 1; period < 9; period++) {
        for (size_t i = 0; i < sizeof text; i++) {
            text[i] = i % period == 0 ? 'b' : i % 3 == 0 ? 'a' : 'c';
        }
        for (size_t start = 0; start < 200; start += 13) {
            for (size_t len = 60; len < 200; len += 7) {
                Str haystack = str_from(text, sizeof text);
                Str needle = str_slice(haystack, start, start + len);
                size_t expected = sizeof text - len;
                while (memcmp(text + expected, needle.data, len) != 0) {
                    expected--;
                }
                assert_int_equal(str_find_last(haystack, needle), expected);
            }
        }
    }
    char needle[100];
    memset(needle, 'c', sizeof needle);
    assert_true(str_find_last(str_from(text, sizeof text), str_from(needle, sizeof needle)) ==
                STR_NOT_FOUND);
}

static void a_hostile_needle_takes_linear_time(void **state)
{
    enum {
        LENGTH = 2000000
    };
    char *text = malloc(LENGTH);
    memset(text, 'a', LENGTH);
    char *needle = malloc(LENGTH / 2);
    memset(needle, 'a', LENGTH / 2);
    needle[LENGTH / 2 - 1] = 'b';
    Str haystack = str_from(text, LENGTH);
    assert_true(str_find_last(haystack, str_from(needle, LENGTH / 2)) == STR_NOT_FOUND);
    assert_true(str_find(haystack, str_from(needle, LENGTH / 2), 0) == STR_NOT_FOUND);
    free(text);
    free(needle);
}

static void comparing_is_by_unsigned_bytes(void **state)
{
    assert_true(str_compare(STR("a"), STR("b")) < 0);
    assert_true(str_compare(STR("a"), STR("ab")) < 0);
    assert_true(str_compare(STR("b"), STR("ab")) > 0);
    assert_true(str_compare(STR("z"), STR("\xc3\xa9")) < 0);
    assert_int_equal(str_compare(STR("ab"), STR("ab")), 0);
    assert_true(str_eq_ignore_case(STR("NoNe"), STR("nOnE")));
    assert_false(str_eq_ignore_case(STR("[a"), STR("{a"))); /* 32 apart but no letters */
    assert_false(str_eq_ignore_case(STR("a"), STR("ab")));
}

static void trim_removes_only_ascii_whitespace(void **state)
{
    assert_str(str_trim(STR(" \t\n\v\f\ra b\r\n")), "a b");
    assert_str(str_trim(STR(" \t ")), "");
    assert_str(str_trim(STR("\xc2\xa0x")), "\xc2\xa0x");
}

static void split_returns_every_part(void **state)
{
    Str rest = STR("a,b,,c,");
    const char *expected[] = { "a", "b", "", "c", "" };
    Str part;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_true(str_split_next(&rest, ',', &part));
        assert_str(part, expected[i]);
    }
    assert_false(str_split_next(&rest, ',', &part));
    rest = STR_EMPTY;
    assert_true(str_split_next(&rest, ',', &part));
    assert_str(part, "");
    assert_false(str_split_next(&rest, ',', &part));
}

static void integers_are_read_up_to_their_limits(void **state)
{
    int64_t i64;
    uint64_t u64;
    assert_true(str_to_i64(STR("9223372036854775807"), &i64));
    assert_true(i64 == INT64_MAX);
    assert_true(str_to_i64(STR("-9223372036854775808"), &i64));
    assert_true(i64 == INT64_MIN);
    assert_true(str_to_i64(STR("+007"), &i64));
    assert_true(i64 == 7);
    assert_true(str_to_i64(STR("-0"), &i64));
    assert_true(i64 == 0);
    assert_true(str_to_u64(STR("18446744073709551615"), &u64));
    assert_true(u64 == UINT64_MAX);
    const Str bad[] = { STR("9223372036854775808"),
                        STR("-9223372036854775809"),
                        STR("18446744073709551616"),
                        STR("99999999999999999999999"),
                        STR(""),
                        STR("-"),
                        STR("+-1"),
                        STR(" 1"),
                        STR("1 "),
                        STR("1.0"),
                        STR("0x1") };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(str_to_i64(bad[i], &i64));
    }
    assert_false(str_to_u64(STR("18446744073709551616"), &u64));
    assert_false(str_to_u64(STR("-1"), &u64));
}

static void characters_are_classified_without_locale(void **state)
{
    for (int c = 0; c < 256; c++) {
        bool digit = c >= '0' && c <= '9';
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        assert_int_equal(ascii_is_digit((char)c), digit);
        assert_int_equal(ascii_is_alpha((char)c), letter);
        assert_int_equal(ascii_is_name((char)c), digit || letter || c == '_');
        assert_int_equal(ascii_is_space((char)c), c == ' ' || (c >= 9 && c <= 13));
    }
    assert_int_equal(ascii_hex_value('f'), 15);
    assert_int_equal(ascii_hex_value('A'), 10);
    assert_int_equal(ascii_hex_value('9'), 9);
    assert_int_equal(ascii_hex_value('g'), -1);
    assert_int_equal(ascii_hex_value('\xe6'), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_stay_inside),
        cmocka_unit_test(empty_strings_are_equal),
        cmocka_unit_test(find_respects_start_and_end),
        cmocka_unit_test(find_last_finds_long_needles),
        cmocka_unit_test(a_hostile_needle_takes_linear_time),
        cmocka_unit_test(comparing_is_by_unsigned_bytes),
        cmocka_unit_test(trim_removes_only_ascii_whitespace),
        cmocka_unit_test(split_returns_every_part),
        cmocka_unit_test(integers_are_read_up_to_their_limits),
        cmocka_unit_test(characters_are_classified_without_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
