#include "access/access_rules.h"

#include <stdlib.h>

#include "lang/json.h"
#include "unit.h"

static const Str verbs[] = { STR("get"),    STR("list"),   STR("watch"),  STR("create"),
                             STR("update"), STR("delete"), STR("approve") };
static const Str kinds[] = { STR("Node"), STR("Role"), STR("Token") };
static const AccessVocabulary known = { verbs, COUNT_OF(verbs), kinds, COUNT_OF(kinds) };

typedef struct World {
    Arena arena;
    RuleFaults faults;
    AccessDecision decision;
} World;

static int set_up(void **state)
{
    World *world = calloc(1, sizeof *world);
    arena_init(&world->arena, ARENA_UNLIMITED);
    world->faults.arena = &world->arena;
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    World *world = *state;
    arena_clear(&world->arena);
    free(world);
    return 0;
}

static Value json(World *world, const char *text)
{
    Value value;
    Error err = { 0 };
    if (!json_parse_text(&world->arena, str_from_c(text), NULL, &value, &err)) {
        fail_msg("%s: %s", text, err.text);
    }
    return value;
}

static bool parse(World *world, const char *name, const char *rules, const AccessVocabulary *words,
                  AccessRole *out)
{
    world->faults.count = 0;
    return access_role_parse(&world->arena, str_from_c(name), json(world, rules),
                             STR("/spec/rules"), words, out, &world->faults);
}

static AccessRole *role(World *world, const char *name, const char *rules)
{
    AccessRole *made = ARENA_NEW(&world->arena, AccessRole);
    if (!parse(world, name, rules, &known, made)) {
        fail_msg("%s: %.*s", rules, STR_ARG(world->faults.items[0].detail));
    }
    return made;
}

static AccessVerdict decide(World *world, const AccessRole *one, const AccessRole *other,
                            const char *verb, const char *kind)
{
    const AccessRole *roles[] = { one, other };
    access_decide(roles, other == NULL ? 1 : 2, str_from_c(verb), str_from_c(kind),
                  &world->decision);
    return world->decision.verdict;
}

static bool allows(World *world, const char *name, const char *labels)
{
    Value map = labels == NULL ? value_null() : json(world, labels);
    return access_decision_allows(&world->decision, str_from_c(name),
                                  labels == NULL ? NULL : map.map);
}

static void a_role_survives_a_round_trip(void **state)
{
    World *world = *state;
    const char *text = "[{\"verbs\":[\"get\",\"approve\"],\"kinds\":[\"Node\"],\"selector\":"
                       "\"role=web and !dc=fra\"},{\"verbs\":[\"*\"],\"kinds\":[\"*\"]}]";
    Buf out = buf_make_in(&world->arena, BUF_UNLIMITED);
    Error err;
    assert_true(
        json_print(&out, access_role_value(&world->arena, role(world, "x", text)), NULL, &err));
    assert_str(buf_str(&out), text);
}

