/* Iterating over values. */
#include "lang/template/rows.h"

static const Row walked[] = {
    { "{% for x in l %}{{ x }}{% endfor %}", "123" },
    { "{% for x in (1,2) %}{{ x }}{% endfor %}", "12" },
    { "{% for k in {'a':1} %}{{ k }}{% endfor %}", "a" },
    { "{% for k,v in {'a':1,'b':2}.items() %}{{ k }}{{ v }}{% endfor %}", "a1b2" },
    { "{% for k in d.keys() %}{{ k }}{% endfor %}", "aitemssub" },
    { "{% for v in {'a':1}.values() %}{{ v }}{% endfor %}", "1" },
    { "{% for c in 'héy' %}{{ c }},{% endfor %}", "h,é,y," },
    { "{% for c in range(3) %}{{ c }},{% endfor %}", "0,1,2," },
    { "{% for c in range(5,0,-2) %}{{ c }},{% endfor %}", "5,3,1," },
    { "{% for c in 5 %}{{ c }},{% endfor %}", "!TypeError: 'int' object is not iterable" },
    { "{% for c in none %}{{ c }},{% endfor %}", "!TypeError: 'NoneType' object is not iterable" },
    { "{% for c in f %}{{ c }},{% endfor %}", "!TypeError: 'float' object is not iterable" },
    { "{% for c in t %}{{ c }},{% endfor %}", "!TypeError: 'bool' object is not iterable" },
    { "{% for c in missing %}{{ c }},{% endfor %}", "" },
    { "{% for c in namespace() %}{{ c }},{% endfor %}",
      "!TypeError: 'Namespace' object is not iterable" },
    { "{% for c in s.upper %}{{ c }},{% endfor %}",
      "!TypeError: 'builtin_function_or_method' object is not iterable" },
    { "{% set x=[1,2] %}{% for k in x %}{% if x|length < 5 %}{% do x.append(k) %}{% endif %}{{ k "
      "}}{% endfor %}",
      "12121" },
    { "{% set g=[1,2]|map('string') %}{{ g|list }}{{ g|list }}", "['1', '2'][]" },
    { "{% set g=[1,2,3]|map('string') %}{{ '1' in g }}{{ g|list }}", "True['2', '3']" },
    { "('ab'|safe)|list", "['a', 'b']" },
    { "l|list", "[1, 2, 3]" },
    { "d|list", "['a', 'items', 'sub']" },
    { "range(0)|list", "[]" },
    { "''|list", "[]" },
    { "(l|map('string'))|list", "['1', '2', '3']" },
    { "{% for a,b in [(1,2),'xy'] %}{{ a }}{{ b }};{% endfor %}", "12;xy;" },
    { "[u]|list", "['héllo wörld']" },
    { "u|list", "['h', 'é', 'l', 'l', 'o', ' ', 'w', 'ö', 'r', 'l', 'd']" },
};

ROWS_TEST(everything_iterable_can_be_iterated, walked)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_iterable_can_be_iterated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
