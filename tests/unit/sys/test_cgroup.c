/* Limits of a cgroup, in directories that imitate one. Real cgroups are tested in tests/system. */
#include "sys/cgroup.h"

#include <stdlib.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(limits_are_enabled_and_set),
        TEST(a_missing_controller_is_told),
        TEST(the_group_of_a_unit_is_next_to_the_own_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
