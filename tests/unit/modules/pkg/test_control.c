#include "modules/pkg/control.h"

#include "unit.h"

static void empty_lines_separate_paragraphs(void **state)
{
    Str rest = STR("\n\nA: 1\nB: 2\n \t\n\nC: 3"), paragraph;
    assert_true(control_next_paragraph(&rest, &paragraph));
    assert_str(paragraph, "A: 1\nB: 2");
    assert_true(control_next_paragraph(&rest, &paragraph));
    assert_str(paragraph, "C: 3");
    assert_false(control_next_paragraph(&rest, &paragraph));
    rest = STR("\n \n\n");
    assert_false(control_next_paragraph(&rest, &paragraph));
    rest = STR_EMPTY;
    assert_false(control_next_paragraph(&rest, &paragraph));
}

static void fields_can_have_continuation_lines(void **state)
{
    Str rest = STR("Package: vim\nDescription: an editor\n of many\n .\n words\n# remark\n"
                   "nonsense\n: no name\nEmpty:\nLast:x");
    Str name, value;
    assert_true(control_next_field(&rest, &name, &value));
    assert_str(name, "Package");
    assert_str(value, "vim");
    assert_true(control_next_field(&rest, &name, &value));
    assert_str(value, "an editor\n of many\n .\n words");
    assert_true(control_next_field(&rest, &name, &value));
    assert_str(name, "Empty");
    assert_str(value, "");
    assert_true(control_next_field(&rest, &name, &value));
    assert_str(name, "Last");
    assert_str(value, "x");
    assert_false(control_next_field(&rest, &name, &value));
}

static void fields_are_case_insensitive(void **state)
{
    Str value;
    assert_true(control_find(STR("Types: deb\nsigned-by: key"), STR("Signed-By"), &value));
    assert_str(value, "key");
    assert_false(control_find(STR("Types: deb"), STR("Type"), &value));
}

static void names_are_read_without_conditions(void **state)
{
    Str rest = STR("libc6 (>= 2.34), libgcc-s1 (>= 3.0) | gcc:any [amd64], , g++"), name;
    static const char *const names[] = { "libc6", "libgcc-s1", "gcc", "g++" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_true(control_next_name(&rest, &name));
        assert_str(name, names[i]);
    }
    assert_false(control_next_name(&rest, &name));
    rest = STR("(((");
    assert_false(control_next_name(&rest, &name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_lines_separate_paragraphs),
        cmocka_unit_test(fields_can_have_continuation_lines),
        cmocka_unit_test(fields_are_case_insensitive),
        cmocka_unit_test(names_are_read_without_conditions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
