/* Jinja2's filters in detail: arguments, undefined values, markup, layout. */
#include "rows.h"

static void arguments_are_checked_as_python_does(void **state)
{
    static const Row rows[] = {
        { "1 | map() | list", "!FilterArgumentError: map requires a filter argument" },
        { "5 | map() | list", "!FilterArgumentError: map requires a filter argument" },
        { "5 | map('nope') | list", "!TypeError: 'int' object is not iterable" },
        { "[1] | map('nope') | list", "!TemplateRuntimeError: unknown filter 'nope'" },
        { "[1] | map(nope) | list", "!TemplateRuntimeError: expected the name of a filter: "
                                    "'nope' is undefined" },
        { "[1] | map(attribute='a', b=1) | list",
          "!FilterArgumentError: Unexpected keyword argument 'b'" },
        { "[1] | selectattr() | list",
          "!FilterArgumentError: Missing parameter for attribute name" },
        { "[1] | select('nope') | list", "!TemplateRuntimeError: unknown test 'nope'" },
        { "none | map('upper') | list", "[]" },
        { "[] | map(nope) | list", "[]" },
        { "[1] | sort('x')", "!TypeError: 'str' object cannot be interpreted as an integer" },
        { "{} | dictsort(by='x')",
          "!FilterArgumentError: You can only sort by either \"key\" or \"value\"" },
        { "{} | dictsort(reverse=none)",
          "!TypeError: 'NoneType' object cannot be interpreted as an integer" },
        { "l | round", "!TypeError: type list doesn't define __round__ method" },
        { "1.5 | round(0, 'up')", "!FilterArgumentError: method must be common, ceil or floor" },
        { "'x' | round", "!TypeError: type str doesn't define __round__ method" },
        { "[1] | slice(0) | list", "!ZeroDivisionError: integer division or modulo by zero" },
        { "[1] | slice('2') | list",
          "!TypeError: unsupported operand type(s) for //: 'int' and 'str'" },
        { "'%s' | format(1, a=2)",
          "!FilterArgumentError: can't handle positional and keyword arguments at the same time" },
        { "'x' | truncate(2)", "!AssertionError: expected length >= 3, got 2" },
        { "'xyz' | truncate(5, leeway=-1)", "!AssertionError: expected leeway >= 0, got -1" },
        { "'a b' | wordwrap(0)", "!ValueError: invalid width 0 (must be > 0)" },
        { "5 | wordwrap", "!AttributeError: 'int' object has no attribute 'splitlines'" },
        { "['a'] | sum(start='')",
          "!TypeError: sum() can't sum strings [use ''.join(seq) instead]" },
        { "'ab' | sum", "!TypeError: unsupported operand type(s) for +: 'int' and 'str'" },
        { "'a' | indent(1.5)", "!TypeError: can't multiply sequence by non-int of type 'float'" },
        { "5 | indent", "!TypeError: unsupported operand type(s) for +=: 'int' and 'str'" },
        { "l | indent", "!AttributeError: 'list' object has no attribute 'splitlines'" },
        { "'a' | trim(5)", "!TypeError: strip arg must be None or str" },
        { "'a' | center('5')", "!TypeError: 'str' object cannot be interpreted as an integer" },
        { "{1: 2} | xmlattr", "!TypeError: expected string or bytes-like object, got 'int'" },
        { "{'a b': 2} | xmlattr", "!ValueError: Invalid character in attribute name: 'a b'" },
        { "5 | xmlattr", "!AttributeError: 'int' object has no attribute 'items'" },
        { "5 | items | list", "!TypeError: Can only get item pairs from a mapping." },
        { "5 | reverse", "!FilterArgumentError: argument must be iterable" },
        { "5 | last", "!TypeError: 'int' object is not reversible" },
        { "5 | length", "!TypeError: object of type 'int' has no len()" },
        { "5 | list", "!TypeError: 'int' object is not iterable" },
        { "5 | join", "!TypeError: 'int' object is not iterable" },
        { "(1, 2) | map('string') | last", "!TypeError: 'generator' object is not reversible" },
        { "['abc'] | urlencode", "!ValueError: too many values to unpack (expected 2)" },
        { "[1] | urlencode", "!TypeError: cannot unpack non-iterable int object" },
        { "['a'] | urlencode", "!ValueError: not enough values to unpack (expected 2, got 1)" },
        { "none | filesizeformat",
          "!TypeError: float() argument must be a string or a real number, not 'NoneType'" },
        { "'x' | filesizeformat", "!ValueError: could not convert string to float: 'x'" },
        { "[{}] | unique | list", "!TypeError: unhashable type: 'dict'" },
        { "[1, none] | min",
          "!TypeError: '<' not supported between instances of 'NoneType' and 'int'" },
        { "['a', 1] | sort", "!TypeError: '<' not supported between instances of 'int' and 'str'" },
        { "['a', 1] | sort(true)",
          "!TypeError: '<' not supported between instances of 'str' and 'int'" },
        { "[{'a': 1}, {}] | sort(attribute='a')",
          "!UndefinedError: 'dict object' has no attribute 'a'" },
        { "[{'a': 1}, {}] | groupby('a')", "!UndefinedError: 'dict object' has no attribute 'a'" },
        { "{1: 2, 'a': 3} | tojson",
          "!TypeError: '<' not supported between instances of 'str' and 'int'" },
        { "{(1, 2): 3} | tojson",
          "!TypeError: keys must be str, int, float, bool or None, not tuple" },
        { "range(2) | tojson", "!TypeError: Object of type range is not JSON serializable" },
        { "[missing] | tojson", "!TypeError: Object of type Undefined is not JSON serializable" },
        { "'x' | urlize(extra_schemes=['x'])",
          "!FilterArgumentError: 'x' is not a valid URI scheme prefix." },
    };
    TemplateSettings settings = template_settings_default();
    CHECK_ROWS(&settings, rows);
}

