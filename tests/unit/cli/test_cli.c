/* Command lines run inside this process: what they print, and how they end. */
#include "cli/cli.h"

#include <stdlib.h>

#include "cli/command.h"
#include "cli/exit_codes.h"
#include "unit.h"

typedef struct Fixture {
    Stream out;
    Stream err;
} Fixture;

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    fixture->out = stream_make(STREAM_MEMORY);
    fixture->err = stream_make(STREAM_MEMORY);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    stream_clear(&fixture->out);
    stream_clear(&fixture->err);
    free(fixture);
    return 0;
}

/* Runs `eden WORDS`, split at spaces. */
static int run(Fixture *fixture, const char *words)
{
    char text[512];
    char program[] = "eden";
    char *argv[32] = { program };
    int argc = 1;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    buf_reset(&fixture->out.buf);
    buf_reset(&fixture->err.buf);
    return cli_run(argc, argv, &fixture->out, &fixture->err);
}

static void expect(Fixture *fixture, const char *words, int code, const char *out, const char *err)
{
    int got = run(fixture, words);
    if (got != code) {
        print_error("eden %s: exit %d\n", words, got);
    }
    assert_int_equal(got, code);
    assert_str(buf_str(&fixture->out.buf), out);
    assert_str(buf_str(&fixture->err.buf), err);
}

static void options_stand_anywhere(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "eval 1+1", EXIT_OK, "2\n", "");
    expect(fixture, "eval -D a=x a", EXIT_OK, "\"x\"\n", "");
    expect(fixture, "eval a -Da=x", EXIT_OK, "\"x\"\n", "");
    expect(fixture, "eval a --define a=x", EXIT_OK, "\"x\"\n", "");
    expect(fixture, "eval --define=a=x a", EXIT_OK, "\"x\"\n", "");
    expect(fixture, "eval a -D a:=[1] -oyaml", EXIT_OK, "- 1\n", "");
    expect(fixture, "eval -o yaml -o json [1]", EXIT_OK, "[1]\n", "");
}

static void what_starts_with_a_dash_can_be_an_argument(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "eval -1", EXIT_OK, "-1\n", "");
    expect(fixture, "eval -D a:=2 -- -a", EXIT_OK, "-2\n", "");
    expect(fixture, "eval -a", EXIT_USAGE, "",
           "eden eval: unknown option '-a' in '-a'; put '--' before an argument that starts with "
           "'-'\n  see: eden help eval\n");
}

static void wrong_usage_is_told_with_a_suggestion(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "redner x", EXIT_USAGE, "",
           "eden: there is no command 'redner'; did you mean 'render'?\n  see: eden help\n");
    expect(fixture, "xyzzy", EXIT_USAGE, "",
           "eden: there is no command 'xyzzy'\n  see: eden help\n");
    expect(fixture, "-o json help", EXIT_USAGE, "",
           "eden: '-o' is before the command; options follow it\n  see: eden help\n");
    expect(fixture, "render x.j2 -t a --templates b", EXIT_USAGE, "",
           "eden render: --templates is given twice, and takes one DIR\n  see: eden help render\n");
    expect(fixture, "eval 1 --outptu json", EXIT_USAGE, "",
           "eden eval: unknown option '--outptu'; did you mean '--output'?\n"
           "  see: eden help eval\n");
    expect(fixture, "eval 1 -o jsn", EXIT_USAGE, "",
           "eden eval: --output takes json|yaml, not 'jsn'; did you mean 'json'?\n"
           "  see: eden help eval\n");
    expect(fixture, "eval 1 -o", EXIT_USAGE, "",
           "eden eval: -o needs a FORMAT\n  see: eden help eval\n");
    expect(fixture, "eval 1 --output", EXIT_USAGE, "",
           "eden eval: --output needs a FORMAT\n  see: eden help eval\n");
    expect(fixture, "eval 1 --autoescape=yes", EXIT_USAGE, "",
           "eden eval: --autoescape takes no value\n  see: eden help eval\n");
    expect(fixture, "eval 1 2", EXIT_USAGE, "",
           "eden eval: '2' is one argument too many\n  see: eden help eval\n");
    expect(fixture, "convert", EXIT_USAGE, "",
           "eden convert: FILE is missing\n  see: eden help convert\n");
    expect(fixture, "eval", EXIT_USAGE, "", "eden eval: EXPR is missing\n  see: eden help eval\n");
    expect(fixture, "eval 1 --max-depth 0", EXIT_USAGE, "",
           "eden eval: --max-depth takes a number from 1 to 1000, such as 500, 64K or 16M, not "
           "'0'\n  see: eden help eval\n");
}

