/* Layers, merging, lazy values and cycles; as specified for sites in DESIGN. */
#include "run/variables.h"

#include "run/site_world.h"

static Str get(SiteWorld *world, const char *path)
{
    Value value;
    problems_init(&world->dir->problems, &world->dir->arena);
    return variables_get(scope_variables(world->scope), str_from_c(path), &value)
               ? test_dir_json(world->dir, value)
               : test_dir_problems(world->dir);
}

/* The site with these variables, loaded. */
static SiteWorld *with_variables(void **state, const char *text)
{
    SiteWorld *world = *state;
    put_variables(world, text);
    assert_true(world_load(world));
    return world;
}

static void later_layers_take_precedence_and_maps_merge(void **state)
{
    SiteWorld *world = *state;
    test_dir_put(world->dir, "variables/base.yaml",
                 "files:\n"
                 "  '*': [{name: one}]\n"
                 "  'role=web': [{name: two}]\n"
                 "  'role=db': [{name: none}]\n"
                 "  web*: [{name: three}]\n");
    test_dir_put(world->dir, "variables/one.yaml",
                 "map: {a: 1, deep: {x: 1, y: 2}, list: [1, 2]}\nscalar: 1\nturns: {into: 1}\n");
    test_dir_put(world->dir, "variables/two.yaml",
                 "map: {a: 2, deep: {y: 3}, list: [9]}\nturns: scalar\nblank: kept\n");
    test_dir_put(world->dir, "variables/three.yaml",
                 "map: {deep: {z: 4}, a: }\nblank:\nnil: null\nscalar: ~\n");
    world->labels[0] = "role=web";
    assert_true(world_load(world));
    assert_str(get(world, "map"), "{\"a\":2,\"deep\":{\"x\":1,\"y\":3,\"z\":4},\"list\":[9]}");
    assert_str(get(world, "turns"), "\"scalar\"");
    assert_str(get(world, "blank"), "\"kept\"");
    assert_str(get(world, "nil"), "null");
    assert_str(get(world, "scalar"), "null");
}

static void the_first_existing_path_is_used(void **state)
{
    SiteWorld *world = *state;
    test_dir_put(
        world->dir, "variables/base.yaml",
        "files:\n"
        "  '*':\n"
        "    - name: net\n"
        "      paths: ['net/{{ server.fqdn }}.yaml', 'net/{{ server.os }}.yaml', net/all.yaml]\n"
        "    - name: more\n"
        "      merge: all\n"
        "      paths: [net/none.yaml, 'net/{{ server.os }}.yaml', net/all.yaml]\n"
        "    - name: absent\n"
        "      paths: [net/none.yaml]\n");
    test_dir_put(world->dir, "variables/net/debian.yaml", "a: debian\n");
    test_dir_put(world->dir, "variables/net/all.yaml", "a: all\nb: all\n");
    assert_true(world_load(world));
    assert_str(get(world, "a"), "\"debian\"");
    assert_str(get(world, "b"), "\"all\"");
    uint32_t count;
    const VariableLayer *layers = variables_layers(scope_variables(world->scope), &count);
    assert_int_equal(count, 3);
    /* With merge: all, the first listed one takes precedence, so it comes last. */
    assert_str(sources_get(&world->dir->sources, layers[1].document.source)->name,
               test_dir_path(world->dir, "variables/net/all.yaml"));
}

static void a_named_file_must_exist(void **state)
{
    SiteWorld *world = *state;
    test_dir_put(world->dir, "variables/base.yaml", "files: {'*': [{name: one}, {name: two}]}\n");
    test_dir_put(world->dir, "variables/two.yaml", "[1]\n");
    assert_false(world_load(world));
    assert_int_equal(world->dir->problems.count, 2);
    assert_str(world->dir->problems.items[1].message,
               "variables must be a map of names to values, not a list");
}

