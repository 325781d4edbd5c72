#include "cli/run_limits.h"

#include "unit.h"

enum {
    MACHINE = 1 << 30 /* bytes of memory */
};

static void assert_memory(const char *text, int64_t expected)
{
    int64_t bytes;
    Error err;
    if (!run_memory_parse(str_from_c(text), MACHINE, &bytes, &err)) {
        assert_int_equal(expected, -1);
        return;
    }
    assert_int_equal(bytes, expected);
}

static void memory_is_a_size_or_a_share(void **state)
{
    assert_memory("none", 0);
    assert_memory("16777216", 16777216);
    assert_memory("65536K", 64 << 20);
    assert_memory("512M", 512 << 20);
    assert_memory("2G", INT64_C(2) << 30);
    assert_memory("1T", INT64_C(1) << 40);
    assert_memory("50%", MACHINE / 100 * 50);
    assert_memory("1%", 16 << 20);
    static const char *const wrong[] = { "",    "M",   "%",     "0",  "0%",  "101%",     "-1G",
                                         "1KM", "15M", "1.5 G", "1P", "9e9", "9999999T", "50%%" };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_memory(wrong[i], -1);
    }
}

static void tasks_are_a_number(void **state)
{
    static const char *const wrong[] = { "", "0", "15", "-16", "16K", "99999999999" };
    int64_t tasks;
    Error err;
    assert_true(run_tasks_parse(STR("none"), &tasks, &err));
    assert_int_equal(tasks, 0);
    assert_true(run_tasks_parse(STR("4096"), &tasks, &err));
    assert_int_equal(tasks, 4096);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_false(run_tasks_parse(str_from_c(wrong[i]), &tasks, &err));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_a_size_or_a_share),
        cmocka_unit_test(tasks_are_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
