#include "model/selector.h"

#include "lang/yaml_fixture.h"

typedef struct World {
    Loaded loaded;
    Templates *templates;
    Rendered rendered;
    const Selector *selector;
    bool ok;
} World;

static void world_clear(World *world)
{
    rendered_clear(&world->rendered);
    templates_free(world->templates);
    loaded_clear(&world->loaded);
}
DEFINE_AUTO_CLEAR(World, world_clear)

static void world_parse(World *world, const char *yaml)
{
    loaded_read(&world->loaded, str_from_c(yaml), NULL);
    assert_true(world->loaded.ok);
    TemplateSettings settings = dynamic_template_settings();
    world->templates = templates_new(&settings);
    world->rendered = rendered_make(&settings.limits);
    world->ok = selector_parse(&world->loaded.arena, world->templates, &world->loaded.sources,
                               world->loaded.documents->items[0], &world->selector,
                               &world->loaded.problems);
}

static DynamicOutcome evaluate(void *context, const Dynamic *expression, Value *out)
{
    World *world = context;
    Map *server = map_new(&world->loaded.arena, 2);
    map_set_str(&world->loaded.arena, server, STR("os"), value_string(STR("debian")));
    map_set_str(&world->loaded.arena, server, STR("cpus"), value_int(4));
    Map *scope = map_new(&world->loaded.arena, 1);
    map_set_str(&world->loaded.arena, scope, STR("server"), value_map(server));
    return dynamic_evaluate(expression, value_map(scope), &world->loaded.sources, &world->rendered,
                            &world->loaded.arena, out, &world->loaded.problems);
}

static bool world_match(World *world, bool *out)
{
    Map *labels = map_new(&world->loaded.arena, 4);
    map_set_str(&world->loaded.arena, labels, STR("role"), value_string(STR("kubernetes-master")));
    map_set_str(&world->loaded.arena, labels, STR("dc"), value_string(STR("fra")));
    map_set_str(&world->loaded.arena, labels, STR("kubernetes.io/kubeadm-master"),
                value_string(STR_EMPTY));
    SelectorSubject subject = { .name = STR("web01"),
                                .fqdn = STR("web01.example.com"),
                                .labels = labels,
                                .evaluate = evaluate,
                                .context = world };
    return selector_match(world->selector, &subject, out);
}

static void selectors_match_the_node(void **state)
{
    static const struct {
        const char *yaml;
        bool matches;
    } rows[] = {
        { "'*'", true },
        { "web01", true },
        { "web02", false },
        { "web*", true },
        { "web[0-9][0-9]", true },
        { "'*.example.com'", true },
        { "role=kubernetes-master", true },
        { "role=kubernetes-*", true },
        { "role=web", false },
        { "role=", false },
        { "role=*", true },
        { "kubernetes.io/kubeadm-master=", true },
        { "absent=", false },
        { "absent=*", false },
        { "'!role=web'", true },
        { "'! role=kubernetes-*'", false },
        { "not role=web", true },
        { "role!=web", true },
        { "'!absent=*'", true },
        { "dc=fra and web01", true },
        { "dc=ams or dc=fra", true },
        { "dc=ams and dc=fra or web01", true },
        { "dc=ams and (dc=fra or web01)", false },
        { "(dc=fra or web01) and '*' == '*'", true },
        { "'!(dc=ams or dc=ber) and role=kubernetes-*'", true },
        { "server.os == 'debian'", true },
        { "server.os != 'debian'", false },
        { "server.cpus > (1 + 2) and dc=fra", true },
        { "\"server.os in ['debian', 'a and b'] and !dc=ams\"", true },
        { "(server.os == 'debian')", true },
        { "\"'and' == 'or'\"", false },
        { "server.os!='debian'", false },
        { "server.os != 'a,b'", true },
        { "server.os != 'it\\'s'", true },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(World) world = { 0 };
        world_parse(&world, rows[i].yaml);
        bool matches = false;
        if (!world.ok || !world_match(&world, &matches) || matches != rows[i].matches) {
            AUTO_CLEAR(Buf) reported = buf_make(BUF_UNLIMITED);
            problems_print(&world.loaded.problems, (ProblemStyle){ 0 }, &reported);
            fail_msg("%s: ok %d, matches %d\n%s", rows[i].yaml, world.ok, matches,
                     buf_c(&reported));
        }
    }
}