static void a_wrong_definition_is_told_without_its_value(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "eval 1 -D pass-word=hunter2", EXIT_USAGE, "",
           "eden eval: -D takes KEY=VALUE or KEY:=JSON with a name as KEY, not 'pass-word'\n"
           "  see: eden help eval\n");
    assert_int_equal(run(fixture, "eval 1 -D name"), EXIT_USAGE);
    assert_int_equal(run(fixture, "eval 1 -D =x"), EXIT_USAGE);
    assert_int_equal(run(fixture, "eval 1 -D :=1"), EXIT_USAGE);
    assert_int_equal(run(fixture, "eval 1 -D 1a=x"), EXIT_USAGE);
}

static void control_characters_of_arguments_are_shown_not_sent(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "\033[31mred", EXIT_USAGE, "",
           "eden: there is no command '\\x1b[31mred'\n  see: eden help\n");
}

static void without_a_command_there_is_a_short_usage(void **state)
{
    Fixture *fixture = *state;
    assert_int_equal(run(fixture, ""), EXIT_USAGE);
    assert_int_equal(fixture->out.buf.len, 0);
    assert_true(str_starts(buf_str(&fixture->err.buf), STR("usage: eden COMMAND")));
}

static void every_command_has_help(void **state)
{
    Fixture *fixture = *state;
    assert_int_equal(run(fixture, "convert --help"), EXIT_OK);
    assert_true(str_starts(buf_str(&fixture->out.buf), STR("Convert YAML to JSON")));
    AUTO_CLEAR(Buf) by_flag = buf_make(BUF_UNLIMITED);
    buf_put(&by_flag, buf_str(&fixture->out.buf));
    assert_int_equal(run(fixture, "help convert"), EXIT_OK);
    assert_str(buf_str(&fixture->out.buf), buf_c(&by_flag));
    assert_int_equal(run(fixture, "--help"), EXIT_OK);
    assert_int_equal(run(fixture, "-h"), EXIT_OK);
    expect(fixture, "--version", EXIT_OK, "eden " EDEN_VERSION "\n", "");
}

static void undefined_values_fail_unless_allowed(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "eval x", EXIT_FAILED, "",
           "error[E0204]: 'x' is undefined\n"
           "  --> <argument>:1:1\n"
           "1 | x\n"
           "  | ^\n"
           "  = eden explain E0204\n");
    expect(fixture, "eval x --undefined default", EXIT_OK, "null\n", "");
    expect(fixture, "eval [x] --undefined default", EXIT_OK, "[null]\n", "");
    assert_int_equal(run(fixture, "eval [x]"), EXIT_FAILED);
}

static void what_can_be_walked_is_printed_as_a_list(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "eval range(3)", EXIT_OK, "[0,1,2]\n", "");
    expect(fixture, "eval (1,range(2))", EXIT_OK, "[1,[0,1]]\n", "");
    expect(fixture, "eval {'a':[1]|map('string'),'b':2}", EXIT_OK, "{\"a\":[\"1\"],\"b\":2}\n", "");
    expect(fixture, "eval {'a':1}.items()", EXIT_OK, "[[\"a\",1]]\n", "");
    expect(fixture, "eval ['a']|groupby(0)", EXIT_OK, "[[\"a\",[\"a\"]]]\n", "");
    assert_int_equal(run(fixture, "eval range"), EXIT_FAILED);
    assert_int_equal(run(fixture, "eval range(10**9)"), EXIT_FAILED);
}

