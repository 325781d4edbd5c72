#include "agent/upgrade_restart.h"

#include "scratch.h"
#include "sys/process.h"

#define GROUP "sys/fs/cgroup/eden.service/cgroup.procs"

typedef struct Fixture {
    Scratch *scratch;
    Loop *loop;
    UpgradeRestart upgrade_restart;
    int64_t server, etcd;
    uint32_t ends;
} Fixture;

static void list_excluded(void *context, int64_t out[UPGRADE_RESTART_EXCLUDED])
{
    const Fixture *f = context;
    out[0] = f->server;
    out[1] = f->etcd;
}

static void end(void *context)
{
    Fixture *f = context;
    f->ends++;
}

static void begin(Fixture *f, bool is_restarted)
{
    upgrade_restart_init(&f->upgrade_restart,
                         &(UpgradeRestartOptions){ .loop = f->loop,
                                                   .kernel = f->scratch->path,
                                                   .will_be_restarted = is_restarted,
                                                   .excluded = list_excluded,
                                                   .due = end,
                                                   .context = f });
}

static void put_program(Fixture *f, const char *target)
{
    unlink(scratch_place(f->scratch, "proc/self/exe"));
    scratch_link(f->scratch, "proc/self/exe", target);
}

/* The agent itself, and this text. */
static void put_group(Fixture *f, const char *others)
{
    char numbers[64];
    snprintf(numbers, sizeof numbers, "%lld\n%s", (long long)process_own_pid(), others);
    scratch_put(f->scratch, GROUP, numbers);
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    f->loop = loop_new_virtual(1);
    scratch_put(f->scratch, "proc/self/cgroup", "0::/eden.service\n");
    put_program(f, "/usr/bin/eden (deleted)");
    put_group(f, "");
    begin(f, true);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    upgrade_restart_stop(&f->upgrade_restart);
    loop_free(f->loop);
    free(f);
    return scratch_tear_down(state);
}

static void an_agent_of_the_same_program_stays(void **state)
{
    Fixture *f = *state;
    put_program(f, "/usr/bin/eden");
    upgrade_restart_check(&f->upgrade_restart);
    loop_run(f->loop);
    assert_int_equal(f->ends, 0);
}

static void an_agent_without_children_restarts(void **state)
{
    Fixture *f = *state;
    upgrade_restart_check(&f->upgrade_restart);
    assert_int_equal(f->ends, 0); /* not within the call */
    loop_run(f->loop);
    assert_int_equal(f->ends, 1);
}

static void running_children_are_waited_for(void **state)
{
    Fixture *f = *state;
    put_group(f, "41\n42\n");
    upgrade_restart_check(&f->upgrade_restart);
    loop_run_virtual_until(f->loop, 100 * UPGRADE_RESTART_CHECK_MS);
    put_group(f, "42\n");
    upgrade_restart_check(&f->upgrade_restart); /* again, like for a second upgrade */
    loop_run_virtual_until(f->loop, 200 * UPGRADE_RESTART_CHECK_MS);
    assert_int_equal(f->ends, 0);
    put_group(f, "");
    loop_run(f->loop);
    assert_int_equal(f->ends, 1);
}

static void its_server_and_etcd_are_not_waited_for(void **state)
{
    Fixture *f = *state;
    f->server = 42;
    f->etcd = 43;
    put_group(f, "42\n43\n");
    upgrade_restart_check(&f->upgrade_restart);
    loop_run(f->loop);
    assert_int_equal(f->ends, 1);
}

/* Nothing would start it again, or it would unknowingly take others along. */
static void it_stays_if_restarting_would_not_help(void **state)
{
    Fixture *f = *state;
    begin(f, false);
    upgrade_restart_check(&f->upgrade_restart);
    loop_run(f->loop);
    begin(f, true);
    assert_int_equal(unlink(scratch_place(f->scratch, GROUP)), 0);
    upgrade_restart_check(&f->upgrade_restart);
    loop_run(f->loop);
    assert_int_equal(f->ends, 0);
}

static void no_callback_after_stop(void **state)
{
    Fixture *f = *state;
    upgrade_restart_check(&f->upgrade_restart);
    upgrade_restart_stop(&f->upgrade_restart);
    loop_run(f->loop);
    assert_int_equal(f->ends, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_agent_of_the_same_program_stays),    TEST(an_agent_without_children_restarts),
        TEST(running_children_are_waited_for),       TEST(its_server_and_etcd_are_not_waited_for),
        TEST(it_stays_if_restarting_would_not_help), TEST(no_callback_after_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