static void invalid_selectors_are_reported_at_their_location(void **state)
{
    static const struct {
        const char *yaml, *code, *part;
        uint32_t column;
    } rows[] = {
        { "''", "E0501", "is incomplete", 2 },
        { "17", "E0501", "must be a string, not a int", 1 },
        { "role=web and", "E0501", "is incomplete", 13 },
        { "(role=web", "E0501", "unmatched opening", 1 },
        { "role=web)", "E0501", "unmatched closing", 9 },
        { "a and () or b", "E0501", "is expected here", 8 },
        { "web1,web2", "E0501", "commas are not allowed", 5 },
        { "role=web adn dc=fra", "E0501", "instead of 'adn'", 10 },
        { "role=web dc=fra", "E0501", "is expected before this", 10 },
        { "(role=web) dc=fra", "E0501", "is expected before this", 12 },
        { "(role=web or (dc=fra) x)", "E0501", "is expected before this", 23 },
        { "role = web", "E0501", "spaces around", 6 },
        { "role='web'", "E0501", "must not be quoted", 6 },
        { "role='web", "E0501", "unmatched quote", 6 },
        { "role=~web", "E0501", "'=~'", 5 },
        { "role == web", "E0501", "a single '='", 6 },
        { "role == 'web'", "E0501", "a single '='", 6 },
        { "role in (web, db)", "E0501", "'in' is not a valid operator", 6 },
        { "dc=fra and role notin (web)", "E0501", "'notin' is not a valid operator", 17 },
        { "role:web", "E0501", "separated by '='", 5 },
        { "all", "E0501", "a node name", 1 },
        { "=web", "E0501", "name of the label is missing", 1 },
        { "\"dc=fra and server.os == == 1\"", "E0201", "unexpected", 26 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(World) world = { 0 };
        world_parse(&world, rows[i].yaml);
        assert_false(world.ok);
        const Problem *problem = &world.loaded.problems.items[0];
        if (world.loaded.problems.count != 1 || !str_eq_c(problem->code, rows[i].code) ||
            str_find(problem->message, str_from_c(rows[i].part), 0) == STR_NOT_FOUND ||
            problem->column != rows[i].column) {
            AUTO_CLEAR(Buf) reported = buf_make(BUF_UNLIMITED);
            problems_print(&world.loaded.problems, (ProblemStyle){ 0 }, &reported);
            fail_msg("%s gives\n%s", rows[i].yaml, buf_c(&reported));
        }
    }
}

static void a_failing_expression_fails_the_match(void **state)
{
    AUTO_CLEAR(World) world = { 0 };
    world_parse(&world, "server.oss == 'debian'");
    assert_true(world.ok);
    bool matches;
    assert_false(world_match(&world, &matches));
    assert_int_equal(world.loaded.problems.count, 1);
    assert_int_equal(world.loaded.problems.items[0].column, 8);
}

static void nesting_is_bounded(void **state)
{
    char deep[3000];
    memset(deep, '!', sizeof deep);
    deep[0] = '"';
    memcpy(deep + sizeof deep - 3, "a\"", 3);
    AUTO_CLEAR(World) world = { 0 };
    world_parse(&world, deep);
    assert_false(world.ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selectors_match_the_node),
        cmocka_unit_test(invalid_selectors_are_reported_at_their_location),
        cmocka_unit_test(a_failing_expression_fails_the_match),
        cmocka_unit_test(nesting_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