static void errors_have_a_location(void **state)
{
    World *world = *state;
    static const struct {
        const char *rules, *pointer, *detail;
    } rows[] = {
        { "{}", "/spec/rules", "a list of rules" },
        { "[1]", "/spec/rules/0", "must be an object" },
        { "[{\"verbs\":[\"aprove\"],\"kinds\":[\"Node\"]}]", "/spec/rules/0/verbs/0",
          "did you mean 'approve'?" },
        { "[{\"verbs\":[\"fly\"],\"kinds\":[\"Node\"]}]", "/spec/rules/0/verbs/0",
          "expected *, get, list" },
        { "[{\"verbs\":[\"get\"],\"kinds\":[\"*\",\"node\"]}]", "/spec/rules/0/kinds/1",
          "did you mean 'Node'?" },
        { "[{\"verbs\":[\"get\"]}]", "/spec/rules/0/kinds", "a list of kinds" },
        { "[{\"verbs\":[],\"kinds\":[\"Node\"]}]", "/spec/rules/0/verbs", "a list of verbs" },
        { "[{\"verbs\":\"get\",\"kinds\":[\"Node\"]}]", "/spec/rules/0/verbs", "a list of verbs" },
        { "[{\"verbs\":[7],\"kinds\":[\"Node\"]}]", "/spec/rules/0/verbs/0", "must be a string" },
        { "[{\"verbs\":[\"a b\\u001b\"],\"kinds\":[\"Node\"]}]", "/spec/rules/0/verbs/0",
          "not 'a b\\x1b'" },
        { "[{\"verb\":[\"get\"],\"kinds\":[\"Node\"],\"verbs\":[\"get\"]}]", "/spec/rules/0",
          "did you mean 'verbs'?" },
        { "[{\"verbs\":[\"get\"],\"kinds\":[\"Node\"],\"selector\":\"(a\"}]",
          "/spec/rules/0/selector", "unmatched" },
        { "[{\"verbs\":[\"get\"],\"kinds\":[\"Node\"],\"selector\":\"server.os == 'x'\"}]",
          "/spec/rules/0/selector", "only names and labels" },
        { "[{\"verbs\":[\"get\"],\"kinds\":[\"Node\"],\"selector\":\"!(server.os == 'x')\"}]",
          "/spec/rules/0/selector", "only names and labels" },
        { "[{\"verbs\":[\"get\"],\"kinds\":[\"Node\"],\"selector\":5}]", "/spec/rules/0/selector",
          "must be a string" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AccessRole out;
        assert_false(parse(world, "x", rows[i].rules, &known, &out));
        assert_int_equal(world->faults.count, 1);
        assert_str(world->faults.items[0].pointer, rows[i].pointer);
        if (str_find(world->faults.items[0].detail, str_from_c(rows[i].detail), 0) ==
            STR_NOT_FOUND) {
            fail_msg("\"%s\" is not in \"%.*s\"", rows[i].detail,
                     STR_ARG(world->faults.items[0].detail));
        }
    }
}

static void all_errors_are_reported_at_once(void **state)
{
    World *world = *state;
    AccessRole out;
    assert_false(parse(world, "x",
                       "[{\"verbs\":[\"gte\"],\"kinds\":[\"Nod\"],\"selector\":\"a,b\"},{}]",
                       &known, &out));
    assert_int_equal(world->faults.count, 5);
}

static void records_of_other_versions_are_accepted(void **state)
{
    World *world = *state;
    AccessRole out;
    assert_true(parse(world, "x", "[{\"verbs\":[\"teleport\"],\"kinds\":[\"Ship\"]}]", NULL, &out));
    assert_int_equal(decide(world, &out, NULL, "teleport", "Ship"), ACCESS_ALLOWED);
    assert_false(parse(world, "x", "[{\"verbs\":[\"a b\"],\"kinds\":[\"Ship\"]}]", NULL, &out));
}

static void roles_are_bounded(void **state)
{
    World *world = *state;
    AccessRole out;
    Buf text = buf_make_in(&world->arena, BUF_UNLIMITED);
    buf_put_char(&text, '[');
    for (int i = 0; i <= ACCESS_RULES_MAX; i++) {
        buf_put_c(&text, i > 0 ? ",{}" : "{}");
    }
    buf_put_char(&text, ']');
    assert_false(parse(world, "x", buf_c(&text), &known, &out));
    assert_int_equal(world->faults.count, 1);
}

static void names_of_roles_are_plain(void **state)
{
    static const char *const bad[] = { "", "-a", "a-", "A", "a b", "a/b", "admin", "viewer", "ä" };
    Error err;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(access_role_name_check(str_from_c(bad[i]), &err));
    }
    assert_true(access_role_name_check(STR("web-team-2"), &err));
}

