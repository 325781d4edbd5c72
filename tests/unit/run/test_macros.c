/* Macros by action and by expression: results, arguments, memory, cycles, errors. */
#include "run/macros.h"

#include "run/site_world.h"

typedef struct Question {
    const char *expression, *answer;
} Question;

static void ask_all(SiteWorld *world, const Question *questions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_str(world_eval(world, questions[i].expression), questions[i].answer);
    }
}

static void a_macro_is_its_result_and_can_be_called(void **state)
{
    SiteWorld *world = *state;
    put_variables(world, "base: 40\n");
    put_macros(world, "long:\n"
                      "  action: test.echo\n"
                      "  parameters:\n"
                      "    - text: hello {{ server.name }}\n"
                      "short:\n"
                      "  test.echo: [{number: '{{ vars.base + 2 }}'}]\n"
                      "map: {test.echo: {text: plain}}\n"
                      "none: {test.echo: }\n"
                      "sum: {expression: 'args[0] + args[1]'}\n"
                      "named: {expression: 'x ~ args.x'}\n"
                      "all: {expression: args}\n"
                      "count: {expression: \"3 if macros['sum'](1, 2) == 3 else 0\"}\n");
    assert_true(world_load(world));
    static const Question questions[] = {
        { "macros['long']", "\"hello web01\"" },
        { "macros.long ~ '!'", "\"hello web01!\"" },
        { "macros['long']() | upper", "\"HELLO WEB01\"" },
        { "macros['short']", "420" },
        { "macros['map']", "\"plain\"" },
        { "macros['none']", "\"nothing\"" },
        { "macros['sum'](1, 2) + macros.sum(3, 4)", "10" },
        { "macros['named'](x='a')", "\"aa\"" },
        { "macros['all'](1, 'b')", "[1,\"b\"]" },
        { "macros['all'](1, k='v')", "{\"0\":1,\"k\":\"v\"}" },
        { "macros['count'] > 2", "true" },
        { "macros['count'] + macros['count']()", "6" },
        { "'count' in macros and 'zork' not in macros", "true" },
        { "macros['cont']", "!macro 'cont' is not defined" },
        { "macros['cont'](1)", "!macro 'cont' is not defined" },
        { "macros['cont'] is defined", "false" },
        { "macros['cont'] | default(1)", "1" },
    };
    ask_all(world, questions, COUNT_OF(questions));
    (void)world_eval(world, "macros['cont']");
    assert_str(world->dir->problems.items[0].hint, "did you mean 'count'?");
}

static void arguments_can_have_names_and_defaults(void **state)
{
    SiteWorld *world = *state;
    put_macros(world, "url:\n"
                      "  args: [host, {port: 80}, {path: ''}]\n"
                      "  expression: \"host ~ ':' ~ port ~ path\"\n");
    assert_true(world_load(world));
    static const Question questions[] = {
        { "macros['url']('a')", "\"a:80\"" },
        { "macros['url']('a', 1)", "\"a:1\"" },
        { "macros['url']('a', path='/x')", "\"a:80/x\"" },
        { "macros['url'](port=1, host='b')", "\"b:1\"" },
        { "macros['url']()", "!macro 'url' requires the argument 'host'" },
        { "macros['url']", "!macro 'url' requires the argument 'host'" },
        { "macros['url']('a', host='b')", "!macro 'url': argument 'host' is given twice" },
        { "macros['url'](1, 2, 3, 4)", "!macro 'url' takes 3 arguments, not 4" },
    };
    ask_all(world, questions, COUNT_OF(questions));
}

