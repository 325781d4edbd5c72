/* Command lines run inside this process: their output and exit codes. */
#include "cli/cli.h"

#include <stdlib.h>

#include "api/kind.h"
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

static void options_can_be_anywhere(void **state)
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

static void arguments_can_start_with_a_dash(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "eval -1", EXIT_OK, "-1\n", "");
    expect(fixture, "eval -D a:=2 -- -a", EXIT_OK, "-2\n", "");
    expect(fixture, "eval -a", EXIT_USAGE, "",
           "eden eval: unknown option '-a' in '-a'; put '--' before an argument that starts with "
           "'-'\n  see: eden help eval\n");
}

static void usage_errors_have_a_suggestion(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "redner x", EXIT_USAGE, "",
           "eden: unknown command 'redner'; did you mean 'render'?\n  see: eden help\n");
    expect(fixture, "xyzzy", EXIT_USAGE, "", "eden: unknown command 'xyzzy'\n  see: eden help\n");
    expect(fixture, "-o json help", EXIT_USAGE, "",
           "eden: '-o' must come after the command\n  see: eden help\n");
    expect(
        fixture, "render x.j2 -t a --templates b", EXIT_USAGE, "",
        "eden render: --templates takes one DIR, but was given twice\n  see: eden help render\n");
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
           "eden eval: unexpected argument '2'\n  see: eden help eval\n");
    expect(fixture, "convert", EXIT_USAGE, "",
           "eden convert: FILE is required\n  see: eden help convert\n");
    expect(fixture, "eval", EXIT_USAGE, "", "eden eval: EXPR is required\n  see: eden help eval\n");
    expect(fixture, "eval 1 --max-depth 0", EXIT_USAGE, "",
           "eden eval: --max-depth must be a number from 1 to 1000, such as 500, 64K or 16M, not "
           "'0'\n  see: eden help eval\n");
}

static void an_invalid_definition_is_reported_without_its_value(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "eval 1 -D pass-word=hunter2", EXIT_USAGE, "",
           "eden eval: -D must be KEY=VALUE or KEY:=JSON, where KEY is a name, not 'pass-word'\n"
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
           "eden: unknown command '\\x1b[31mred'\n  see: eden help\n");
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

static void iterables_are_printed_as_lists(void **state)
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

static void verbs_accept_the_arguments_of_their_rows(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "backup", EXIT_USAGE, "",
           "eden backup: a verb is required: create|verify|restore\n"
           "  see: eden help backup\n");
    expect(
        fixture, "nodes lst", EXIT_USAGE, "",
        "eden nodes: takes list|show|label|approve|reject|remove|ping|ssh-key, not 'lst'; did you "
        "mean 'eden nodes list'?\n  see: eden help nodes\n");
    expect(fixture, "nodes list web1", EXIT_USAGE, "",
           "eden nodes list: unexpected argument 'web1'\n  see: eden help nodes list\n");
    expect(fixture, "nodes show a b", EXIT_USAGE, "",
           "eden nodes show: unexpected argument 'b'\n  see: eden help nodes show\n");
    expect(fixture, "tokens revoke", EXIT_USAGE, "",
           "eden tokens revoke: TOKEN is required\n  see: eden help tokens revoke\n");
    expect(fixture, "nodes label", EXIT_USAGE, "",
           "eden nodes label: LABEL is required\n  see: eden help nodes label\n");
    expect(fixture, "api GET", EXIT_USAGE, "",
           "eden api: PATH is required\n  see: eden help api\n");
    expect(fixture, "tokens create --ttl soon", EXIT_USAGE, "",
           "eden tokens create: --ttl must be a duration from 1m to 366d, such as 90m or 7d, not "
           "'soon'\n  see: eden help tokens create\n");
    expect(fixture, "nodes label web1 role", EXIT_USAGE, "",
           "eden nodes label: LABEL is required: NAME=VALUE, or NAME- to remove it\n"
           "  see: eden help nodes label\n");
    expect(fixture, "nodes label web1 =web", EXIT_USAGE, "",
           "eden nodes label: a label must be NAME=VALUE, or NAME- to remove it, not '=web'\n"
           "  see: eden help nodes label\n");
}

