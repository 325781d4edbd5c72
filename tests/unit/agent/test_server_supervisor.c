/* Supervision of a server, with a script in its place. */
#include "agent/server_supervisor.h"

#include <signal.h>

#include "membership/authority.h"
#include "net/world.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    ServerSupervisor *supervisor;
    bool stopped;
    bool is_external;
} Fixture;

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    server_supervisor_free(f->supervisor);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

/* The script appends a line with its arguments at each start. */
static void make_supervisor(Fixture *f, const char *script)
{
    const char *place = scratch_place(f->scratch, "program");
    scratch_put(f->scratch, "program",
                arena_format(&f->scratch->arena, "#!/bin/sh\necho \"$@\" >> %s/started\n%s\n%c",
                             f->scratch->path, script, 0)
                    .data);
    assert_int_equal(chmod(place, 0755), 0);
    f->supervisor = server_supervisor_new(
        &(ServerSupervisorOptions){ .loop = f->world.loop,
                                    .state_dir = scratch_place(f->scratch, "state"),
                                    .run_dir = "run",
                                    .program = place,
                                    .log_level = "info",
                                    .log_format = "human",
                                    .is_external = f->is_external });
}

static void found(Fixture *f)
{
    scratch_put(f->scratch, "state/server/server.json", "{}");
}

static uint32_t starts(Fixture *f)
{
    FILE *file = fopen(scratch_place(f->scratch, "started"), "r");
    uint32_t lines = 0;
    char line[512];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        assert_non_null(strstr(line, "serve --state-dir "));
        assert_non_null(strstr(line, " --run-dir run --parent-pid "));
        lines++;
    }
    if (file != NULL) {
        fclose(file);
    }
    return lines;
}

static void stopped(void *context)
{
    Fixture *f = context;
    f->stopped = true;
}

static void stop(Fixture *f)
{
    server_supervisor_stop(f->supervisor, stopped, f);
    assert_false(f->stopped);
    while (!f->stopped) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(server_supervisor_status(f->supervisor).state, SUPERVISOR_STOPPED);
}

static void without_a_cluster_nothing_is_started(void **state)
{
    Fixture *f = *state;
    make_supervisor(f, "exit 0");
    server_supervisor_check(f->supervisor);
    assert_int_equal(server_supervisor_status(f->supervisor).state, SUPERVISOR_ABSENT);
    stop(f);
    assert_int_equal(starts(f), 0);
}

static void it_is_started_when_a_cluster_is_created(void **state)
{
    Fixture *f = *state;
    make_supervisor(f, "exec sleep 100");
    server_supervisor_check(f->supervisor);
    found(f);
    server_supervisor_check(f->supervisor);
    assert_int_equal(server_supervisor_status(f->supervisor).state, SUPERVISOR_RUNNING);
    server_supervisor_check(f->supervisor); /* it is never started twice */
    while (starts(f) == 0) {
        world_pass(&f->world, 1);
    }
    stop(f);
    assert_int_equal(starts(f), 1);
}

static void a_server_in_another_unit_is_not_touched(void **state)
{
    Fixture *f = *state;
    f->is_external = true;
    make_supervisor(f, "exit 0");
    server_supervisor_check(f->supervisor);
    assert_int_equal(server_supervisor_status(f->supervisor).state, SUPERVISOR_ABSENT);
    found(f);
    server_supervisor_check(f->supervisor);
    assert_int_equal(server_supervisor_status(f->supervisor).state, SUPERVISOR_EXTERNAL);
    assert_int_equal(unlink(scratch_place(f->scratch, "state/server/server.json")), 0);
    server_supervisor_check(f->supervisor);
    assert_int_equal(server_supervisor_status(f->supervisor).state, SUPERVISOR_ABSENT);
    found(f);
    server_supervisor_check(f->supervisor);
    stop(f);
    assert_int_equal(starts(f), 0);
}

static void an_exited_server_is_restarted(void **state)
{
    Fixture *f = *state;
    found(f);
    make_supervisor(f, "exit 3");
    server_supervisor_check(f->supervisor);
    while (server_supervisor_status(f->supervisor).exits < 2) {
        world_pass(&f->world, 1);
    }
    SupervisorStatus status = server_supervisor_status(f->supervisor);
    assert_int_equal(status.state, SUPERVISOR_WAITING);
    assert_string_equal(status.why, "exited with status 3");
    assert_int_equal(starts(f), 2);
    stop(f);
}

static void a_killed_server_is_restarted(void **state)
{
    Fixture *f = *state;
    found(f);
    make_supervisor(f, "exec sleep 100");
    server_supervisor_check(f->supervisor);
    pid_t first = server_supervisor_status(f->supervisor).pid;
    kill(first, SIGKILL);
    while (server_supervisor_status(f->supervisor).exits == 0 ||
           server_supervisor_status(f->supervisor).pid == 0) {
        world_pass(&f->world, 1);
    }
    assert_true(server_supervisor_status(f->supervisor).pid != first);
    stop(f);
}

/* Settings removed while it was down: it is not started. */
static void a_removed_server_is_not_started(void **state)
{
    Fixture *f = *state;
    found(f);
    make_supervisor(f, "exit 1");
    server_supervisor_check(f->supervisor);
    while (server_supervisor_status(f->supervisor).exits == 0) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(remove(scratch_place(f->scratch, "state/server/server.json")), 0);
    while (server_supervisor_status(f->supervisor).state != SUPERVISOR_ABSENT) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(starts(f), 1);
    assert_string_equal(server_supervisor_status(f->supervisor).why, "exited with status 1");
}

/* The CA shows that there was a cluster, so the settings were lost. */
static void lost_settings_are_reported(void **state)
{
    Fixture *f = *state;
    found(f);
    scratch_put(f->scratch, "state/server/" AUTHORITY_CA, "");
    make_supervisor(f, "exit 1");
    server_supervisor_check(f->supervisor);
    while (server_supervisor_status(f->supervisor).exits == 0) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(remove(scratch_place(f->scratch, "state/server/server.json")), 0);
    while (server_supervisor_status(f->supervisor).state != SUPERVISOR_ABSENT) {
        world_pass(&f->world, 1);
    }
    assert_non_null(strstr(server_supervisor_status(f->supervisor).why, "server.json is missing"));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(without_a_cluster_nothing_is_started),
        ROW(it_is_started_when_a_cluster_is_created),
        ROW(a_server_in_another_unit_is_not_touched),
        ROW(an_exited_server_is_restarted),
        ROW(a_killed_server_is_restarted),
        ROW(a_removed_server_is_not_started),
        ROW(lost_settings_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
