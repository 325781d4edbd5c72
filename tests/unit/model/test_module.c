#include "model/module.h"

#include "lang/yaml_fixture.h"
#include "model/module_fixture.h"

static void actions_are_found_by_their_full_name(void **state)
{
    const Module *module;
    const Action *action;
    assert_true(module_table_find(test_modules, STR("file.managed"), &module, &action));
    assert_string_equal(module->name, "file");
    assert_string_equal(action->name, "managed");
    assert_false(module_table_find(test_modules, STR("file.manged"), &module, &action));
    assert_string_equal(module->name, "file");
    assert_false(module_table_find(test_modules, STR("file"), &module, &action));
    assert_false(module_table_find(test_modules, STR("fil.managed"), &module, &action));
    assert_null(module);
    assert_non_null(module_table_find_module(test_modules, STR("cmd")));
}

static void a_mistyped_action_has_a_suggestion(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str near;
    assert_true(module_table_suggest(test_modules, STR("file.manged"), &arena, &near));
    assert_str(near, "file.managed");
    assert_false(module_table_suggest(test_modules, STR("nothing.alike"), &arena, &near));
}

static void parameters_are_found_by_position(void **state)
{
    const Module *module;
    const Action *action;
    assert_true(module_table_find(test_modules, STR("file.managed"), &module, &action));
    assert_int_equal(action_param_index(action, STR("name")), 0);
    assert_int_equal(action_param_index(action, STR("nam")), -1);
    assert_string_equal(action_id_params(module, action), "name");
    assert_true(id_params_include("name|pkgs", STR("pkgs")));
    assert_false(id_params_include("name|pkgs", STR("pkg")));
    assert_false(id_params_include(NULL, STR("name")));
}

typedef struct Row {
    ParamKind kind;
    const char *yaml;
    const char *expected; /* as shown by dump_value; or the error, if it starts with "must" */
    const char *choices;
} Row;

static void check_rows(const Row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_CLEAR(Loaded) loaded;
        loaded_read(&loaded, str_from_c(rows[i].yaml), NULL);
        assert_true(loaded.ok);
        ParamSpec spec = { .name = "it", .kind = rows[i].kind, .choices = rows[i].choices };
        Value out;
        Error err = { 0 };
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        if (param_convert(&loaded.arena, &loaded.sources, &spec, loaded.documents->items[0], &out,
                          &err)) {
            dump_value(out, &text);
        } else {
            buf_put_c(&text, err.text);
        }
        if (!str_eq_c(buf_str(&text), rows[i].expected)) {
            fail_msg("%s as %s gives %s", rows[i].yaml, param_kind_name(rows[i].kind),
                     buf_c(&text));
        }
    }
}

static void scalars_are_converted_as_the_row_requires(void **state)
{
    static const Row rows[] = {
        { PARAM_STRING, "abc", "'abc'" },
        { PARAM_STRING, "1.10", "'1.10'" },
        { PARAM_STRING, "0644", "'0644'" },
        { PARAM_STRING, "True", "'True'" },
        { PARAM_STRING, "[a]", "must be a string, not a list" },
        { PARAM_STRING, "!secret hunter2", "!'hunter2'" },
        { PARAM_STRING, "stoped",
          "must be 'started' or 'stopped', not 'stoped'; did you mean "
          "'stopped'?",
          "started|stopped" },
        { PARAM_STRING, "started", "'started'", "started|stopped" },
        { PARAM_INT, "17", "17" },
        { PARAM_INT, "'17'", "17" },
        { PARAM_INT, "1.5", "must be an integer, not 1.5" },
        { PARAM_INT, "many", "must be an integer, not 'many'" },
        { PARAM_INT, "!secret many", "must be an integer, not this secret" },
        { PARAM_BOOL, "true", "true" },
        { PARAM_BOOL, "yes", "true" },
        { PARAM_BOOL, "Off", "false" },
        { PARAM_BOOL, "1", "must be true or false, not 1" },
        { PARAM_DURATION, "15s", "15000" },
        { PARAM_DURATION, "15", "15000" },
        { PARAM_DURATION, "0.5", "500" },
        { PARAM_DURATION, "soon",
          "must be a duration in d, h, m, s or ms such as '15s' or '1h30m', not 'soon'" },
        { PARAM_DURATION, "5min",
          "must be a duration in d, h, m, s or ms such as '15s' or '1h30m', not '5min'; did you "
          "mean '5m'?" },
        { PARAM_DURATION, "-1",
          "must be a duration in d, h, m, s or ms such as '15s' or '1h30m', not -1" },
        { PARAM_ANY, "[1, {a: b}]", "[1, {'a': 'b'}]" },
    };
    check_rows(rows, COUNT_OF(rows));
}

