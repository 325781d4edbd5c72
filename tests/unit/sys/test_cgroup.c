/* Limits of a cgroup, in directories that imitate one. Real cgroups are tested in tests/system. */
#include "sys/cgroup.h"

#include <stdlib.h>
#include <unistd.h>

#include "scratch.h"
#include "sys/file.h"

static Str text_of(Scratch *scratch, const char *name)
{
    Str text;
    Error err;
    assert_true(file_read(&scratch->arena, scratch_place(scratch, name), 100, &text, &err));
    return text;
}

static void limits_are_enabled_and_set(void **state)
{
    Scratch *scratch = *state;
    CgroupLimits limits = { .memory_bytes = 1 << 20, .tasks = 64 };
    Error err;
    scratch_put(scratch, "unit/cgroup.subtree_control", "");
    scratch_put(scratch, "unit/run/memory.max", "");
    scratch_put(scratch, "unit/run/pids.max", "");
    assert_true(cgroup_limit(scratch_place(scratch, "unit/run"), &limits, &err));
    assert_str(text_of(scratch, "unit/run/memory.max"), "1048576");
    assert_str(text_of(scratch, "unit/run/pids.max"), "64");
    assert_true(str_find(text_of(scratch, "unit/cgroup.subtree_control"), STR("+pids"), 0) !=
                STR_NOT_FOUND);
}

static void a_missing_controller_is_told(void **state)
{
    Scratch *scratch = *state;
    CgroupLimits limits = { .memory_bytes = 1 << 20, .tasks = 64 };
    Error err;
    scratch_put(scratch, "unit/run/pids.max", "");
    assert_false(cgroup_limit(scratch_place(scratch, "unit/run"), &limits, &err));
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "cannot limit memory"));
    assert_null(strstr(err.text, "processes"));
    assert_str(text_of(scratch, "unit/run/pids.max"), "64"); /* nevertheless */
    limits.memory_bytes = 0;
    assert_true(cgroup_limit(scratch_place(scratch, "unit/run"), &limits, &err));
    assert_true(cgroup_limit("/nonexistent/run", &(CgroupLimits){ 0 }, &err));
}

/* If this machine has cgroup2. */
static void the_group_of_a_unit_is_next_to_the_own_one(void **state)
{
    Scratch *scratch = *state;
    const char *below, *of_unit;
    Error err;
    if (!cgroup_path(&scratch->arena, "run", &below, &err)) {
        assert_false(cgroup_unit_path(&scratch->arena, "run", &of_unit, &err));
        return;
    }
    assert_true(cgroup_unit_path(&scratch->arena, "run", &of_unit, &err));
    bool is_own = strstr(below, "/" CGROUP_OWN "/run") != NULL;
    assert_int_equal(strcmp(below, of_unit) == 0, !is_own);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)

static bool is_run(void *context, Str name)
{
    return str_starts(name, STR("run"));
}

/* What a real group holds besides groups does not prevent its removal. */
static void only_groups_without_processes_are_swept(void **state)
{
    Scratch *scratch = *state;
    static const char *const groups[] = { "empty-run", "run1", "run2", "run3" };
    Error err;
    scratch_put(scratch, "unit/empty-run/cgroup.events", "populated 0\nfrozen 0\n");
    scratch_put(scratch, "unit/run1/cgroup.events", "populated 0\nfrozen 0\n");
    scratch_put(scratch, "unit/run2/cgroup.events", "populated 1\nfrozen 0\n");
    scratch_put(scratch, "unit/run3/other", "");
    scratch_put(scratch, "unit/run4", "");
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        Str below = arena_format(&scratch->arena, "unit/%s/below", groups[i]);
        assert_true(
            cgroup_make(scratch_place(scratch, arena_copy_c(&scratch->arena, below)), &err));
    }
    cgroup_sweep(scratch_place(scratch, "unit"), is_run, NULL);
    cgroup_sweep(scratch_place(scratch, "missing"), is_run, NULL);
    assert_int_equal(access(scratch_place(scratch, "unit/empty-run/below"), F_OK), 0);
    assert_int_equal(access(scratch_place(scratch, "unit/run1/below"), F_OK), -1);
    assert_int_equal(access(scratch_place(scratch, "unit/run2/below"), F_OK), 0);
    assert_int_equal(access(scratch_place(scratch, "unit/run3/below"), F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(limits_are_enabled_and_set),
        TEST(a_missing_controller_is_told),
        TEST(the_group_of_a_unit_is_next_to_the_own_one),
        TEST(only_groups_without_processes_are_swept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
