/* Macros and the arguments of their calls: positions, keywords, callers. */
#include "lang/template/rows.h"

static const Row macros[] = {
    { "{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }} {{ m(b=3, a=4) }} {{ m(5, b=6) "
      "}}",
      "12 43 56" },
    /* One call site meets macros that take its keywords in different positions. */
    { "{% macro p(x, y) %}p{{ x }}{{ y }}{% endmacro %}{% macro q(y, x) %}q{{ x }}{{ y }}{% "
      "endmacro %}"
      "{% for m in [p, q, q, p] %}{{ m(y=1, x=2) }}{% endfor %}",
      "p21q21q21p21" },
    { "{% macro m(a) %}{{ a }}{{ caller() }}{% endmacro %}{% call m(a=1) %}x{% endcall %}", "1x" },
    { "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}", "False" },
    { "{% macro m(caller=7) %}{{ caller }}{% endmacro %}{{ m() }}{{ m(8) }}{{ m(caller=9) }}",
      "789" },
    { "{% macro m() %}{% endmacro %}{% call m() %}{% endcall %}",
      "!TypeError: macro 'm' was invoked with two values for the special caller argument. This is "
      "most likely a bug." },
    { "{% macro m() %}{% endmacro %}{{ m(k=1) }}",
      "!TypeError: macro 'm' takes no keyword argument 'k'" },
    { "{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}",
      "!TypeError: macro 'm' takes no keyword argument 'a'" },
    { "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
      "!TypeError: macro 'm' takes not more than 1 argument(s)" },
};

static void calls_pass_arguments_to_macros(void **state)
{
    TemplateSettings settings = template_settings_default();
    CHECK_ROWS(&settings, macros);
}

/* Values that outlive an output stay when the next one frees its memory. */
static const Row outputs[] = {
    { "{% for x in ['a', 'a', 'b'] %}{{ loop.changed(x ~ 1) }}{{ s | upper }}{{ s | title }} "
      "{% endfor %}",
      "TrueIT'SIt's FalseIT'SIt's TrueIT'SIt's " },
    { "{% set kept = [] %}{{ s | upper }}{{ kept.append(s ~ '!') }}{{ u | title | upper }}{{ kept "
      "}}",
      "IT'SNoneHÉLLO WÖRLD[\"it's!\"]" },
};

static void lasting_values_survive_an_output(void **state)
{
    TemplateSettings settings = template_settings_default();
    CHECK_ROWS(&settings, outputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_pass_arguments_to_macros),
        cmocka_unit_test(lasting_values_survive_an_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
