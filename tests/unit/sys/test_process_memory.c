/* Pages that are reloaded, and those that must not be dropped. */
#include "sys/process_memory.h"

#include <stdlib.h>

#include "sys/own_usage.h"
#include "unit.h"

/* The segments of a program: constant, relocated, initialized, uninitialized. */
static const char constant[] = "constant";
static const char *const relocated[] = { constant };
static int with_value = 1;
static int without_value;
static _Thread_local int of_thread = 1;

static void modified_pages_stay_and_others_are_reloaded(void **state)
{
    char *on_heap = strdup("on the heap");
    with_value = without_value = of_thread = 2;
    int64_t before = own_usage().resident_bytes;
    process_memory_release();
    int64_t after = own_usage().resident_bytes;
    assert_true(after < before);
    assert_string_equal(relocated[0], "constant");
    assert_int_equal(with_value + without_value + of_thread, 6);
    assert_string_equal(on_heap, "on the heap");
    free(on_heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modified_pages_stay_and_others_are_reloaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
