#include "base/json_text.h"

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

static void what_is_no_utf8_is_replaced(void **state)
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
        cmocka_unit_test(what_is_no_utf8_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
