#include "cli/markup.h"

#include "unit.h"

static void check(void (*put)(Buf *out, Str text), const char *text, const char *expected)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    put(&out, str_from_c(text));
    assert_str(buf_str(&out), expected);
}

static void html_has_no_markup_of_others(void **state)
{
    check(markup_put, "<script>alert('x' && \"y\")</script>",
          "&lt;script&gt;alert(&#39;x&#39; &amp;&amp; &quot;y&quot;)&lt;/script&gt;");
    check(markup_put, "a\n\tb", "a\n\tb");
    check(markup_put, "\033[31mred\r", "\\x1b[31mred\\r");
    check(markup_put, "\xff<\xc3\xbc", "\\xff&lt;\xc3\xbc");
    check(markup_put,
          "abc\xe2\x80\xae"
          "fed",
          "abc\\u202efed");
}

static void markdown_has_no_markup_of_others(void **state)
{
    check(markup_put_markdown, "2 nodes: web1, web-2:", "2 nodes: web1, web-2:");
    check(markup_put_markdown, "a|b [x](http://y) <img> @all #1 `c`\n# title :x:",
          "a&#124;b &#91;x&#93;(http&#58;//y) &#60;img&#62; &#64;all &#35;1 "
          "&#96;c&#96;&#92;n&#35; title &#58;x:");
}

static void put_code(Buf *out, Str text)
{
    markup_put_fence(out, "diff", text);
}

static void a_fence_is_longer_than_those_in_its_text(void **state)
{
    check(put_code, "+x\n", "```diff\n+x\n```\n");
    check(put_code, "+x", "```diff\n+x\n```\n");
    check(put_code, "a\n````\n</details>", "`````diff\na\n````\n</details>\n`````\n");
    check(put_code, "\033[0m", "```diff\n\\x1b[0m\n```\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_has_no_markup_of_others),
        cmocka_unit_test(markdown_has_no_markup_of_others),
        cmocka_unit_test(a_fence_is_longer_than_those_in_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