static void modes_are_octal_however_they_are_quoted(void **state)
{
    static const Row rows[] = {
        { PARAM_MODE, "0644", "420" },
        { PARAM_MODE, "644", "420" },
        { PARAM_MODE, "'0644'", "420" },
        { PARAM_MODE, "\"644\"", "420" },
        { PARAM_MODE, "0o644", "420" },
        { PARAM_MODE, "'0o644'", "420" },
        { PARAM_MODE, "04755", "2541" },
        { PARAM_MODE, "0", "0" },
        { PARAM_MODE, "0888",
          "must be a file mode in octal digits, 0 to 7, such as '0644', not 888" },
        { PARAM_MODE, "u=rw",
          "must be a file mode in octal digits, 0 to 7, such as '0644', not 'u=rw'" },
        { PARAM_MODE, "-644",
          "must be a file mode in octal digits, 0 to 7, such as '0644', not -644" },
        { PARAM_MODE, "420",
          "must be a file mode in octal digits, such as '0644', or in quotes if the owner has "
          "fewer "
          "permissions than others, not 420" },
        { PARAM_MODE, "0420", "272" },
        { PARAM_MODE, "'420'", "272" },
        { PARAM_MODE, "511", "329" },
        { PARAM_MODE, "1777", "1023" },
        { PARAM_MODE, "27", "23" },
        { PARAM_MODE, "77777",
          "must be a file mode in octal digits, 0 to 7, such as '0644', not 77777" },
    };
    check_rows(rows, COUNT_OF(rows));
}

static void paths_are_absolute_and_clean(void **state)
{
    static const Row rows[] = {
        { PARAM_PATH, "/etc/motd", "'/etc/motd'" },
        { PARAM_PATH, "/etc//motd", "'/etc/motd'" },
        { PARAM_PATH, "/etc/./motd/", "'/etc/motd'" },
        { PARAM_PATH, "/etc/a/../motd", "'/etc/motd'" },
        { PARAM_PATH, "/../../etc", "'/etc'" },
        { PARAM_PATH, "/..", "'/'" },
        { PARAM_PATH, "/", "'/'" },
        { PARAM_PATH, "/etc/.hidden", "'/etc/.hidden'" },
        { PARAM_DESTINATION, "/etc//motd", "'/etc/motd'" },
        { PARAM_DESTINATION, "/etc/./motd/", "'/etc/motd/'" },
        { PARAM_DESTINATION, "//", "'/'" },
        { PARAM_DESTINATION, "etc/", "must be an absolute path, not 'etc/'" },
        { PARAM_FILE, "/etc//motd", "'/etc/motd'" },
        { PARAM_FILE, "/etc/motd/",
          "must be the path of a file, without '/' at the end, not '/etc/motd/'" },
        { PARAM_FILE, "/", "must be the path of a file, without '/' at the end, not '/'" },
        { PARAM_FILE, "etc/", "must be an absolute path, not 'etc/'" },
        { PARAM_PATH, "etc/motd", "must be an absolute path, not 'etc/motd'" },
        { PARAM_PATH, "17", "must be an absolute path, not 17" },
    };
    check_rows(rows, COUNT_OF(rows));
}

static void lists_and_maps_have_short_forms(void **state)
{
    static const Row rows[] = {
        { PARAM_STRINGS, "[a, 1.0]", "['a', '1.0']" },
        { PARAM_STRINGS, "a", "['a']" },
        { PARAM_STRINGS, "[[a]]", "must be a list of strings, not a list" },
        { PARAM_STRINGS, "{a: b}", "must be a list of strings, not a map" },
        { PARAM_MAP, "{a: 1, 2: b}", "{'a': 1, '2': 'b'}" },
        { PARAM_MAP, "[{a: 1}, {b: 2}]", "{'a': 1, 'b': 2}" },
        { PARAM_MAP, "[{a: 1, b: 2}]",
          "must be a map, or a list of maps with one key each, not a "
          "list" },
        { PARAM_MAP, "[{a: 1}, {a: 2}]", "has the duplicate key 'a'" },
        { PARAM_MAP, "a", "must be a map, not 'a'" },
        { PARAM_VERSIONS, "[a, b: 1.10, 3]", "{'a': null, 'b': '1.10', '3': null}" },
        { PARAM_VERSIONS, "{a: 1.0, b: }", "{'a': '1.0', 'b': null}" },
        { PARAM_VERSIONS, "a", "{'a': null}" },
        { PARAM_VERSIONS, "[a, a: 1]", "contains 'a' twice" },
        { PARAM_VERSIONS, "[a, '']", "has an empty name" },
        { PARAM_VERSIONS, "[[a]]",
          "must be a list of names, each alone or as 'name: version', not a list" },
        { PARAM_VERSIONS, "[a: [1]]",
          "must be a list of names, each alone or as 'name: version', not a list" },
        { PARAM_COMMAND, "ls -l", "'ls -l'" },
        { PARAM_COMMAND, "[ls, -l, 1]", "['ls', '-l', '1']" },
        { PARAM_COMMAND, "[]",
          "must be a command, as a string or as a list of strings, not an empty "
          "list" },
        { PARAM_COMMAND, "{a: b}",
          "must be a command, as a string or as a list of strings, not a map" },
    };
    check_rows(rows, COUNT_OF(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(actions_are_found_by_their_full_name),
        cmocka_unit_test(a_mistyped_action_has_a_suggestion),
        cmocka_unit_test(parameters_are_found_by_position),
        cmocka_unit_test(scalars_are_converted_as_the_row_requires),
        cmocka_unit_test(modes_are_octal_however_they_are_quoted),
        cmocka_unit_test(paths_are_absolute_and_clean),
        cmocka_unit_test(lists_and_maps_have_short_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