static void options_of_another_verb_are_rejected_with_a_hint(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "tokens list --ttl 1h", EXIT_USAGE, "",
           "eden tokens list: option '--ttl' applies to 'create'\n  see: eden help tokens list\n");
    expect(fixture, "tokens --ttl 1h", EXIT_USAGE, "", /* list is the default */
           "eden tokens list: option '--ttl' applies to 'create'\n  see: eden help tokens list\n");
    expect(fixture, "tokens --ttl soon create", EXIT_USAGE, "", /* before the verb */
           "eden tokens create: --ttl must be a duration from 1m to 366d, such as 90m or 7d, not "
           "'soon'\n  see: eden help tokens create\n");
    expect(fixture, "nodes ping web1 -y", EXIT_USAGE, "",
           "eden nodes ping: option '--yes' applies to 'reject' and 'remove'\n"
           "  see: eden help nodes ping\n");
    expect(
        fixture, "nodes show web1 -l role=web", EXIT_USAGE, "",
        "eden nodes show: option '--selector' applies to 'list', 'label', 'reject', 'remove' and "
        "'ping'\n  see: eden help nodes show\n");
    expect(fixture, "cluster check --delete", EXIT_USAGE, "",
           "eden cluster check: option '--delete' applies to 'repair'\n"
           "  see: eden help cluster check\n");
}

static void a_verb_has_its_own_help(void **state)
{
    Fixture *fixture = *state;
    assert_int_equal(run(fixture, "help cluster check"), EXIT_OK);
    Str text = buf_str(&fixture->out.buf);
    assert_true(str_starts(text, STR("Check the store for damage.\n\n"
                                     "usage: eden cluster check [OPTION]...\n")));
    assert_int_equal(str_find(text, STR("--accept-loss"), 0), STR_NOT_FOUND);
    assert_int_not_equal(str_find(text, STR("--state-dir DIR"), 0), STR_NOT_FOUND);
    AUTO_CLEAR(Buf) by_name = buf_make(BUF_UNLIMITED);
    buf_put(&by_name, text);
    assert_int_equal(run(fixture, "cluster check --help"), EXIT_OK);
    assert_str(buf_str(&fixture->out.buf), buf_c(&by_name));
    assert_int_equal(run(fixture, "cluster --help"), EXIT_OK);
    text = buf_str(&fixture->out.buf);
    assert_int_not_equal(str_find(text,
                                  STR("usage: eden cluster check [OPTION]...\n"
                                      "       eden cluster repair [OPTION]... [KEY]\n"),
                                  0),
                         STR_NOT_FOUND);
    assert_int_not_equal(str_find(text, STR("\noptions for repair:\n      --accept-loss"), 0),
                         STR_NOT_FOUND);
    assert_int_not_equal(str_find(text, STR("\noptions for all verbs:\n      --state-dir"), 0),
                         STR_NOT_FOUND);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* An option may precede the verb that defines it, so it must mean the same for all verbs. */
static void options_of_several_verbs_are_the_same(void **state)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        const Command *command = commands[i];
        for (const Verb *verb = command->verbs; verb != NULL && verb->name != NULL; verb++) {
            for (OptionCursor at = { 0 }; option_next(command, verb, &at);) {
                const Option *first = option_find(command, NULL, str_from_c(at.option->name));
                assert_int_equal(first->letter, at.option->letter);
                assert_true(same_text(first->argument, at.option->argument));
                assert_true(same_text(first->help, at.option->help));
                if (first->letter != 0) {
                    assert_ptr_equal(option_find_letter(command, NULL, first->letter), first);
                }
            }
        }
    }
}

/* A full list of examples would have no end. */
static void lists_of_examples_end(void **state)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        for (const Verb *verb = commands[i]->verbs; verb != NULL && verb->name != NULL; verb++) {
            assert_null(verb->examples[EXAMPLES_MAX].command);
        }
    }
}

static void every_row_is_complete(void **state)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        const Command *command = commands[i];
        assert_true((command->run != NULL) != (command->verbs != NULL));
        assert_true(command->verbs == NULL || command->args[0].usage == NULL);
        assert_true(command->kind == NULL || kind_find(str_from_c(command->kind)) != NULL);
        for (const Verb *verb = command->verbs; verb != NULL && verb->name != NULL; verb++) {
            assert_non_null(verb->run);
            assert_true(str_ends(str_from_c(verb->help), STR(".")));
            assert_true(!verb->is_default || verb == command->verbs);
            assert_true(!verb->is_default || arguments_min(verb->args) == 0);
        }
    }
}

