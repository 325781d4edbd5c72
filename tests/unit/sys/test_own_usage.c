/* Resource usage of the process itself. */
#include "sys/own_usage.h"

#include "unit.h"

static void a_process_uses_resources(void **state)
{
    OwnUsage before = own_usage();
    int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    OwnUsage with = own_usage();
    close(descriptor);
    assert_true(before.resident_bytes > 100 * 1024);
    assert_true(before.virtual_bytes >= before.resident_bytes);
    assert_int_equal(with.descriptors, before.descriptors + 1);
    assert_true(before.descriptors_max == 0 || before.descriptors_max > before.descriptors);
    assert_true(with.cpu_us >= before.cpu_us);
    assert_true(before.threads >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_uses_resources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
