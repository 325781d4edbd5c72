#include "modules/command_provides.h"

#include "base/buf.h"

#include "unit.h"

/* The classes of things that a command provides, one word for each kind. */
static const char *kind_of(Arena *arena, Value command, const char *shell)
{
    List *claims = list_new(arena, 8);
    command_provides(arena, command, str_from_c(shell), value_missing(), claims);
    bool files = false, accounts = false, packages = false, kernel = false, anything = false;
    for (uint32_t i = 0; i < claims->len; i++) {
        Str claim = value_str(claims->items[i]);
        files |= str_eq(claim, STR("provides:program"));
        accounts |= str_eq(claim, STR("provides:user"));
        packages |= str_eq(claim, STR("provides:removal"));
        kernel |= str_eq(claim, STR("provides:sysctl"));
        anything |= str_eq(claim, STR("provides:*"));
    }
    return arena_copy_c(arena,
                        arena_format(arena, "%s%s%s%s%s", files ? "f" : "", accounts ? "a" : "",
                                     packages ? "p" : "", kernel ? "k" : "", anything ? "*" : ""));
}

static void commands_are_split_like_a_shell_does(void **state)
{
    static const struct {
        const char *command, *kind;
    } rows[] = {
        { "", "" },
        { "   \n\t ", "" },
        { "echo hello", "" },
        { "echo 'a; useradd b' \"c && useradd d\"", "" },
        { "echo a\\;useradd b", "" },
        { "echo it\\'s; useradd b", "a" },
        { "true # ; useradd a", "" },
        { "true # a\nuseradd b", "a" },
        { "echo a#b; useradd c", "a" },
        { "\"echo\" a", "" },
        { "us''eradd a", "a" },
        { "echo a >/dev/null 2>&1", "" },
        { "echo a &>/dev/null", "" },
        { "echo a 2>/dev/null >b", "f" },
        { "echo a>>b", "f" },
        { "echo a >| b", "f" },
        { ">b echo a", "f" },
        { "cat <b", "" },
        { "<b useradd c", "a" },
        { "2>/dev/null useradd c", "a" },
        { "cat <<X\nuseradd\nX\n", "*" },
        { "cat <(useradd a)", "*" },
        { "A=b C='d e' useradd f", "a" },
        { "A=b", "" },
        { "a=b echo x; mkdir y", "f" },
        { "echo a | tee b", "f" },
        { "echo a & useradd b", "a" },
        { "true||useradd a", "a" },
        { "echo `useradd a`", "*" },
        { "echo '`useradd a`'", "" },
        { "echo $(useradd a)", "a" },
        { "echo \"$(useradd a)\"", "a" },
        { "echo $HOME", "" },
        { "$TOOL a", "*" },
        { "(useradd a)", "a" },
        { "{ useradd a; }", "a" },
        { "! useradd a", "a" },
        { "if true; then useradd a; fi", "a" },
        { "sudo useradd a", "*" },
        { "if [ -e /a ]; then echo b; else cat c; fi", "" },
        { "for i in useradd b; do echo $i; done", "" },
        { "for i in a; do mkdir $i; done > b", "f" },
        { "while read a; do useradd $a; done < b", "a" },
        { "case a in a) true;; esac", "*" },
        { "f() { true; }; f", "*" },
        { "echo() { useradd a; }; echo", "*" },
        { "echo $(date) > $(mktemp)", "f" },
        { "echo $((1 + 2))", "" },
        { "$(which useradd) a", "*" },
        { "echo \"$(cat 'a)' | useradd b)\"", "a" },
        { "A=$(useradd b)", "a" },
        { "sh -c 'echo a'", "" },
        { "bash -ec \"useradd a\"", "a" },
        { "sh -c \"$(cat a)\"", "*" },
        { "sh -c \"$COMMAND\"", "*" },
        { "sh a.sh", "*" },
        { "curl a | sh", "f*" },
        { "sh -c 'sh -c \"mkdir a\"'", "f" },
        { "systemctl daemon-reload", "f" },
        { "systemctl --quiet is-active a && echo b", "" },
        { "systemctl restart a", "*" },
        { "systemctl enable a", "f" },
        { "systemctl enable --now a", "f*" },
        { "systemctl --now enable a", "*" },
        { "systemctl", "*" },
        { "echo 1 > /sys/bus/pci/rescan", "*" },
        { "echo 1 | tee /proc/sys/x", "*" },
        { "echo 1 | tee /sys/x copy", "*" },
        { "cat /proc/mounts", "" },
        { "((a++))", "*" },
        { "echo $(", "" },
        { "./echo", "*" },
        { "/opt/bin/echo", "*" },
        { "/bin/echo a", "" },
        { "/usr/sbin/modprobe a", "k" },
        { "apt-get install a", "fap" },
        { "sed -i s/a/b/ /etc/group", "fa" },
        { "cat /etc/passwd", "" },
        { "echo 'a", "*" },
        { "echo a\\", "" },
        { "echo;", "" },
        { "echo a >", "" },
        { "ech", "*" },
    };
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Value command = value_string(str_from_c(rows[i].command));
        const char *kind = kind_of(&arena, command, "/bin/sh");
        if (strcmp(kind, rows[i].kind) != 0) {
            fail_msg("'%s' provides '%s', not '%s'", rows[i].command, kind, rows[i].kind);
        }
    }
    arena_clear(&arena);
}