static void verbs_take_what_their_rows_say(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "backup", EXIT_USAGE, "",
           "eden backup: one of create|verify|restore is missing\n"
           "  see: eden help backup\n");
    expect(
        fixture, "nodes lst", EXIT_USAGE, "",
        "eden nodes: takes list|show|label|approve|reject|remove|ping|ssh-key, not 'lst'; did you "
        "mean 'eden nodes list'?\n  see: eden help nodes\n");
    expect(fixture, "nodes list web1", EXIT_USAGE, "",
           "eden nodes: 'nodes list' takes no argument; 'web1' is one too many\n  see: eden help "
           "nodes\n");
    expect(fixture, "nodes show a b", EXIT_USAGE, "",
           "eden nodes: 'nodes show' takes NODE; 'b' is one too many\n  see: eden help nodes\n");
    expect(fixture, "tokens revoke", EXIT_USAGE, "",
           "eden tokens: 'tokens revoke' takes TOKEN...\n  see: eden help tokens\n");
    expect(fixture, "tokens create --ttl soon", EXIT_USAGE, "",
           "eden tokens: --ttl takes a duration from 1m to 366d, as 90m or 7d, not 'soon'\n"
           "  see: eden help tokens\n");
    expect(fixture, "nodes label web1 role", EXIT_USAGE, "",
           "eden nodes: 'nodes label' takes NODE and NAME=VALUE or NAME-, one or more\n"
           "  see: eden help nodes\n");
    expect(fixture, "nodes label web1 =web", EXIT_USAGE, "",
           "eden nodes: a label is NAME=VALUE, or NAME- to unset it; not '=web'\n"
           "  see: eden help nodes\n");
}

static void options_of_another_verb_are_refused_with_a_hint(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "tokens list --ttl 1h", EXIT_USAGE, "",
           "eden tokens: option '--ttl' is for 'eden tokens create', not for 'eden tokens list'\n"
           "  see: eden help tokens\n");
    expect(fixture, "tokens revoke 4l2ygazs --uses 3", EXIT_USAGE, "",
           "eden tokens: option '--uses' is for 'eden tokens create', not for 'eden tokens "
           "revoke'\n  see: eden help tokens\n");
    expect(fixture, "cluster check --delete", EXIT_USAGE, "",
           "eden cluster: option '--delete' is for 'eden cluster repair', not for 'eden cluster "
           "check'\n  see: eden help cluster\n");
}

/* As in kubectl. The label of a node has no letter, because -l role=web would be another thing in
 * `eden plan` than in `eden nodes`. */
static void letter_l_is_a_selector_in_every_command(void **state)
{
    Fixture *fixture = *state;
    for (size_t i = 0; commands[i] != NULL; i++) {
        const Option *option = option_find_letter(commands[i], 'l');
        if (option != NULL) {
            assert_string_equal(option->name, "selector");
        }
    }
    expect(fixture, "plan site -l role=web", EXIT_USAGE, "",
           "eden plan: unknown option '-l' in '-l'; did you mean '--label'?\n"
           "  see: eden help plan\n");
}

#define WITH_STREAMS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STREAMS(options_stand_anywhere),
        WITH_STREAMS(what_starts_with_a_dash_can_be_an_argument),
        WITH_STREAMS(wrong_usage_is_told_with_a_suggestion),
        WITH_STREAMS(a_wrong_definition_is_told_without_its_value),
        WITH_STREAMS(control_characters_of_arguments_are_shown_not_sent),
        WITH_STREAMS(without_a_command_there_is_a_short_usage),
        WITH_STREAMS(every_command_has_help),
        WITH_STREAMS(undefined_values_fail_unless_allowed),
        WITH_STREAMS(what_can_be_walked_is_printed_as_a_list),
        WITH_STREAMS(verbs_take_what_their_rows_say),
        WITH_STREAMS(options_of_another_verb_are_refused_with_a_hint),
        WITH_STREAMS(letter_l_is_a_selector_in_every_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
