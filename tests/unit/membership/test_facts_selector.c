#include "membership/facts_selector.h"

#include "unit.h"

static FactsSelector *parse(const char *text)
{
    FactsSelector *selector;
    Error err;
    if (!facts_selector_parse(str_from_c(text), &selector, &err)) {
        fail_msg("%s", err.text);
    }
    return selector;
}

static bool selects(const char *text, const char *role, const char *digest)
{
    AUTO(FactsSelector) *selector = parse(text);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Map *labels = map_new(&arena, 1);
    map_set_str(&arena, labels, STR("role"), value_string(str_from_c(role)));
    return facts_selector_matches(selector, STR("web1"), value_map(labels), str_from_c(digest));
}

static void names_labels_and_facts_select_together(void **state)
{
    static const char facts[] = "{\"os\":\"debian\",\"cpus\":4,\"memory\":{\"total\":1024}}";
    assert_true(selects("server.os == 'debian'", "web", facts));
    assert_false(selects("server.os == 'fedora'", "web", facts));
    assert_true(selects("role=web and server.cpus >= 4 and web*", "web", facts));
    assert_false(selects("role=db and server.cpus >= 4", "web", facts));
    assert_true(selects("role=db or server.memory.total > 1000", "web", facts));
    assert_true(selects("role=web", "web", facts));
}

static void missing_facts_select_nothing(void **state)
{
    static const char *const digests[] = { "", "{}", "damaged", "{\"cpus\":4}", "[]", "7" };
    for (size_t i = 0; i < COUNT_OF(digests); i++) {
        assert_false(selects("server.os == 'debian'", "web", digests[i]));
        assert_false(selects("!(server.os == 'debian')", "web", digests[i]));
        assert_true(selects("role=web or server.os == 'debian'", "web", digests[i]));
    }
}

static void errors_are_reported(void **state)
{
    static const struct {
        const char *text, *chunk;
    } rows[] = {
        { "server.oss == 'debian'", "os_family" },
        { "server.disks.vda == 1", "package_manager" },
        { "role == 'web'", "write 'role=web'" },
        { "role=web adn dc=fra", "did you mean 'and'?" },
        { "server.os ==", "" },
        { "range(100000000) | list | length > server.cpus", "cannot be evaluated" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        FactsSelector *selector;
        Error err;
        assert_false(facts_selector_parse(str_from_c(rows[i].text), &selector, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
        if (strstr(err.text, rows[i].chunk) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", rows[i].chunk, err.text);
        }
    }
}

static void only_expressions_need_facts(void **state)
{
    AUTO(FactsSelector) *plain = parse("role=web and !(web1 or dc=fra)");
    AUTO(FactsSelector) *pending = parse("role=web and !(web1 or server.cpus > 3)");
    assert_false(facts_selector_uses_facts(plain));
    assert_true(facts_selector_uses_facts(pending));
}

static void work_is_counted(void **state)
{
    static const char *const rows[] = {
        "role=web or server.cpus > 3",
        "role=db or server.cpus > 3",
        "role=db or server.cpus > 3 or server.cpus > 2",
        "role=db or server.cpus > (range(100) | list | length)",
    };
    uint64_t before = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO(FactsSelector) *selector = parse(rows[i]);
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        Map *labels = map_new(&arena, 1);
        map_set_str(&arena, labels, STR("role"), value_string(STR("web")));
        uint64_t tried = facts_selector_steps(selector); /* on a sample */
        (void)facts_selector_matches(selector, STR("web1"), value_map(labels), STR("{\"cpus\":1}"));
        uint64_t steps = facts_selector_steps(selector) - tried;
        assert_true(i == 0 ? steps == 0 : steps > before);
        before = steps;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_labels_and_facts_select_together),
        cmocka_unit_test(missing_facts_select_nothing),
        cmocka_unit_test(errors_are_reported),
        cmocka_unit_test(only_expressions_need_facts),
        cmocka_unit_test(work_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