static void the_host_and_the_command_line_have_precedence(void **state)
{
    SiteWorld *world = *state;
    put_variables(world, "a: site\nb: site\nc: site\nd: site\n");
    test_dir_put(world->dir, "etc/vars.d/10.yaml", "b: ten\nc: '{{ host }}'\nd: ten\n");
    test_dir_put(world->dir, "etc/vars.d/20.yaml", "b: twenty\n");
    test_dir_put(world->dir, "etc/vars.d/sub/30.yaml", "b: no\n");
    test_dir_put(world->dir, "etc/vars.d/notes.txt", "b: no\n");
    test_dir_put(world->dir, "file.yaml", "d: 'file {{ vars.a }}'\ne: file\nf: file\n");
    test_dir_put(world->dir, "file.json", "{\"e\": {\"j\": 1}}");
    world->files[0] = test_dir_path(world->dir, "file.yaml");
    world->files[1] = test_dir_path(world->dir, "file.json");
    world->defines[0] = "f={{ text }}";
    world->defines[1] = "g:={\"n\": [1, null]}";
    assert_true(world_load(world));
    assert_str(get(world, "a"), "\"site\"");
    assert_str(get(world, "b"), "\"twenty\"");
    assert_str(get(world, "c"), "\"{{ host }}\"");
    assert_str(get(world, "d"), "\"file site\"");
    assert_str(get(world, "e"), "{\"j\":1}");
    assert_str(get(world, "f"), "\"{{ text }}\"");
    assert_str(get(world, "g"), "{\"n\":[1,null]}");
}

static void values_can_use_each_other_in_any_order(void **state)
{
    SiteWorld *world = with_variables(
        state, "url: http://{{ vars.host }}:{{ variables.net.port }}/\n"
               "host: '{{ server.name }}.{{ vars.net.domain }}'\n"
               "net: {port: '{{ 8000 + 80 }}', domain: example.com, all: [1, '{{ 2 }}']}\n"
               "self: {a: 1, b: '{{ vars.self.a + 1 }}'}\n"
               "copy: '{{ vars.net }}'\n"
               "block: |\n  {{ vars.self.b }}\n"
               "text: |\n  is {{ vars.self.b }}\n"
               "node: '{{ eden.node }} {{ eden.version }} {{ Server.Spec.FQDN }}'\n");
    assert_true(variables_check(scope_variables(world->scope)));
    assert_str(get(world, "url"), "\"http://web01.example.com:8080/\"");
    assert_str(get(world, "net.port"), "8080");
    assert_str(get(world, "net.all.1"), "2");
    assert_str(get(world, "copy"), "{\"port\":8080,\"domain\":\"example.com\",\"all\":[1,2]}");
    assert_str(get(world, "self.b"), "2");
    assert_str(get(world, "block"), "2");
    assert_str(get(world, "text"), "\"is 2\\n\"");
    assert_str(get(world, "node"), "\"web01 1.2 web01.example.com\"");
    assert_str(world_eval(world, "vars.net.items() | list | length"), "3");
    assert_str(world_eval(world, "vars.net.port + 1"), "8081");
    assert_str(world_eval(world, "vars | length"), "8");
    assert_str(world_eval(world, "'set' if vars.net else 'empty'"), "\"set\"");
    assert_str(world_eval(world, "vars.nt.port"), "!variable 'vars.nt' not found");
    assert_str(world->dir->problems.items[0].hint, "did you mean 'net'?");
    assert_str(world_eval(world, "vars.nt is defined or vars.net.x | default(5)"), "5");
}

static void only_requested_values_are_rendered(void **state)
{
    SiteWorld *world = with_variables(state, "good: '{{ 1 + 1 }}'\nbad: '{{ vars.absent }}'\n"
                                             "map: {good: 3, bad: '{{ vars.bad }}'}\n");
    assert_str(world_eval(world, "vars.good + vars.map.good"), "5");
    assert_str(world_eval(world, "'bad' in vars and 'bad' in vars.map"), "true");
    assert_str(world_eval(world, "vars.map"), "!variable 'vars.absent' not found");
}

static void results_are_not_compiled_again(void **state)
{
    SiteWorld *world = with_variables(
        state, "brace: \"{{ '{' ~ '{ 1 + 1 }' ~ '}' }}\"\nuse: '<{{ vars.brace }}>'\n");
    assert_str(get(world, "brace"), "\"{{ 1 + 1 }}\"");
    assert_str(get(world, "use"), "\"<{{ 1 + 1 }}>\"");
}

static void cycles_are_shown_with_their_path(void **state)
{
    SiteWorld *world =
        with_variables(state, "a: '{{ vars.b }}'\nb: 'x{{ vars.c.d }}'\nc:\n  d: '{{ vars.a }}'\n"
                              "outside: '{{ vars.a }}'\nself: '{{ vars.self }}'\n");
    assert_false(variables_check(scope_variables(world->scope)));
    assert_str(
        test_dir_problems(world->dir),
        "variables/common.yaml:4:15 circular reference between variables: vars.a -> "
        "vars.b -> vars.c.d -> vars.a (set one of them to a value that does not use the others)\n"
        "variables/common.yaml:6:16 circular reference between variables: vars.self -> "
        "vars.self (set one of them to a value that does not use the others)\n");
}

