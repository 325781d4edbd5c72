#include "base/shell.h"

#include "unit.h"

static void words_are_quoted_if_the_shell_requires_it(void **state)
{
    static const struct {
        Str word;
        const char *quoted;
    } rows[] = {
        { STR("/srv/site"), "/srv/site" },
        { STR("role=web"), "role=web" },
        { STR(""), "''" },
        { STR("a b"), "'a b'" },
        { STR("it's"), "'it'\\''s'" },
        { STR("$HOME;`id`"), "'$HOME;`id`'" },
        { STR("~"), "'~'" },
        { STR("*"), "'*'" },
        { STR("back\\slash"), "'back\\slash'" },
        { STR("two\nlines"), "$'two\\012lines'" },
        { STR("\t'\\"), "$'\\011\\'\\\\'" },
        { STR("\xc3\xa4"), "'\xc3\xa4'" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        shell_put_word(&out, rows[i].word);
        assert_string_equal(buf_c(&out), rows[i].quoted);
    }
}

static void quoting_preserves_every_byte_in_every_shell(void **state)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    shell_put_quoted(&out, STR("a\n';id #"));
    assert_string_equal(buf_c(&out), "'a\n'\\'';id #'");
}

static void variable_names_follow_the_shell(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    assert_str(shell_variable(&arena, STR("password")), "password");
    assert_str(shell_variable(&arena, STR("db.pass-word")), "db_pass_word");
    assert_str(shell_variable(&arena, STR("2nd")), "_2nd");
    assert_str(shell_variable(&arena, STR("")), "_");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_quoted_if_the_shell_requires_it),
        cmocka_unit_test(quoting_preserves_every_byte_in_every_shell),
        cmocka_unit_test(variable_names_follow_the_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