static void equal_queries_run_once(void **state)
{
    SiteWorld *world = *state;
    put_macros(world, "kept: {test.echo: {text: '{{ args[0] }}'}}\n"
                      "fresh: {test.echo: {text: a}, memo: false}\n");
    assert_true(world_load(world));
    assert_str(world_eval(world, "[macros['kept'](1), macros['kept'](1), macros['kept'](2)]"),
               "[\"1\",\"1\",\"2\"]");
    assert_int_equal(world->asked, 2);
    assert_str(world_eval(world, "macros['kept'](2)"), "\"2\"");
    assert_int_equal(world->asked, 2);
    assert_str(world_eval(world, "macros['kept']('1') ~ macros['kept'](1.0)"), "\"11.0\"");
    assert_int_equal(world->asked, 4);
    assert_str(world_eval(world, "macros['fresh'] ~ macros['fresh']() ~ macros.fresh"), "\"aaa\"");
    assert_int_equal(world->asked, 7);
}

static void recursion_is_limited(void **state)
{
    SiteWorld *world = *state;
    put_macros(world, "fact: {args: [n], expression: \"1 if n < 2 else n * macros.fact(n - 1)\"}\n"
                      "a: {expression: \"macros['b']\"}\n"
                      "b: {expression: \"macros['a']\"}\n"
                      "endless: {expression: \"macros['endless'](args[0] + 1)\"}\n"
                      "tree: {expression: \"macros.tree(args[0] ~ 'l') ~ macros.tree(args[0])\"}\n"
                      "viavar: {expression: vars.viamacro}\n");
    put_variables(world, "viamacro: \"{{ macros['viavar'] }}\"\n");
    assert_true(world_load(world));
    static const Question questions[] = {
        { "macros['fact'](20)", "2432902008176640000" },
        { "macros['a']", "!macro 'a' depends on its own result: a -> b -> a" },
        { "macros['endless'](1)",
          "!more than 100 macros and variables depend on each other: ... -> endless -> endless -> "
          "endless -> endless -> endless -> endless -> endless -> endless -> endless -> endless -> "
          "endless -> endless -> endless" },
        { "vars.viamacro",
          "!circular reference between variables: vars.viamacro -> vars.viamacro" },
    };
    ask_all(world, questions, COUNT_OF(questions));
    Str answer = world_eval(world, "macros['tree']('x')");
    assert_true(str_starts(answer, STR("!more than 100")));
    /* A failure leaves nothing behind. */
    assert_int_equal(world->renders.depth, 0);
    assert_str(world_eval(world, "macros['fact'](3)"), "6");
}

static void actions_are_macros_with_their_own_name(void **state)
{
    SiteWorld *world = *state;
    assert_true(world_load(world));
    static const Question questions[] = {
        { "macros['test.echo']('x')", "\"x\"" },
        { "macros['test.echo'](number=4)", "40" },
        { "macros['test.echo']('x', '5')", "50" },
        { "macros['test.echo']('x', number=5)", "50" },
        { "macros['test.echo']", "\"nothing\"" },
        { "macros['test.echo']('x', 1, 2)", "!test.echo takes 2 parameters, not 3" },
        { "macros['test.echo'](txet='x')", "!test.echo has no parameter 'txet'" },
        { "macros['test.echo']('x', text='y')", "!test.echo: parameter 'text' is given twice" },
        { "macros['test.echo'](number='many')",
          "!macro 'test.echo': parameter 'number' must be an integer, not 'many'" },
        { "macros['test.fails']()", "!macro 'test.fails': the disk is on fire" },
        { "macros['test.mute']()", "!macro 'test.mute' is not defined" },
    };
    ask_all(world, questions, COUNT_OF(questions));
}

static void servers_are_chosen_by_label(void **state)
{
    SiteWorld *world = *state;
    world->labels[0] = "role=web-front";
    world->labels[1] = "kubernetes.io/kubeadm-master=";
    put_macros(world, "masters:\n  expression: >-\n    macros['servers_get_by_label']"
                      "('kubernetes.io/kubeadm-master=') | length\n");
    assert_true(world_load(world));
    static const Question questions[] = {
        { "macros['masters'] > 0", "true" },
        { "macros['servers_get_by_label']('role=web-*')[0].fqdn", "\"web01.example.com\"" },
        { "eden.servers_get_by_label('role=db') | length", "0" },
        { "macros['servers_get_by_label']('*') | map(attribute='name') | list", "[\"web01\"]" },
        { "macros['servers_get_by_label'](\"server.os == 'debian'\") | length", "1" },
        { "macros['servers_get_by_label'](\"server.os == 'arch'\") | length", "0" },
        { "macros['servers_get_by_label']()",
          "!servers_get_by_label requires a selector as a string, such as 'role=web'" },
    };
    ask_all(world, questions, COUNT_OF(questions));
    assert_true(str_starts(world_eval(world, "macros['servers_get_by_label']('a and')"),
                           STR("!servers_get_by_label: ")));
    assert_str(world_eval(world, "servervars['web01'].os"), "\"debian\"");
}