static void failures_are_reported_once_at_their_location(void **state)
{
    SiteWorld *world =
        with_variables(state, "a: '{{ vars.b }}'\nb: '{{ 1 / 0 }}'\nc: '{{ vars.b ~ vars.a }}'\n"
                              "d: \"{{ steps['x'].StdOut }}\"\ne: good\n");
    assert_false(variables_check(scope_variables(world->scope)));
    assert_str(test_dir_problems(world->dir),
               "variables/common.yaml:2:10 division by zero\n"
               "variables/common.yaml:4:13 variables and macros cannot use the results of steps\n");
}

static void a_method_of_a_map_fails_with_its_values(void **state)
{
    SiteWorld *world =
        with_variables(state, "map: {a: '{{ 1 / 0 }}'}\nall: '{{ vars.map.items() | list }}'\n");
    assert_str(get(world, "all"), "variables/common.yaml:1:16 division by zero\n");
}

static void invalid_templates_are_all_reported(void **state)
{
    SiteWorld *world = *state;
    put_variables(world, "a: '{{ 1 + }}'\nb: {c: ['{% if %}']}\nd: fine\n");
    assert_false(world_load(world));
    assert_int_equal(world->dir->problems.count, 2);
    assert_int_equal(world->dir->problems.items[1].line, 2);
}

/* A secret mark belongs to the name: whichever layer has it, the values of all layers are
 * secret. */
static void a_mark_covers_the_name_in_every_layer(void **state)
{
    SiteWorld *world = *state;
    test_dir_put(world->dir, "variables/base.yaml", "files: {'*': [{name: one}, {name: two}]}\n");
    test_dir_put(
        world->dir, "variables/one.yaml",
        "early: !secret aaaa\nlate: bbbb\nmap: {pw: !secret cccc, user: u}\n"
        "whole: !secret {pw: dddd}\nlist: [!secret eeee]\nplain: {x: 1}\n"
        "users: [{name: n, pw: !secret ffff}]\nown: [x, !secret iiii]\nnested: {deep: {pw: gggg}}\n"
        "turned: {pw: !secret hhhh}\n");
    test_dir_put(world->dir, "variables/two.yaml",
                 "early: AAAA\nlate: !secret BBBB\nmap: {pw: CCCC, port: 1}\n"
                 "whole: {pw: DDDD, more: {x: 1}}\nlist: [EEEE, EEE2]\nplain: {y: 2}\n"
                 "users: [{name: m, pw: FFFF}, bare, 7, [FFFF], \"{{ {'pw': 'FFFF'} }}\"]\n"
                 "nested: !secret {deep: {other: 1}}\n"
                 "turned: \"{{ {'pw': 'HHHH'} }}\"\n");
    assert_true(world_load(world));
    static const struct {
        const char *path;
        bool secret;
    } rows[] = {
        { "early", true },       { "late", true },           { "map.pw", true },
        { "map.user", false },   { "map.port", false },      { "whole", true },
        { "whole.pw", true },    { "whole.more.x", true },   { "list[0]", true },
        { "list[1]", true },     { "plain.x", false },       { "plain.y", false },
        { "users[0].pw", true }, { "users[0].name", false }, { "users[1]", false },
        { "users[2]", false },   { "users[3]", true },       { "users[4]", true },
        { "own[0]", false },     { "own[1]", true },         { "nested.deep.pw", true },
        { "turned", true },      { "turned.pw", true },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Value value;
        if (!variables_get(scope_variables(world->scope), str_from_c(rows[i].path), &value)) {
            print_error("%s: not found\n", rows[i].path);
            fail();
        }
        if (value_holds_secret(value) != rows[i].secret) {
            print_error("%s: secret is %d\n", rows[i].path, !rows[i].secret);
            fail();
        }
    }
}

static void secrets_stay_secret(void **state)
{
    SiteWorld *world =
        with_variables(state, "password: !secret hush-hush\nconn: 'db://{{ vars.password }}@x'\n");
    Value value;
    assert_true(variables_get(scope_variables(world->scope), STR("conn"), &value));
    assert_true(value_is_secret(value));
}

