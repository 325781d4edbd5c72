/* The kernel's data about the unit, on several kinds of machines. */
#include "sys/own_unit.h"

#include "scratch.h"
#include "sys/process.h"

static void put_machine(Scratch *s, const char *groups, const char *list)
{
    char numbers[64];
    snprintf(numbers, sizeof numbers, "17\n%lld\n18\n", (long long)process_own_pid());
    scratch_put(s, "proc/self/cgroup", groups);
    scratch_put(s, list, numbers);
}

static bool count(Scratch *s, int64_t kept, uint32_t *out, Error *err)
{
    AUTO_CLEAR(Tree) kernel;
    assert_true(tree_open(s->path, &kernel, err));
    return own_unit_count_others(&kernel, &kept, 1, out, err);
}

static void assert_others(Scratch *s, int64_t kept, uint32_t expected)
{
    uint32_t others;
    Error err;
    assert_true(count(s, kept, &others, &err));
    assert_int_equal(others, expected);
}

static void others_are_counted_in_the_unified_hierarchy(void **state)
{
    put_machine(*state, "0::/system.slice/eden.service\n",
                "sys/fs/cgroup/system.slice/eden.service/cgroup.procs");
    assert_others(*state, 0, 2);
    assert_others(*state, 18, 1);
}

static void others_are_counted_in_legacy_hierarchies(void **state)
{
    const char *groups = "2:cpu:/x\n1:name=systemd:/system.slice/eden.service\n0::/other\n";
    put_machine(*state, groups, "sys/fs/cgroup/systemd/system.slice/eden.service/cgroup.procs");
    scratch_put(*state, "sys/fs/cgroup/unified/other/cgroup.procs", "1\n2\n3\n");
    assert_others(*state, 0, 2);
}

static void others_are_counted_in_a_hybrid_hierarchy(void **state)
{
    put_machine(*state, "2:cpu:/\n0::/eden.service\n",
                "sys/fs/cgroup/unified/eden.service/cgroup.procs");
    assert_others(*state, 0, 2);
}

static void without_a_cgroup_nothing_is_known(void **state)
{
    uint32_t others;
    Error err;
    assert_false(count(*state, 0, &others, &err));
    scratch_put(*state, "proc/self/cgroup", "\n:\n0\n0:\n0::/eden.service\n");
    assert_false(count(*state, 0, &others, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void a_replaced_program_is_detected(void **state)
{
    Scratch *s = *state;
    AUTO_CLEAR(Tree) kernel;
    Error err;
    assert_true(tree_open(s->path, &kernel, &err));
    assert_false(own_unit_is_outdated(&kernel));
    scratch_link(s, "proc/self/exe", "/usr/bin/eden");
    assert_false(own_unit_is_outdated(&kernel));
    assert_int_equal(unlink(scratch_place(s, "proc/self/exe")), 0);
    scratch_link(s, "proc/self/exe", "/usr/bin/eden (deleted)");
    assert_true(own_unit_is_outdated(&kernel));
}

/* From the real kernel: for an existing program. */
static void this_program_is_up_to_date(void **state)
{
    AUTO_CLEAR(Tree) kernel;
    Error err;
    assert_true(tree_open("/", &kernel, &err));
    assert_false(own_unit_is_outdated(&kernel));
}

static void only_processes_started_by_systemd_are_kept(void **state)
{
    char number[24];
    unsetenv("SYSTEMD_EXEC_PID");
    assert_false(own_unit_is_main_process());
    setenv("SYSTEMD_EXEC_PID", "1", 1); /* one before it */
    assert_false(own_unit_is_main_process());
    snprintf(number, sizeof number, "%lld", (long long)process_own_pid());
    setenv("SYSTEMD_EXEC_PID", number, 1);
    assert_true(own_unit_is_main_process());
    unsetenv("SYSTEMD_EXEC_PID");
}

#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILES(others_are_counted_in_the_unified_hierarchy),
        WITH_FILES(others_are_counted_in_legacy_hierarchies),
        WITH_FILES(others_are_counted_in_a_hybrid_hierarchy),
        WITH_FILES(without_a_cgroup_nothing_is_known),
        WITH_FILES(a_replaced_program_is_detected),
        cmocka_unit_test(this_program_is_up_to_date),
        cmocka_unit_test(only_processes_started_by_systemd_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
