#include "base/json_out.h"

#include "unit.h"

static void assert_json(Str text, const char *expected)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    json_text_put(&out, text);
    assert_str(buf_str(&out), expected);
}

static void text_is_quoted_and_escaped(void **state)
{
    assert_json(STR_EMPTY, "\"\"");
    assert_json((Str){ NULL, 0 }, "\"\"");
    assert_json(STR("plain \xc3\xa9"), "\"plain \xc3\xa9\"");
    assert_json(STR("\"a\\b\"\n\r\t"), "\"\\\"a\\\\b\\\"\\n\\r\\t\"");
    assert_json(STR("\0\x1f\x7f"), "\"\\u0000\\u001f\\u007f\"");
}

/* Long texts are scanned eight bytes at a time: each special byte is found at each offset. */
static void special_bytes_are_found_anywhere(void **state)
{
    static const struct {
        char byte;
        const char *expected;
    } rows[] = { { '"', "\\\"" },     { '\\', "\\\\" },    { '\n', "\\n" }, { '\0', "\\u0000" },
                 { 0x1f, "\\u001f" }, { 0x7f, "\\u007f" }, { ' ', " " },    { '!', "!" },
                 { '#', "#" },        { '[', "[" },        { ']', "]" },    { '~', "~" } };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (size_t at = 0; at < 24; at++) {
            char text[24], expected[64];
            memset(text, 'x', sizeof text);
            text[at] = rows[i].byte;
            snprintf(expected, sizeof expected, "\"%.*s%s%.*s\"", (int)at,
                     "xxxxxxxxxxxxxxxxxxxxxxxx", rows[i].expected, (int)(23 - at),
                     "xxxxxxxxxxxxxxxxxxxxxxxx");
            assert_json(str_from(text, sizeof text), expected);
        }
    }
}

static void invalid_utf8_is_replaced(void **state)
{
    assert_json(STR("a\xff"
                    "b\xc3"),
                "\"a\xef\xbf\xbd"
                "b\xef\xbf\xbd\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_quoted_and_escaped),
        cmocka_unit_test(special_bytes_are_found_anywhere),
        cmocka_unit_test(invalid_utf8_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