static void undefined_values_behave_as_in_jinja2(void **state)
{
    static const Row rows[] = {
        { "missing | int", "!UndefinedError: 'missing' is undefined" },
        { "missing | float", "!UndefinedError: 'missing' is undefined" },
        { "missing | abs", "!TypeError: bad operand type for abs(): 'Undefined'" },
        { "missing | round", "!TypeError: type Undefined doesn't define __round__ method" },
        { "missing | list", "[]" },
        { "missing | length", "0" },
        { "missing | upper", "" },
        { "missing | join", "" },
        { "missing | sum", "0" },
        { "missing | first", "" },
        { "missing | last", "" },
        { "missing | sort", "[]" },
        { "missing | items | list", "[]" },
        { "missing | dictsort", "!UndefinedError: 'missing' is undefined" },
        { "missing | indent", "!UndefinedError: 'missing' is undefined" },
        { "missing | urlencode", "" },
        { "missing | tojson", "!TypeError: Object of type Undefined is not JSON serializable" },
        { "missing | filesizeformat", "!UndefinedError: 'missing' is undefined" },
        { "missing | attr('x')", "!UndefinedError: 'missing' is undefined" },
        { "missing | select('x') | list", "[]" },
        { "missing is sequence", "True" },
        { "missing is callable", "True" },
        { "missing is iterable", "True" },
        { "missing is even", "!UndefinedError: 'missing' is undefined" },
        { "missing is lower", "False" },
        { "[missing] | unique | list", "[Undefined]" },
        { "[missing, missing] | sort | length", "2" },
        { "l | slice(missing) | list", "!UndefinedError: 'missing' is undefined" },
        { "'a' | indent(missing)", "!UndefinedError: 'missing' is undefined" },
        { "'abc' | truncate(missing)", "!UndefinedError: 'missing' is undefined" },
        { "range(missing)", "!TypeError: 'Undefined' object cannot be interpreted as an integer" },
    };
    TemplateSettings settings = template_settings_default();
    CHECK_ROWS(&settings, rows);
}

static void attributes_are_paths(void **state)
{
    static const Row rows[] = {
        { "[{'a': {'b': [1, 2]}}] | map(attribute='a.b.1') | list", "[2]" },
        { "[[1, [2, 3]]] | map(attribute='1.0') | list", "[2]" },
        { "[[1, 2]] | map(attribute=1) | list", "[2]" },
        { "[{'a': 1}, {}] | map(attribute='a') | list", "[1, Undefined]" },
        { "[{'a': 1}, {}] | map(attribute='a', default=9) | list", "[1, 9]" },
        { "[{'a': 1}, {}] | map(attribute='a.b', default=9) | list", "[9, 9]" },
        { "[{'n': 'b', 'v': 1}, {'n': 'A', 'v': 1}, {'n': 'c', 'v': 0}] | sort(attribute='v,n') | "
          "map(attribute='n') | join",
          "cAb" },
        { "[{'n': 'b'}, {'n': 'B'}, {'n': 'a'}] | groupby('n') | map('first') | list",
          "['a', 'b']" },
        { "[{'n': 'b'}, {'n': 'B'}] | groupby('n', case_sensitive=true) | length", "2" },
        { "[{'n': 1}, {}] | groupby('n', default=0) | map(attribute='grouper') | list", "[0, 1]" },
        { "([{'n': 1, 'v': 2}] | groupby('n'))[0].list", "[{'n': 1, 'v': 2}]" },
        { "[{'v': 3}, {'v': 1}] | max(attribute='v')", "{'v': 3}" },
        { "[{'v': 3}, {'v': 3, 'w': 1}] | unique(attribute='v') | list", "[{'v': 3}]" },
        { "[{'a': {'b': 1}}, {'a': {'b': 2}}] | sum(attribute='a.b')", "3" },
        { "['x', 'y'] | join('-', attribute=0)", "x-y" },
    };
    TemplateSettings settings = template_settings_default();
    CHECK_ROWS(&settings, rows);
}

