#include "model/foreign.h"

#include "model/module_fixture.h"

static void a_foreign_term_gets_a_hint(void **state)
{
    assert_str(foreign_word(test_modules, FOREIGN_ACTION, STR_EMPTY, STR("file.append")),
               "write 'file.line' for one line, 'file.block' for several");
    assert_str(foreign_word(test_modules, FOREIGN_PARAMETER, STR("file.managed"), STR("user")),
               "write 'owner'");
    assert_str(foreign_word(test_modules, FOREIGN_OPTION, STR_EMPTY, STR("dry-run")),
               "use 'eden plan'");
    assert_true(foreign_word(test_modules, FOREIGN_KEY, STR("a step"), STR("with_items")).len > 0);
}

static void a_term_counts_only_in_its_context(void **state)
{
    assert_int_equal(foreign_word(test_modules, FOREIGN_PARAMETER, STR("cmd.run"), STR("user")).len,
                     0);
    assert_int_equal(foreign_word(test_modules, FOREIGN_KEY, STR("'retry'"), STR("when")).len, 0);
    assert_int_equal(foreign_word(test_modules, FOREIGN_OPTION, STR_EMPTY, STR("apply")).len, 0);
}

static void hints_never_name_a_missing_action(void **state)
{
    assert_str(foreign_word(test_modules, FOREIGN_TASK, STR_EMPTY, STR("apt")),
               "write 'pkg.installed', 'pkg.latest' or 'pkg.removed'");
    static const Module *const none[] = { NULL };
    assert_int_equal(foreign_word(none, FOREIGN_TASK, STR_EMPTY, STR("apt")).len, 0);
}

/* The document as one map or list of maps, with these keys and nulls. */
static Value map_of(Arena *arena, const char *key, Value value)
{
    Map *map = map_new(arena, 1);
    map_set_str(arena, map, str_from_c(key), value);
    return value_map(map);
}

static Value list_of(Arena *arena, Value item)
{
    List *list = list_new(arena, 1);
    list_push(arena, list, item);
    return value_list(list);
}

static void foreign_documents_are_recognized(void **state)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value none = value_null(), empty = value_list(list_new(&arena, 1));
    const struct {
        Value document;
        const char *word; /* that the message has; NULL: there is none */
    } cases[] = {
        { list_of(&arena, map_of(&arena, "hosts", none)), "playbook" },
        { list_of(&arena, map_of(&arena, "copy", none)), "tasks" },
        { list_of(&arena, map_of(&arena, "ansible.posix.mount", none)), "tasks" },
        { map_of(&arena, "nginx", map_of(&arena, "pkg.installed", empty)), "Salt" },
        { map_of(&arena, "nginx", map_of(&arena, "pkg.installed", none)), "Salt" },
        { map_of(&arena, "nginx", map_of(&arena, "installed", empty)), NULL },
        { map_of(&arena, "files", map_of(&arena, "etc/a.conf", empty)), NULL },
        { list_of(&arena, map_of(&arena, "name", none)), NULL },
        { list_of(&arena, none), NULL },
        { empty, NULL },
        { none, NULL },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Str reported = foreign_document(cases[i].document);
        if (cases[i].word == NULL) {
            assert_int_equal(reported.len, 0);
        } else {
            assert_true(str_find(reported, str_from_c(cases[i].word), 0) != STR_NOT_FOUND);
        }
    }
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_foreign_term_gets_a_hint),
        cmocka_unit_test(a_term_counts_only_in_its_context),
        cmocka_unit_test(hints_never_name_a_missing_action),
        cmocka_unit_test(foreign_documents_are_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
