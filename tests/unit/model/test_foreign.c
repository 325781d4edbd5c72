#include "model/foreign.h"

#include "model/module_fixture.h"

static void a_word_of_others_is_told_what_to_write(void **state)
{
    assert_str(foreign_word(test_modules, FOREIGN_ACTION, STR_EMPTY, STR("file.append")),
               "write 'file.line' for one line, 'file.block' for several");
    assert_str(foreign_word(test_modules, FOREIGN_PARAMETER, STR("file.managed"), STR("user")),
               "write 'owner'");
    assert_str(foreign_word(test_modules, FOREIGN_OPTION, STR_EMPTY, STR("dry-run")),
               "'eden plan' does that");
    assert_true(foreign_word(test_modules, FOREIGN_KEY, STR("a step"), STR("with_items")).len > 0);
}

static void a_word_counts_only_in_its_place(void **state)
{
    assert_int_equal(foreign_word(test_modules, FOREIGN_PARAMETER, STR("cmd.run"), STR("user")).len,
                     0);
    assert_int_equal(foreign_word(test_modules, FOREIGN_KEY, STR("'retry'"), STR("when")).len, 0);
    assert_int_equal(foreign_word(test_modules, FOREIGN_OPTION, STR_EMPTY, STR("apply")).len, 0);
}

static void nobody_is_sent_to_an_action_that_is_not_there(void **state)
{
    assert_str(foreign_word(test_modules, FOREIGN_KEY, STR("a step"), STR("apt")),
               "write 'pkg.installed'");
    static const Module *const none[] = { NULL };
    assert_int_equal(foreign_word(none, FOREIGN_KEY, STR("a step"), STR("apt")).len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_of_others_is_told_what_to_write),
        cmocka_unit_test(a_word_counts_only_in_its_place),
        cmocka_unit_test(nobody_is_sent_to_an_action_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