static void lists_and_other_shells_are_not_split(void **state)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    List *words = list_new(&arena, 2);
    Value list = value_list(words);
    assert_string_equal(kind_of(&arena, list, ""), "*");
    list_push(&arena, words, value_string(STR("echo")));
    list_push(&arena, words, value_string(STR("; useradd")));
    assert_string_equal(kind_of(&arena, list, ""), "");
    Value text = value_string(STR("echo"));
    assert_string_equal(kind_of(&arena, text, ""), "");
    assert_string_equal(kind_of(&arena, text, "/bin/bash"), "");
    assert_string_equal(kind_of(&arena, text, "/usr/bin/perl"), "*");
    assert_string_equal(kind_of(&arena, value_missing(), ""), "*");
    arena_clear(&arena);
}

static void creates_limits_what_an_unknown_program_provides(void **state)
{
    static const struct {
        const char *command, *creates, *claims;
    } rows[] = {
        { "./setup", "/opt/app/done",
          "provides:path:/opt/app/done provides:path:/opt/app/done/ provides:path:/opt/app/" },
        { "./setup", "/app", "provides:path:/app provides:path:/app/" },
        { "./setup", "/opt/bin/app",
          "provides:path:/opt/bin/app provides:path:/opt/bin/app/ provides:path:/opt/bin/ "
          "provides:program" },
        { "./setup", "/etc/systemd/system/a.service",
          "provides:path:/etc/systemd/system/a.service "
          "provides:path:/etc/systemd/system/a.service/ provides:path:/etc/systemd/system/ "
          "provides:unit" },
        { "useradd a", "/home/a", "provides:user provides:group provides:path" },
        { "echo a", "/home/a", "" },
    };
    AUTO_CLEAR(Arena) memory;
    Arena *arena = &memory;
    arena_init(arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        List *creates = list_new(arena, 1), *claims = list_new(arena, 8);
        list_push(arena, creates, value_string(str_from_c(rows[i].creates)));
        command_provides(arena, value_string(str_from_c(rows[i].command)), STR("/bin/sh"),
                         value_list(creates), claims);
        Buf text = buf_make_in(arena, BUF_UNLIMITED);
        for (uint32_t k = 0; k < claims->len; k++) {
            buf_put_c(&text, k == 0 ? "" : " ");
            buf_put(&text, value_str(claims->items[k]));
        }
        assert_str(buf_str(&text), rows[i].claims);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_split_like_a_shell_does),
        cmocka_unit_test(lists_and_other_shells_are_not_split),
        cmocka_unit_test(creates_limits_what_an_unknown_program_provides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