static void a_long_chain_is_an_error(void **state)
{
    SiteWorld *world = *state;
    Buf text = buf_make_in(&world->dir->arena, BUF_UNLIMITED);
    for (unsigned i = 0; i < 300; i++) {
        buf_put_format(&text, "v%u: '{{ vars.v%u }}'\n", i, i + 1);
    }
    buf_put_format(&text, "v300: 1\n");
    put_variables(world, arena_copy_c(&world->dir->arena, buf_str(&text)));
    assert_true(world_load(world));
    assert_non_null(strstr(arena_copy_c(&world->dir->arena, get(world, "v0")),
                           "more than 100 variables and macros depend on each other"));
    assert_str(get(world, "v250"), "1");
}

static Str why(SiteWorld *world, const char *path)
{
    VariableDefinition *definitions;
    uint32_t count;
    problems_init(&world->dir->problems, &world->dir->arena);
    if (!variables_explain(scope_variables(world->scope), str_from_c(path), &definitions, &count)) {
        return test_dir_problems(world->dir);
    }
    Buf out = buf_make_in(&world->dir->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < count; i++) {
        const Source *source = sources_get(&world->dir->sources, definitions[i].value.source);
        buf_put_format(&out, "%s:%u%s%s ", layer_kind_name(definitions[i].layer->kind),
                       source_location(source, definitions[i].value.start).line,
                       definitions[i].is_effective ? "+" : "", definitions[i].shadows ? "!" : "");
    }
    return buf_str(&out);
}

static void every_layer_is_shown_with_its_line(void **state)
{
    SiteWorld *world = *state;
    put_variables(world, "a: 1\nmap:\n  k: 1\n  l: [5]\nlost: {x: 1}\nmade: \"{{ {'x': 1} }}\"\n");
    test_dir_put(world->dir, "etc/vars.d/1.yaml", "map: {k: 2}\nlost: 5\n");
    world->defines[0] = "a=2";
    world->defines[1] = "map:={\"m\": 1}";
    assert_true(world_load(world));
    assert_str(why(world, "a"), "site:1 define:1+ ");
    assert_str(why(world, "map"), "site:3+ host:1+ define:1+ ");
    assert_str(why(world, "map.k"), "site:3 host:1+ ");
    assert_str(why(world, "map.l[0]"), "site:4+ ");
    assert_str(why(world, "lost"), "site:5 host:2+ ");
    assert_str(why(world, "made.x"), "site:6+ ");
    assert_str(why(world, "zork"), ":0:0 variable 'zork' not found\n");
    assert_str(why(world, "lost.x"), "site:5 host:2+! ");
    assert_str(why(world, "a..b"),
               ":0:0 'a..b' is not a path of keys, such as network.mtu or sysctl['fs.file-max']\n");
}

static void paths_reach_any_key(void **state)
{
    SiteWorld *world = with_variables(
        state, "sysctl: {fs.file-max: 1, 80: eighty, '81': text}\nlist: [[1, {a: 2}]]\n");
    assert_str(get(world, "sysctl['fs.file-max']"), "1");
    assert_str(get(world, "vars.sysctl[\"fs.file-max\"]"), "1");
    assert_str(get(world, "sysctl.80"), "\"eighty\"");
    assert_str(get(world, "sysctl.81"), "\"text\"");
    assert_str(get(world, "list[0][1].a"), "2");
    assert_str(get(world, "list.0.1.b"), ":0:0 variable 'list.0.1.b' not found\n");
    assert_str(get(world, "list.7"), ":0:0 variable 'list.7' not found\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(later_layers_take_precedence_and_maps_merge),
        WORLD_TEST(the_first_existing_path_is_used),
        WORLD_TEST(a_named_file_must_exist),
        WORLD_TEST(the_host_and_the_command_line_have_precedence),
        WORLD_TEST(values_can_use_each_other_in_any_order),
        WORLD_TEST(only_requested_values_are_rendered),
        WORLD_TEST(results_are_not_compiled_again),
        WORLD_TEST(cycles_are_shown_with_their_path),
        WORLD_TEST(failures_are_reported_once_at_their_location),
        WORLD_TEST(a_method_of_a_map_fails_with_its_values),
        WORLD_TEST(invalid_templates_are_all_reported),
        WORLD_TEST(a_mark_covers_the_name_in_every_layer),
        WORLD_TEST(secrets_stay_secret),
        WORLD_TEST(a_long_chain_is_an_error),
        WORLD_TEST(every_layer_is_shown_with_its_line),
        WORLD_TEST(paths_reach_any_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