static void secret_arguments_make_the_result_secret(void **state)
{
    SiteWorld *world = *state;
    put_variables(world, "password: !secret hush-hush-hush\n"
                         "used: \"{{ macros['test.echo'](vars.password) }}\"\n"
                         "plain: \"{{ macros['test.echo']('hush-hush-hush') }}\"\n");
    assert_true(world_load(world));
    Value value;
    assert_true(variables_get(scope_variables(world->scope), STR("used"), &value));
    assert_true(value_is_secret(value));
    assert_true(variables_get(scope_variables(world->scope), STR("plain"), &value));
    assert_false(value_is_secret(value));
}

static void later_definitions_replace_earlier_ones(void **state)
{
    SiteWorld *world = *state;
    test_dir_put(world->dir, "macros/base.yaml",
                 "macros:\n  '*': [{name: one}, {name: two}]\n  'role=db': [{name: three}]\n");
    test_dir_put(world->dir, "macros/one.yaml", "a: {expression: 1}\nb: {expression: 1}\n");
    test_dir_put(world->dir, "macros/two.yaml",
                 "a: {expression: 2}\ntest.echo: {expression: \"'mine'\"}\n");
    assert_true(world_load(world));
    assert_str(world_eval(world, "[macros.a, macros.b, macros['test.echo']]"), "[2,1,\"mine\"]");
}

static void all_errors_are_reported(void **state)
{
    SiteWorld *world = *state;
    put_macros(world, "unknown: {action: test.eco}\n"
                      "mute: {test.mute: []}\n"
                      "param: {test.echo: {txt: a}}\n"
                      "kind: {test.echo: [{number: many}]}\n"
                      "key: {expresion: 1}\n"
                      "both: {expression: 1, action: test.echo}\n"
                      "neither: {memo: false}\n"
                      "text: just text\n"
                      "syntax: {expression: 1 +}\n"
                      "args: {args: x, expression: 1}\n");
    assert_false(world_load(world));
    assert_str(
        test_dir_problems(world->dir),
        "macros/all.yaml:1:19 unknown action 'test.eco' (did you mean 'test.echo'?)\n"
        "macros/all.yaml:2:8 test.mute returns no value and cannot be a macro\n"
        "macros/all.yaml:3:21 test.echo has no parameter 'txt' (did you mean 'text'?)\n"
        "macros/all.yaml:4:29 parameter 'number' must be an integer, not 'many'\n"
        "macros/all.yaml:5:7 unknown key 'expresion' in a macro (did you mean 'expression'?)\n"
        "macros/all.yaml:6:1 a macro must have either an action or an expression\n"
        "macros/all.yaml:7:1 a macro must have either an action or an expression\n"
        "macros/all.yaml:8:7 a macro must be a map with an action or an expression\n"
        "macros/all.yaml:9:24 unexpected 'end of template'\n"
        "macros/all.yaml:10:14 'args' must be a list of names\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_macro_is_its_result_and_can_be_called),
        WORLD_TEST(arguments_can_have_names_and_defaults),
        WORLD_TEST(equal_queries_run_once),
        WORLD_TEST(recursion_is_limited),
        WORLD_TEST(actions_are_macros_with_their_own_name),
        WORLD_TEST(servers_are_chosen_by_label),
        WORLD_TEST(secret_arguments_make_the_result_secret),
        WORLD_TEST(later_definitions_replace_earlier_ones),
        WORLD_TEST(all_errors_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