static void denials_name_the_missing_permission(void **state)
{
    World *world = *state;
    assert_int_equal(decide(world, &access_role_viewer, NULL, "approve", "Node"), ACCESS_DENIED);
    assert_string_equal(world->decision.reason,
                        "requires a role that allows 'approve' on Node; you have: viewer");
    assert_false(allows(world, "web1", NULL));
    assert_int_equal(
        decide(world, &access_role_viewer, role(world, "web-team", "[]"), "approve", "Node"),
        ACCESS_DENIED);
    assert_non_null(strstr(world->decision.reason, "you have: viewer, web-team"));
    access_decide(NULL, 0, STR("get"), STR("Node"), &world->decision);
    assert_int_equal(world->decision.verdict, ACCESS_DENIED);
    assert_non_null(strstr(world->decision.reason, "you have: none"));
}

static void built_in_roles_are_as_documented(void **state)
{
    World *world = *state;
    static const struct {
        const char *verb, *kind;
        bool viewer, operator;
    } rows[] = {
        { "get", "Node", true, true },           { "list", "Facts", true, true },
        { "watch", "Config", true, true },       { "delete", "Node", false, true },
        { "approve", "Node", false, true },      { "update", "Config", false, true },
        { "get", "Audit", false, true },         { "create", "Role", false, false },
        { "update", "Role", false, false },      { "get", "Key", false, false },
        { "delete", "Token", false, true },      { "create", "Token", false, true },
        { "get", "Backup", false, false },       { "create", "Audit", false, false },
        { "get", "Metrics", true, true },        { "rotate", "Certificate", false, false },
        { "issue", "Certificate", false, true }, { "get", "Token", false, true },
        { "delete", "Role", false, false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *verb = rows[i].verb, *kind = rows[i].kind;
        assert_int_equal(decide(world, &access_role_viewer, NULL, verb, kind),
                         rows[i].viewer ? ACCESS_ALLOWED : ACCESS_DENIED);
        assert_int_equal(decide(world, &access_role_operator, NULL, verb, kind),
                         rows[i].operator? ACCESS_ALLOWED : ACCESS_DENIED);
        assert_int_equal(decide(world, &access_role_admin, NULL, verb, kind), ACCESS_ALLOWED);
    }
    assert_ptr_equal(access_role_builtin(STR("admin")), &access_role_admin);
    assert_null(access_role_builtin(STR("root")));
}

static void selectors_narrow_and_any_match_suffices(void **state)
{
    World *world = *state;
    AccessRole *web = role(world, "web",
                           "[{\"verbs\":[\"delete\"],\"kinds\":[\"Node\"],\"selector\":"
                           "\"role=web\"}]");
    AccessRole *not_fra = role(world, "not-fra",
                               "[{\"verbs\":[\"*\"],\"kinds\":[\"Node\"],\"selector\":"
                               "\"db* and !dc=fra\"}]");
    assert_int_equal(decide(world, web, not_fra, "delete", "Node"), ACCESS_SELECTED);
    assert_int_equal(world->decision.selector_count, 2);
    assert_true(allows(world, "web1", "{\"role\":\"web\"}"));
    assert_true(allows(world, "db1", "{\"dc\":\"ams\"}"));
    assert_true(allows(world, "db1", NULL));
    assert_false(allows(world, "db1", "{\"dc\":\"fra\"}"));
    assert_false(allows(world, "web1", "{\"role\":\"webb\"}"));
    assert_false(allows(world, "web1", NULL));
    assert_non_null(strstr(world->decision.reason, "and selects this object"));
    assert_int_equal(decide(world, web, not_fra, "delete", "Role"), ACCESS_DENIED);
    /* A rule without a selector makes the others redundant. */
    assert_int_equal(decide(world, web, &access_role_operator, "delete", "Node"), ACCESS_ALLOWED);
    assert_true(allows(world, "any", NULL));
}

static bool covers(const AccessRole *holder, const AccessRole *wanted)
{
    Error err = { 0 };
    bool ok = access_covers(&holder, 1, wanted, &err);
    assert_int_equal(err.kind, ok ? ERROR_NONE : ERROR_DENIED);
    return ok;
}

static void callers_cannot_grant_more_than_they_have(void **state)
{
    World *world = *state;
#define NODE_RULE(verb, more) "[{\"verbs\":[\"" verb "\"],\"kinds\":[\"Node\"]" more "}]"
    AccessRole *get_all = role(world, "a", NODE_RULE("get", ""));
    AccessRole *any_all = role(world, "b", NODE_RULE("*", ""));
    AccessRole *get_web = role(world, "c", NODE_RULE("get", ",\"selector\":\"role=web\""));
    AccessRole *get_db = role(world, "d", NODE_RULE("get", ",\"selector\":\"role=db\""));
    AccessRole *get_role =
        role(world, "e", "[{\"verbs\":[\"get\"],\"kinds\":[\"Node\",\"Role\"]}]");
    AccessRole *get_every = role(world, "f", "[{\"verbs\":[\"get\"],\"kinds\":[\"*\"]}]");
    AccessRole *nothing = role(world, "g", "[]");
    assert_true(covers(get_all, get_all));
    assert_true(covers(any_all, get_all));
    assert_false(covers(get_all, any_all)); /* also future verbs */
    assert_true(covers(get_all, get_web));
    assert_true(covers(get_web, get_web));
    assert_false(covers(get_web, get_all));
    assert_false(covers(get_web, get_db));
    assert_false(covers(get_all, get_role));
    assert_true(covers(get_every, get_role));
    assert_false(covers(get_role, get_every));
    assert_true(covers(nothing, nothing));
    assert_false(covers(nothing, get_web));
    for (uint32_t i = 0; access_roles_builtin[i] != NULL; i++) {
        assert_true(covers(&access_role_admin, access_roles_builtin[i]));
    }
    assert_false(covers(&access_role_operator, &access_role_admin));
    assert_true(covers(&access_role_operator, &access_role_viewer));
    assert_false(covers(&access_role_viewer, &access_role_operator));
    Error err;
    const AccessRole *holder = get_web;
    assert_false(access_covers(&holder, 1, get_db, &err));
    assert_non_null(
        strstr(err.text, "'get' on Node (role=db), which you are not allowed to do yourself"));
    /* Two halves from different roles do not add up. */
    const AccessRole *both[] = { get_web, get_db };
    assert_true(access_covers(both, 2, get_db, &err));
    assert_false(access_covers(both, 2, get_all, &err));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Servers keep all roles in memory, parsed: short terms and words need the most. */
static void a_role_takes_memory_in_proportion_to_its_size(void **state)
{
    enum {
        TERMS = 142, /* the maximum of a selector */
        RATIO_MAX = 48,
    };
    World *world = *state;
    Arena own;
    AccessRole made;
    Buf text = buf_make_in(&world->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < ACCESS_RULES_MAX; i++) {
        buf_put_c(&text, i == 0 ? "[" : ",");
        buf_put_c(&text, "{\"verbs\":[\"get\"],\"kinds\":[\"Node\"],\"selector\":\"");
        for (uint32_t j = 0; j < TERMS; j++) {
            buf_put_c(&text, j == 0 ? "a=b" : " or a=b");
        }
        buf_put_c(&text, "\"}");
    }
    buf_put_c(&text, "]");
    arena_init(&own, ARENA_UNLIMITED);
    assert_true(access_role_parse(&own, STR("x"), json(world, buf_c(&text)), STR("/spec/rules"),
                                  &known, &made, &world->faults));
    assert_in_range(own.chunk_bytes, 1, RATIO_MAX * text.len);
    arena_clear(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_role_survives_a_round_trip),
        ROW(errors_have_a_location),
        ROW(all_errors_are_reported_at_once),
        ROW(records_of_other_versions_are_accepted),
        ROW(roles_are_bounded),
        ROW(a_role_takes_memory_in_proportion_to_its_size),
        ROW(names_of_roles_are_plain),
        ROW(denials_name_the_missing_permission),
        ROW(built_in_roles_are_as_documented),
        ROW(selectors_narrow_and_any_match_suffices),
        ROW(callers_cannot_grant_more_than_they_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
