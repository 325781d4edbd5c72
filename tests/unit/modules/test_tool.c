#include "modules/tool.h"

#include <fcntl.h>

#include "module_fixture.h"
#include "modules/scratch.h"

/* Programs run on this machine; nothing here changes it. */
static int set_up_live(void **state)
{
    if (set_up(state) != 0) {
        return -1;
    }
    Fixture *fixture = *state;
    host_close(fixture->host);
    fixture->host = NULL;
    if (!host_open("/", &fixture->host, &fixture->err)) {
        return -1;
    }
    fixture->call.host = fixture->host;
    return 0;
}

static void program_output_is_returned(void **state)
{
    Fixture *fixture = *state;
    Str out;
    assert_true(TOOL_RUN(&fixture->call, &out, &fixture->err, "echo", "a b"));
    assert_str(out, "a b\n");
}

static void messages_are_english_and_tools_are_found(void **state)
{
    Fixture *fixture = *state;
    Str out;
    assert_true(TOOL_RUN(&fixture->call, &out, &fixture->err, "sh", "-c", "echo $LC_ALL; pwd"));
    assert_str(out, "C.UTF-8\n/\n");
    assert_true(tool_exists(&fixture->call, "sh"));
    assert_false(tool_exists(&fixture->call, "no-such-program"));
}

static void a_program_runs_as_the_account_and_in_its_groups(void **state)
{
    Fixture *fixture = *state;
    bool is_root = geteuid() == 0; /* other users can only stay who they are */
    gid_t groups[] = { is_root ? 65533 : getegid(), is_root ? 65532 : getegid() };
    Account account = { .home = STR("/"),
                        .uid = is_root ? 65534 : geteuid(),
                        .gid = groups[0],
                        .groups = groups,
                        .group_count = is_root ? 2 : 1 };
    Tool tool = { .argv = (const char *const[]){ "sh", "-c", "id -u; id -G", NULL },
                  .account = &account };
    ProcessResult result;
    assert_true(tool_run(&fixture->call, &tool, &result, &fixture->err));
    Str expected = is_root ? STR("65534\n65533 65532\n")
                           : arena_format(&fixture->arena, "%u\n%u\n", geteuid(), getegid());
    assert_true(str_eq(result.out, expected));
}

static void a_failure_names_the_program_and_the_end_of_its_output(void **state)
{
    Fixture *fixture = *state;
    assert_false(TOOL_RUN(&fixture->call, NULL, &fixture->err, "/bin/sh", "-c",
                          "echo one >&2; echo two >&2; exit 7"));
    assert_string_equal(fixture->err.text, "sh exited with 7: one | two");
    assert_false(TOOL_RUN(&fixture->call, NULL, &fixture->err, "no-such-program"));
    assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
}

static void truncated_output_is_a_failure(void **state)
{
    Fixture *fixture = *state;
    Str out;
    const char *most = "67108864", *more = "67108865";
    assert_true(TOOL_RUN(&fixture->call, &out, &fixture->err, "head", "-c", most, "/dev/zero"));
    assert_int_equal(out.len, TOOL_OUTPUT_MAX);
    assert_false(TOOL_RUN(&fixture->call, &out, &fixture->err, "head", "-c", more, "/dev/zero"));
    assert_int_equal(fixture->err.kind, ERROR_LIMIT);
    assert_string_equal(fixture->err.text, "head wrote more than 64 MiB");
    assert_true(TOOL_RUN(&fixture->call, NULL, &fixture->err, "head", "-c", more, "/dev/zero"));
}

static void the_shorter_of_two_timeouts_counts(void **state)
{
    Fixture *fixture = *state;
    Tool tool = { .argv = (const char *const[]){ "sleep", "600", NULL }, .timeout_ms = 600000 };
    ProcessResult result;
    fixture->call.timeout_ms = 50;
    assert_true(tool_run(&fixture->call, &tool, &result, &fixture->err));
    assert_int_equal(result.ending, PROCESS_TIMED_OUT);
    assert_false(tool_failure(&fixture->call, &tool, &result, &fixture->err));
    assert_non_null(strstr(fixture->err.text, "0.05 s"));
}

