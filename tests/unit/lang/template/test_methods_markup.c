/* Text that is safe for HTML. */
#include "lang/template/rows.h"

static const Row markup[] = {
    { "'a' == 'a'|safe", "True" },
    { "('<a>'|safe) + '<b>'", "<a>&lt;b&gt;" },
    { "'<b>' + ('<a>'|safe)", "&lt;b&gt;<a>" },
    { "('<a>'|safe) * 2", "<a><a>" },
    { "['<a>'|safe]", "[Markup('<a>')]" },
    { "('%s'|safe) % '<'", "&lt;" },
    { "('%s %s'|safe) % ('<', '<b>'|safe)", "&lt; <b>" },
    { "('%(a)s'|safe) % {'a':'<'}", "&lt;" },
    { "('%r'|safe) % '<'", "&#39;&lt;&#39;" },
    { "(','|safe).join(['<','<b>'|safe, 5])", "&lt;,<b>,5" },
    { "('<b> x</b>'|safe).striptags()", "x" },
    { "('&lt;'|safe).unescape()", "<" },
    { "('a'|safe).upper()", "A" },
    { "[('a'|safe).upper(), ('a b'|safe).split(), ('a-b'|safe).partition('-'), "
      "('a'|safe).replace('a','<'), ('ab'|safe)[0], ('a'|safe).center(3), ('a'|safe).casefold(), "
      "('ab'|safe).removeprefix('a')]",
      "[Markup('A'), [Markup('a'), Markup('b')], (Markup('a'), Markup('-'), Markup('b')), "
      "Markup('&lt;'), Markup('a'), Markup(' a '), 'a', 'b']" },
    { "('ab'|safe)|list", "['a', 'b']" },
    { "('a'|safe).foo.x", "!UndefinedError: 'markupsafe.Markup object' has no attribute 'foo'" },
    { "('a'|safe) + 1", "!TypeError: unsupported operand type(s) for +: 'Markup' and 'int'" },
    { "1 + ('a'|safe)", "!TypeError: unsupported operand type(s) for +: 'int' and 'Markup'" },
    { "[] + ('a'|safe)", "!TypeError: can only concatenate list (not \"Markup\") to list" },
    { "('a'|safe) * 1.5", "!TypeError: unsupported operand type(s) for *: 'Markup' and 'float'" },
    { "('a'|safe) < 'b'", "True" },
    { "'x' in ('xyz'|safe)", "True" },
    { "('{}'|safe).format('<')", "&lt;" },
    { "('{}'|safe).format('<'|safe)", "<" },
    { "('{a}'|safe).format(a='<')", "&lt;" },
    { "('{:>5}'|safe).format('<')", "    &lt;" },
    { "('{:>5}'|safe).format('<'|safe)",
      "!ValueError: Unsupported format specification for Markup." },
    { "('{!r}'|safe).format('<')", "&#39;&lt;&#39;" },
    { "('{0[a]}'|safe).format({'a':'<'})", "&lt;" },
    { "('{a}'|safe).format_map({'a':'<'})", "<" },
    { "(''|safe).escape('<')", "&lt;" },
    { "('a<!--x-->b<c'|safe).striptags()", "ab<c" },
    { "('<!-->a-->b'|safe).striptags()", "b" },
    { "('<<a>>b'|safe).striptags()", ">b" },
    { "('a<b c'|safe).striptags()", "a<b c" },
    { "(' a \\n <i>b</i> '|safe).striptags()", "a b" },
    { "('&amp;&lt;&#39;&#x41;&eacute;'|safe).unescape()", "&<'Aé" },
    { "['a&b'|safe]", "[Markup('a&b')]" },
    { "[('a&b'|safe).strip('a'), ('a&b'|safe).ljust(5,'x'), ('a'|safe).zfill(3), "
      "('a'|safe).title(), ('a'|safe).swapcase(), ('a\\tb'|safe).expandtabs()]",
      "[Markup('&b'), Markup('a&bxx'), Markup('00a'), Markup('A'), Markup('A'), Markup('a       "
      "b')]" },
    { "[('a b'|safe).rsplit(), ('a\\nb'|safe).splitlines(), ('a-b'|safe).rpartition('-')]",
      "[[Markup('a'), Markup('b')], [Markup('a'), Markup('b')], (Markup('a'), Markup('-'), "
      "Markup('b'))]" },
    { "('a'|safe).join(['<',1,none])", "&lt;a1aNone" },
    { "('a'|safe).join(5)", "!TypeError: 'int' object is not iterable" },
    { "('a'|safe).partition(1)", "(Markup('a'), Markup(''), Markup(''))" },
    { "('%d %f'|safe) % (1.5, 2)", "1 2.000000" },
    { "('abc'|safe)[1:]", "bc" },
    { "['abc'|safe][0][1]", "b" },
    { "('a'|safe).isalpha()", "True" },
    { "('a'|safe).find('a')", "0" },
    { "('<'|safe) == '<'", "True" },
    { "('a'|safe)|length", "1" },
    { "('a'|safe) * 3", "aaa" },
    { "{('a'|safe): 1}['a']", "1" },
};

ROWS_TEST(markup_escapes_inserted_text, markup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_escapes_inserted_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
