/* Changes on trial: a program that appends its input to a file represents the change. */
#include "sys/confirmed_change.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/clock.h"
#include "unit.h"

enum {
    LONG_MS = 60000
};

typedef struct Fixture {
    Arena arena;
    char path[64];
    ConfirmedChangeSpec spec;
    const char *argv[6];
    Error err;
} Fixture;

static const char *const no_env[] = { NULL };

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    arena_init(&fixture->arena, ARENA_UNLIMITED);
    strcpy(fixture->path, "/tmp/test_confirmed_change.XXXXXX");
    int descriptor = mkstemp(fixture->path);
    memcpy(fixture->argv, (const char *[]){ "sh", "-c", "/bin/cat >> \"$0\"", fixture->path, NULL },
           5 * sizeof(char *));
    fixture->spec = (ConfirmedChangeSpec){ .program = "/bin/sh",
                                           .argv = fixture->argv,
                                           .env = no_env,
                                           .change = STR("new "),
                                           .restore = STR("old "),
                                           .timeout_ms = LONG_MS };
    *state = fixture;
    return descriptor < 0 ? -1 : close(descriptor);
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    unlink(fixture->path);
    arena_clear(&fixture->arena);
    free(fixture);
    return 0;
}

static const char *content(const Fixture *fixture)
{
    static char text[100];
    FILE *file = fopen(fixture->path, "r");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void wait_until(const Fixture *fixture, const char *wanted)
{
    int64_t deadline_us = clock_monotonic_us() + (int64_t)30 * 1000000;
    while (strcmp(content(fixture), wanted) != 0 && clock_monotonic_us() < deadline_us) {
        clock_sleep_ms(5, NULL);
    }
    assert_string_equal(content(fixture), wanted);
}

static ConfirmedChange *start(Fixture *fixture)
{
    ConfirmedChange *trial = NULL;
    if (!confirmed_change_start(&fixture->arena, &fixture->spec, &trial, NULL, &fixture->err)) {
        fail_msg("%s", fixture->err.text);
    }
    assert_string_equal(content(fixture), "new ");
    return trial;
}

static void a_confirmed_change_is_kept(void **state)
{
    Fixture *fixture = *state;
    ConfirmedChange *trial = start(fixture);
    assert_true(confirmed_change_keep(&trial, &fixture->err));
    assert_null(trial);
    assert_string_equal(content(fixture), "new ");
}

static void a_change_is_reverted_on_request(void **state)
{
    Fixture *fixture = *state;
    ConfirmedChange *trial = start(fixture);
    assert_true(confirmed_change_undo(&trial, &fixture->err));
    assert_string_equal(content(fixture), "new old ");
    trial = NULL;
    confirmed_change_close(trial);
}

static void a_change_is_reverted_after_the_timeout(void **state)
{
    Fixture *fixture = *state;
    fixture->spec.timeout_ms = 20;
    ConfirmedChange *trial = start(fixture);
    wait_until(fixture, "new old ");
    assert_false(confirmed_change_keep(&trial, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_TIMEOUT);
    assert_string_equal(content(fixture), "new old ");
}

static void a_change_is_reverted_if_its_process_is_killed(void **state)
{
    Fixture *fixture = *state;
    pid_t pid = fork();
    if (pid == 0) {
        ConfirmedChange *trial;
        if (confirmed_change_start(&fixture->arena, &fixture->spec, &trial, NULL, &fixture->err)) {
            kill(getpid(), SIGKILL);
        }
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    wait_until(fixture, "new old ");
}

static void a_program_that_fails_has_changed_nothing(void **state)
{
    Fixture *fixture = *state;
    ConfirmedChange *trial = NULL;
    Str reported = STR_EMPTY;
    fixture->argv[2] = "echo no >&2; exit 1";
    assert_false(
        confirmed_change_start(&fixture->arena, &fixture->spec, &trial, &reported, &fixture->err));
    assert_str(reported, "no\n");
    assert_int_equal(fixture->err.kind, ERROR_OS);
    assert_null(trial);
    fixture->spec.program = "/nowhere/sh";
    assert_false(
        confirmed_change_start(&fixture->arena, &fixture->spec, &trial, &reported, &fixture->err));
    assert_string_equal(content(fixture), "");
}

static void failure_to_revert_is_reported(void **state)
{
    Fixture *fixture = *state;
    fixture->argv[2] = "read -r word; echo $word >> \"$0\"; test \"$word\" = new";
    ConfirmedChange *trial = NULL;
    assert_true(
        confirmed_change_start(&fixture->arena, &fixture->spec, &trial, NULL, &fixture->err));
    assert_false(confirmed_change_undo(&trial, &fixture->err));
    assert_string_equal(content(fixture), "new\nold\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_confirmed_change_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_change_is_reverted_on_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_change_is_reverted_after_the_timeout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_change_is_reverted_if_its_process_is_killed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_program_that_fails_has_changed_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(failure_to_revert_is_reported, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