static void input_and_environment_reach_it(void **state)
{
    Fixture *fixture = *state;
    Tool tool = { .argv = (const char *const[]){ "sh", "-c", "cat; echo $COLOR", NULL },
                  .input = STR("text\n"),
                  .env = (const char *const[]){ "COLOR=red", NULL } };
    ProcessResult result;
    assert_true(tool_run(&fixture->call, &tool, &result, &fixture->err));
    assert_str(result.out, "text\nred\n");
}

static void arguments_are_built_one_by_one(void **state)
{
    Fixture *fixture = *state;
    ToolArgs args = { 0 };
    Str out;
    tool_arg(&fixture->call, &args, STR("printf"));
    tool_arg(&fixture->call, &args, STR("%s,"));
    tool_arg(&fixture->call, &args, STR("a b"));
    tool_arg(&fixture->call, &args, STR("c"));
    assert_true(tool_run_checked(&fixture->call, tool_args_end(&fixture->call, &args), &out,
                                 &fixture->err));
    assert_str(out, "a b,c,");
}

static void options_and_lists_become_arguments(void **state)
{
    Fixture *fixture = *state;
    Call *call = &fixture->call;
    List *list = list_new(call->arena, 0);
    ToolArgs args = { 0 };
    assert_str(tool_join(call, value_list(list), ','), "");
    assert_str(tool_join(call, value_missing(), ','), "");
    list_push(call->arena, list, value_string(STR("a b")));
    tool_option(call, &args, "one", tool_join(call, value_list(list), ','));
    list_push(call->arena, list, value_string(STR("c")));
    tool_option(call, &args, "none", STR_EMPTY);
    tool_option(call, &args, "two", tool_join(call, value_list(list), ':'));
    const char *const *argv = tool_args_end(call, &args);
    assert_string_equal(argv[0], "--one=a b");
    assert_string_equal(argv[1], "--two=a b:c");
    assert_null(argv[2]);
}

static void arguments_that_look_like_options_are_rejected(void **state)
{
    Fixture *fixture = *state;
    assert_true(tool_check_word(STR("web"), "a user", &fixture->err));
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "the name of a user cannot be empty" },
        { "-rf", "'-rf' would be parsed as an option, not as a user" },
        { "a\nb", "the name of a user cannot contain control characters" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_false(tool_check_word(str_from_c(cases[i].text), "a user", &fixture->err));
        assert_string_equal(fixture->err.text, cases[i].message);
    }
}

#define LIVE(test) cmocka_unit_test_setup_teardown(test, set_up_live, tear_down)

static void a_private_directory_that_cannot_be_made_is_an_error(void **state)
{
    Fixture *fixture = *state;
    char path[80];
    Scratch scratch;
    snprintf(path, sizeof path, "%s/tmp", fixture->root);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(descriptor >= 0);
    close(descriptor);
    assert_false(scratch_make(&fixture->call, &scratch, &fixture->err));
    assert_int_equal(unlink(path), 0);
    assert_true(scratch_make(&fixture->call, &scratch, &fixture->err));
    assert_true(scratch.path.len > 0);
    scratch_remove(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE(program_output_is_returned),
        LIVE(messages_are_english_and_tools_are_found),
        LIVE(a_program_runs_as_the_account_and_in_its_groups),
        LIVE(a_failure_names_the_program_and_the_end_of_its_output),
        LIVE(truncated_output_is_a_failure),
        LIVE(the_shorter_of_two_timeouts_counts),
        LIVE(input_and_environment_reach_it),
        LIVE(arguments_are_built_one_by_one),
        LIVE(options_and_lists_become_arguments),
        LIVE(arguments_that_look_like_options_are_rejected),
        IN_ROOT(a_private_directory_that_cannot_be_made_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