static void markup_is_preserved_where_required(void **state)
{
    static const Row rows[] = {
        { "{% autoescape true %}{{ ['<', '<b>' | safe] | join('&') }}{% endautoescape %}",
          "&lt;&amp;<b>" },
        { "{% autoescape true %}{{ ['<', '>'] | join('<br>' | safe) }}{% endautoescape %}",
          "&lt;<br>&gt;" },
        { "{% autoescape true %}{{ ['<', '>'] | join('&') }}{% endautoescape %}", "&lt;&amp;&gt;" },
        { "{% autoescape true %}{{ '<a>' | replace('a', '<b>' | safe) }}{% endautoescape %}",
          "&lt;<b>&gt;" },
        { "{% autoescape true %}{{ ('<a>' | safe) | replace('>', '!') }}{% endautoescape %}",
          "<a>" },
        { "{% autoescape true %}{{ ('<a> b c d e f g' | safe) | truncate(8, true, '<', 0) }}{% "
          "endautoescape %}",
          "<a> b c&lt;" },
        { "{% autoescape true %}{{ ('<i>' | safe) | indent(2, true) }}{{ ('<i>' | safe) | upper "
          "}}{{ ('<i>' | safe) | trim('<') }}{% endautoescape %}",
          "  <i><I><i>" },
        { "{% autoescape true %}{{ ('<i>%s' | safe) | format('<') }}{% endautoescape %}",
          "<i>&lt;" },
        { "{% autoescape true %}{{ {'a': '<'} | xmlattr }}{{ {'a': ('<' | safe)} | xmlattr }}{% "
          "endautoescape %}",
          " a=\"&lt;\" a=\"<\"" },
        { "{% autoescape true %}{{ 'http://a.b/<' | urlize }}{% endautoescape %}",
          "http://a.b/&lt;" },
        { "{% autoescape true %}{{ '<i>' | string }}{{ ('<i>' | safe) | string }}{{ ('<i>' | safe) "
          "| title }}{% endautoescape %}",
          "&lt;i&gt;<i>&lt;I&gt;" },
        { "{% autoescape true %}{{ ('<i>' | safe) | first }}{{ ('<i>' | safe) | last }}{{ ('<i>' | "
          "safe) | reverse }}{% endautoescape %}",
          "&lt;>>i<" },
        { "html | e", "&lt;b&gt;&#34;x&#34;&amp;&#39;y&#39;&lt;/b&gt;" },
        { "html | e | e", "&lt;b&gt;&#34;x&#34;&amp;&#39;y&#39;&lt;/b&gt;" },
        { "html | e | forceescape",
          "&amp;lt;b&amp;gt;&amp;#34;x&amp;#34;&amp;amp;&amp;#39;y&amp;#39;&amp;lt;/b&amp;gt;" },
        { "html | striptags", "\"x\"&'y'" },
        { "html | tojson", "\"\\u003cb\\u003e\\\"x\\\"\\u0026\\u0027y\\u0027\\u003c/b\\u003e\"" },
        { "html | urlencode", "%3Cb%3E%22x%22%26%27y%27%3C/b%3E" },
    };
    TemplateSettings settings = template_settings_default();
    CHECK_ROWS(&settings, rows);
}

