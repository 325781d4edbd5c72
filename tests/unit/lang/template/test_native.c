#include "lang/template/native.h"

#include "unit.h"

typedef const Native *(*Find)(Str name);

static void check_rows(const Native *const *tables, Find find, bool filtered)
{
    for (; *tables != NULL; tables++) {
        for (const Native *row = *tables; row->name != NULL; row++) {
            /* A row that the build did not index, or a duplicate name, would fail here. */
            assert_ptr_equal(find(str_from_c(row->name)), row);
            assert_non_null(row->call);
            assert_non_null(row->help);
            assert_non_null(row->example);
            assert_non_null(row->output);
            assert_true(strlen(row->help) > 5);
            assert_int_equal(row->help[strlen(row->help) - 1], '.');
            assert_true(!filtered || native_param_count(row) > 0);
            if ((row->flags & NATIVE_ALIAS) != 0) {
                assert_ptr_equal(row->call, row[-1].call);
            }
        }
    }
}

static void every_row_is_found_by_its_name(void **state)
{
    check_rows(filter_tables, filter_find, true);
    check_rows(test_tables, test_find, true);
    check_rows(global_tables, global_find, false);
}

static void other_names_are_not_found(void **state)
{
    assert_null(filter_find(STR("uper")));
    assert_null(filter_find(STR("")));
    assert_null(filter_find(STR("upper\0")));
    assert_null(filter_find(STR("uppe")));
    assert_null(test_find(STR("upperr")));
    assert_null(global_find(STR("upper")));
    assert_non_null(test_find(STR("==")));
}

static void a_similar_name_is_suggested(void **state)
{
    Str nearest;
    assert_true(filter_suggest(STR("uper"), &nearest));
    assert_str(nearest, "upper");
    assert_true(test_suggest(STR("define"), &nearest));
    assert_str(nearest, "defined");
    assert_false(filter_suggest(STR("zzzzzzzz"), &nearest));
}

static Str signature(const Native *native, bool without_first, Buf *buf)
{
    buf_reset(buf);
    native_put_signature(native, without_first, buf);
    return buf_str(buf);
}

static void a_row_describes_itself(void **state)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    assert_str(signature(filter_find(STR("upper")), true, &text), "upper");
    assert_str(signature(filter_find(STR("indent")), true, &text),
               "indent(width=4, first=false, blank=false)");
    assert_str(signature(filter_find(STR("replace")), true, &text),
               "replace(old, new, count=none)");
    assert_str(signature(filter_find(STR("map")), true, &text), "map(..., name=...)");
    assert_str(signature(global_find(STR("joiner")), false, &text), "joiner(sep=', ')");
    assert_str(signature(global_find(STR("cycler")), false, &text), "cycler(...)");

    static const Native row = { .name = "twice", .params = { { "value" }, { "times", "2" } } };
    assert_str(signature(&row, true, &text), "twice(times=2)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_found_by_its_name),
        cmocka_unit_test(other_names_are_not_found),
        cmocka_unit_test(a_similar_name_is_suggested),
        cmocka_unit_test(a_row_describes_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
