#include "base/visible.h"

#include "unit.h"

static void assert_visible(Str text, const char *expected)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    visible_put(&out, text);
    assert_str(buf_str(&out), expected);
}

static void ordinary_text_is_unchanged(void **state)
{
    assert_visible(STR("a~ \xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80"),
                   "a~ \xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80");
    assert_visible(STR_EMPTY, "");
}

static void deceptive_characters_are_escaped(void **state)
{
    assert_visible(STR("\0\a\b\t\n\v\f\r\033\x7f"), "\\x00\\x07\\x08\\t\\n\\x0b\\x0c\\r\\x1b\\x7f");
    assert_visible(STR("\xc2\x9b"), "\\u009b");             /* an escape sequence in one byte */
    assert_visible(STR("\xe2\x80\xae"), "\\u202e");         /* right to left */
    assert_visible(STR("\xe2\x81\xa6"), "\\u2066");         /* isolate */
    assert_visible(STR("\xe2\x80\x8b"), "\\u200b");         /* zero width */
    assert_visible(STR("\xef\xbb\xbf"), "\\ufeff");         /* byte order mark */
    assert_visible(STR("\xff\xc3"), "\\xff\\xc3");          /* not UTF-8 */
    assert_visible(STR("\xed\xa0\x80"), "\\xed\\xa0\\x80"); /* a surrogate */
}

static void widths_are_those_of_a_terminal(void **state)
{
    const struct {
        Str text;
        unsigned width;
    } rows[] = {
        { STR("a"), 1 },
        { STR("\xc3\xa9"), 1 },
        { STR("\xcc\x81"), 0 },
        { STR("\xe6\xbc\xa2"), 2 },
        { STR("\xf0\x9f\x98\x80"), 2 },
        { STR("\n"), 2 },
        { STR("\x01"), 4 },
        { STR("\xe2\x80\xae"), 6 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t at = 0;
        assert_int_equal(visible_next(rows[i].text, &at).width, rows[i].width);
        assert_int_equal(at, rows[i].text.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_text_is_unchanged),
        cmocka_unit_test(deceptive_characters_are_escaped),
        cmocka_unit_test(widths_are_those_of_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