static void numbers_are_read_and_rounded(void **state)
{
    static const Row rows[] = {
        { "'0x1f' | int(base=16)", "31" },
        { "'0b11' | int(0, 2)", "3" },
        { "'077' | int(base=0)", "77" },
        { "' 42 ' | int", "42" },
        { "'1_000' | int", "1000" },
        { "'4.9' | int", "4" },
        { "-4.9 | int", "-4" },
        { "'nan' | int(3)", "3" },
        { "[] | int(3)", "3" },
        { "none | int", "0" },
        { "true | int", "1" },
        { "'1e3' | int", "1000" },
        { "'1e3' | float", "1000.0" },
        { "'inf' | float", "inf" },
        { "2.5 | round", "2.0" },
        { "3.5 | round", "4.0" },
        { "-2.5 | round", "-2.0" },
        { "2.675 | round(2)", "2.67" },
        { "1234 | round(-2)", "1200" },
        { "1250 | round(-2)", "1200" },
        { "1234.5 | round(-2)", "1200.0" },
        { "1.21 | round(1, 'ceil')", "1.3" },
        { "-1.21 | round(1, 'floor')", "-1.3" },
        { "2.5 | round(none)", "2" },
        { "42 | round(1, 'ceil')", "42.0" },
        { "1 | filesizeformat", "1 Byte" },
        { "999 | filesizeformat", "999 Bytes" },
        { "1000 | filesizeformat", "1.0 kB" },
        { "1024 | filesizeformat(true)", "1.0 KiB" },
        { "-5 | filesizeformat", "-5 Bytes" },
        { "1e30 | filesizeformat", "1000000.0 YB" },
        { "'1500' | filesizeformat", "1.5 kB" },
    };
    TemplateSettings settings = template_settings_default();
    CHECK_ROWS(&settings, rows);
}

static void text_is_wrapped_into_lines(void **state)
{
    static const Row rows[] = {
        { "{{ 'a\\n\\nb' | indent }}|{{ 'a\\n\\nb' | indent(2, true, true) }}|{{ 'a\\n' | "
          "indent(1, blank=true) }}|{{ 'a\\r\\nb\\x0bc' | indent(1) }}",
          "a\n\n    b|  a\n  \n  b|a\n |a\n b\n c" },
        { "'foo bar baz qux' | wordwrap(7, wrapstring='|')", "foo bar|baz qux" },
        { "'abcdefghij kl' | wordwrap(4, wrapstring='|')", "abcd|efgh|ij|kl" },
        { "'abcdefghij kl' | wordwrap(4, false, '|')", "abcdefghij|kl" },
        { "'well-known-name here' | wordwrap(6, wrapstring='|')", "well-|known-|name|here" },
        { "'well-known-name here' | wordwrap(6, wrapstring='|', break_on_hyphens=false)",
          "well-k|nown-n|ame|here" },
        { "'a--b  c' | wordwrap(3, wrapstring='|')", "a--|b|c" },
        { "{{ 'a b\\n\\nc d' | wordwrap(2, wrapstring='|') }}", "a|b||c|d" },
        { "['x' * 60, 'y' * 60] | pprint",
          "['xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',\n "
          "'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy']" },
        { "{'b': 'x' * 50, 'a': ['y' * 40]} | pprint",
          "{'a': ['yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy'],\n 'b': "
          "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'}" },
        { "('word ' * 30) | pprint",
          "('word word word word word word word word word word word word word word word '\n 'word "
          "word word word word word word word word word word word word word word ')" },
        { "('a' * 90,) | pprint", "('"
                                  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                  "aaaaaaaaaaaaaaaaaaaaaaaaaa',)" },
        { "{1: 'a', 'b': none, none: 2} | pprint", "{None: 2, 1: 'a', 'b': None}" },
        { "[] | pprint", "[]" },
        { "'foo bar baz' | center(20) | replace(' ', '.')", "....foo.bar.baz....." },
        { "'ab' | center(5) | replace(' ', '.')", "..ab." },
        { "'foo bar baz qux' | truncate(9)", "foo..." },
        { "'foo bar baz qux' | truncate(11)", "foo bar baz qux" },
        { "'foo bar baz qux' | truncate(11, leeway=0)", "foo bar..." },
        { "'ab-cd (ef) [gh]' | title", "Ab-Cd (Ef) [Gh]" },
        { "u | title", "Héllo Wörld" },
        { "u | wordcount", "2" },
    };
    TemplateSettings settings = template_settings_default();
    CHECK_ROWS(&settings, rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_checked_as_python_does),
        cmocka_unit_test(undefined_values_behave_as_in_jinja2),
        cmocka_unit_test(attributes_are_paths),
        cmocka_unit_test(markup_is_preserved_where_required),
        cmocka_unit_test(numbers_are_read_and_rounded),
        cmocka_unit_test(text_is_wrapped_into_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
