#include "lang/template/names.h"

#include "base/buf.h"
#include "unit.h"

/* The names, separated by spaces. */
static void assert_names(const char *text, bool expression, const char *expected)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    List *names = list_new(&arena, 4);
    template_names(&arena, str_from_c(text), expression, names);
    Buf found = buf_make_in(&arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < names->len; i++) {
        buf_put(&found, i == 0 ? STR_EMPTY : STR(" "));
        buf_put(&found, value_str(names->items[i]));
    }
    assert_str(buf_str(&found), expected);
}

static void paths_are_reported_as_written(void **state)
{
    assert_names("no template", false, "");
    assert_names("{{ vars.a }} and {{ vars.b.c }}", false, "vars.a vars.b.c");
    assert_names("{{ vars['x-y'].z[0] }}", false, "vars['x-y'].z.0");
    assert_names("{% if vars.on %}{{ item.key }}{% endif %}", false, "vars.on item.key");
    assert_names("vars.a == 'b' and steps['s t'].Changed", true, "vars.a steps['s t'].Changed");
}

static void each_name_is_reported_once(void **state)
{
    assert_names("{{ vars.a + vars.a }}{{ vars.a }}", false, "vars.a");
}

static void calls_and_computed_keys_end_a_path(void **state)
{
    assert_names("{{ vars.a.items() }}", false, "vars.a");
    assert_names("{{ vars[key].b }}", false, "vars");
    assert_names("{{ macros['x'](1).vars.y }}", false, "macros['x']");
}

static void filters_and_keywords_are_not_names(void **state)
{
    assert_names("{{ vars.a | upper | default(vars.b) }}", false, "vars.a vars.b");
    assert_names("not vars.a or vars.b in [1]", true, "vars.a vars.b");
}

static void an_invalid_text_gives_the_names_before_the_error(void **state)
{
    assert_names("{{ vars.a }} {{ vars.b ? }}", false, "vars.a vars.b");
    assert_names("{{ vars.a.", false, "vars.a");
    assert_names("{{ vars['a", false, "vars");
    assert_names("\xff", false, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_reported_as_written),
        cmocka_unit_test(each_name_is_reported_once),
        cmocka_unit_test(calls_and_computed_keys_end_a_path),
        cmocka_unit_test(filters_and_keywords_are_not_names),
        cmocka_unit_test(an_invalid_text_gives_the_names_before_the_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