static void lines_are_completed_from_the_rows(void **state)
{
    Fixture *fixture = *state;
    expect(fixture, "complete line -- eden cluster c", EXIT_OK,
           "words\ncheck\tCheck the store for damage.\n"
           "repair\tRepair a record, or accept lost writes.\n",
           "");
    expect(fixture, "complete line -- eden completion x", EXIT_OK, "words\nbash\nzsh\nfish\n", "");
    expect(fixture, "complete line -- eden backup verify x", EXIT_OK, "files\n", "");
    expect(fixture, "complete line -- eden backup verify x y", EXIT_OK, "words\n", "");
    expect(fixture, "complete line -- eden vars get x", EXIT_OK, "words\n", "");
    expect(fixture, "complete line -- eden vars get x y", EXIT_OK, "directories\n", "");
    expect(fixture, "complete line -- eden vars -D a=b get --undef x y", EXIT_OK, "directories\n",
           "");
    expect(fixture, "complete line -- eden vars --output=j", EXIT_OK,
           "words\n--output=text\n--output=json\n--output=yaml\n", "");
    expect(fixture, "complete line -- eden vars --output = j", EXIT_OK, /* as in bash */
           "words\n--output=text\n--output=json\n--output=yaml\n", "");
    expect(fixture, "complete line -- eden vars -o j", EXIT_OK, "words\ntext\njson\nyaml\n", "");
    expect(fixture, "complete line -- eden nonsense x", EXIT_OK, "words\n", "");
    expect(fixture, "complete line -- eden nodes nonsense x", EXIT_OK, "words\n", "");
    expect(fixture, "complete line -- eden help cluster c", EXIT_OK,
           "words\ncheck\tCheck the store for damage.\n"
           "repair\tRepair a record, or accept lost writes.\n",
           "");
}

static void options_are_completed_for_their_verb(void **state)
{
    Fixture *fixture = *state;
    assert_int_equal(run(fixture, "complete line -- eden cluster check -"), EXIT_OK);
    assert_int_equal(str_find(buf_str(&fixture->out.buf), STR("--delete"), 0), STR_NOT_FOUND);
    assert_int_equal(run(fixture, "complete line -- eden cluster repair -"), EXIT_OK);
    assert_int_not_equal(str_find(buf_str(&fixture->out.buf), STR("\n--delete\t"), 0),
                         STR_NOT_FOUND);
    assert_int_equal(run(fixture, "complete line -- eden cluster repair -- -"), EXIT_OK);
    assert_int_equal(str_find(buf_str(&fixture->out.buf), STR("--delete"), 0), STR_NOT_FOUND);
}

/* -l is --selector, and --selector is -l; --label has no letter. */
static void check_selector_letter(const Command *command, const Verb *verb)
{
    OptionCursor cursor = { 0 };
    while (option_next(command, verb, &cursor)) {
        const Option *option = cursor.option;
        bool is_selector = strcmp(option->name, "selector") == 0;
        bool is_label = strcmp(option->name, "label") == 0;
        if ((option->letter == 'l') != is_selector || (is_label && option->letter != 0)) {
            fail_msg("eden %s %s: --%s has the letter '%c'", command->name,
                     verb == NULL ? "" : verb->name, option->name, option->letter);
        }
    }
}

/* As in kubectl. The label of a node has no letter, because -l role=web would mean something else
 * in `eden plan` than in `eden nodes`. */
static void option_l_is_a_selector_in_every_command(void **state)
{
    Fixture *fixture = *state;
    for (size_t i = 0; commands[i] != NULL; i++) {
        const Verb *verbs = commands[i]->verbs;
        check_selector_letter(commands[i], NULL);
        for (const Verb *verb = verbs; verb != NULL && verb->name != NULL; verb++) {
            check_selector_letter(commands[i], verb);
        }
    }
    assert_non_null(option_find_letter(command_find(STR("facts")), NULL, 'l'));
    expect(fixture, "plan site -l role=web", EXIT_USAGE, "",
           "eden plan: unknown option '-l' in '-l'; did you mean '--label'?\n"
           "  see: eden help plan\n");
}

#define WITH_STREAMS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STREAMS(options_can_be_anywhere),
        WITH_STREAMS(arguments_can_start_with_a_dash),
        WITH_STREAMS(usage_errors_have_a_suggestion),
        WITH_STREAMS(an_invalid_definition_is_reported_without_its_value),
        WITH_STREAMS(control_characters_of_arguments_are_shown_not_sent),
        WITH_STREAMS(without_a_command_there_is_a_short_usage),
        WITH_STREAMS(every_command_has_help),
        WITH_STREAMS(undefined_values_fail_unless_allowed),
        WITH_STREAMS(iterables_are_printed_as_lists),
        WITH_STREAMS(verbs_accept_the_arguments_of_their_rows),
        WITH_STREAMS(options_of_another_verb_are_rejected_with_a_hint),
        WITH_STREAMS(a_verb_has_its_own_help),
        cmocka_unit_test(options_of_several_verbs_are_the_same),
        cmocka_unit_test(lists_of_examples_end),
        cmocka_unit_test(every_row_is_complete),
        WITH_STREAMS(lines_are_completed_from_the_rows),
        WITH_STREAMS(options_are_completed_for_their_verb),
        WITH_STREAMS(option_l_is_a_selector_in_every_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
