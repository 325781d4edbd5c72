#include "lang/template/html_unescape.h"

#include "unit.h"

static void check_unescaped(const char *text, const char *expected, const char *file, int line)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    html_unescape(str_from_c(text), &out);
    check_str(buf_str(&out), expected, file, line);
}

#define assert_unescaped(text, expected) check_unescaped((text), (expected), __FILE__, __LINE__)

static void names_are_replaced(void **state)
{
    assert_unescaped("a &lt;b&gt; &amp;&quot;", "a <b> &\"");
    assert_unescaped("&copy; &hellip; &nbsp;", "© … \u00a0");
    assert_unescaped("&CounterClockwiseContourIntegral;", "∳");
}

static void legacy_names_need_no_semicolon(void **state)
{
    assert_unescaped("&ltb &copy2 &notit;", "<b ©2 ¬it;");
    assert_unescaped("&notin;", "∉");
    assert_unescaped("&hellip", "&hellip"); /* but newer ones do */
}

static void numbers_are_replaced(void **state)
{
    assert_unescaped("&#65;&#x41;&#X41&#66", "AAAB");
    assert_unescaped("&#128;&#x9f;", "€Ÿ");
    assert_unescaped("&#0;&#xD800;&#x110000;&#99999999999999999999;", "\ufffd\ufffd\ufffd\ufffd");
    assert_unescaped("a&#1;b&#xFFFF;c", "abc");
    assert_unescaped("&#;&#x;&#xg;", "&#;&#x;&#xg;");
}

static void other_ampersands_are_unchanged(void **state)
{
    assert_unescaped("a & b && &", "a & b && &");
    assert_unescaped("&zzzz; &;", "&zzzz; &;");
    assert_unescaped("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_replaced),
        cmocka_unit_test(legacy_names_need_no_semicolon),
        cmocka_unit_test(numbers_are_replaced),
        cmocka_unit_test(other_ampersands_are_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
