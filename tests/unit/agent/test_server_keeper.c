/* Supervision of a server, with a script in its place. */
#include "agent/server_keeper.h"

#include <signal.h>

#include "membership/authority.h"
#include "net/world.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    ServerKeeper *keeper;
    bool stopped;
    bool elsewhere;
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
    server_keeper_free(f->keeper);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

/* The script appends a line with its arguments at each start. */
static void make_keeper(Fixture *f, const char *script)
{
    const char *place = scratch_place(f->scratch, "program");
    scratch_put(f->scratch, "program",
                arena_format(&f->scratch->arena, "#!/bin/sh\necho \"$@\" >> %s/started\n%s\n%c",
                             f->scratch->path, script, 0)
                    .data);
    assert_int_equal(chmod(place, 0755), 0);
    f->keeper =
        server_keeper_new(&(ServerKeeperOptions){ .loop = f->world.loop,
                                                  .state_dir = scratch_place(f->scratch, "state"),
                                                  .run_dir = "run",
                                                  .program = place,
                                                  .log_level = "info",
                                                  .log_format = "human",
                                                  .elsewhere = f->elsewhere });
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
        assert_non_null(strstr(line, " --run-dir run --with "));
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
    server_keeper_stop(f->keeper, stopped, f);
    assert_false(f->stopped);
    while (!f->stopped) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(server_keeper_status(f->keeper).state, KEEPER_STOPPED);
}

static void without_a_cluster_nothing_is_started(void **state)
{
    Fixture *f = *state;
    make_keeper(f, "exit 0");
    server_keeper_look(f->keeper);
    assert_int_equal(server_keeper_status(f->keeper).state, KEEPER_ABSENT);
    stop(f);
    assert_int_equal(starts(f), 0);
}

static void it_is_started_when_a_cluster_is_created(void **state)
{
    Fixture *f = *state;
    make_keeper(f, "exec sleep 100");
    server_keeper_look(f->keeper);
    found(f);
    server_keeper_look(f->keeper);
    assert_int_equal(server_keeper_status(f->keeper).state, KEEPER_RUNNING);
    server_keeper_look(f->keeper); /* it is never started twice */
    while (starts(f) == 0) {
        world_pass(&f->world, 1);
    }
    stop(f);
    assert_int_equal(starts(f), 1);
}

static void a_server_in_another_unit_is_not_touched(void **state)
{
    Fixture *f = *state;
    f->elsewhere = true;
    make_keeper(f, "exit 0");
    server_keeper_look(f->keeper);
    assert_int_equal(server_keeper_status(f->keeper).state, KEEPER_ABSENT);
    found(f);
    server_keeper_look(f->keeper);
    assert_int_equal(server_keeper_status(f->keeper).state, KEEPER_ELSEWHERE);
    assert_int_equal(unlink(scratch_place(f->scratch, "state/server/server.json")), 0);
    server_keeper_look(f->keeper);
    assert_int_equal(server_keeper_status(f->keeper).state, KEEPER_ABSENT);
    found(f);
    server_keeper_look(f->keeper);
    stop(f);
    assert_int_equal(starts(f), 0);
}

static void an_exited_server_is_restarted(void **state)
{
    Fixture *f = *state;
    found(f);
    make_keeper(f, "exit 3");
    server_keeper_look(f->keeper);
    while (server_keeper_status(f->keeper).ends < 2) {
        world_pass(&f->world, 1);
    }
    KeeperStatus status = server_keeper_status(f->keeper);
    assert_int_equal(status.state, KEEPER_WAITING);
    assert_string_equal(status.why, "exited with status 3");
    assert_int_equal(starts(f), 2);
    stop(f);
}

static void a_killed_server_is_restarted(void **state)
{
    Fixture *f = *state;
    found(f);
    make_keeper(f, "exec sleep 100");
    server_keeper_look(f->keeper);
    pid_t first = server_keeper_status(f->keeper).number;
    kill(first, SIGKILL);
    while (server_keeper_status(f->keeper).ends == 0 ||
           server_keeper_status(f->keeper).number == 0) {
        world_pass(&f->world, 1);
    }
    assert_true(server_keeper_status(f->keeper).number != first);
    stop(f);
}

/* Settings removed while it was down: it is not started. */
static void a_removed_server_is_not_started(void **state)
{
    Fixture *f = *state;
    found(f);
    make_keeper(f, "exit 1");
    server_keeper_look(f->keeper);
    while (server_keeper_status(f->keeper).ends == 0) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(remove(scratch_place(f->scratch, "state/server/server.json")), 0);
    while (server_keeper_status(f->keeper).state != KEEPER_ABSENT) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(starts(f), 1);
    assert_string_equal(server_keeper_status(f->keeper).why, "exited with status 1");
}

/* The CA shows that there was a cluster, so the settings were lost. */
static void lost_settings_are_reported(void **state)
{
    Fixture *f = *state;
    found(f);
    scratch_put(f->scratch, "state/server/" AUTHORITY_CA, "");
    make_keeper(f, "exit 1");
    server_keeper_look(f->keeper);
    while (server_keeper_status(f->keeper).ends == 0) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(remove(scratch_place(f->scratch, "state/server/server.json")), 0);
    while (server_keeper_status(f->keeper).state != KEEPER_ABSENT) {
        world_pass(&f->world, 1);
    }
    assert_non_null(strstr(server_keeper_status(f->keeper).why, "server.json is missing"));
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
