#include "base/memory.h"

#include <stdlib.h>

#include "unit.h"

static void new_memory_is_zeroed(void **state)
{
    unsigned char *memory = memory_new(4096);
    for (size_t i = 0; i < 4096; i++) {
        assert_int_equal(memory[i], 0);
    }
    free(memory);
}

static void out_of_memory_aborts(void **state)
{
    assert_bug(memory_exhausted(42));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_memory_is_zeroed),
        cmocka_unit_test(out_of_memory_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
