#include "cluster/change.h"

#include "scratch.h"

static void markers_name_their_format(void **state)
{
    Scratch *scratch = *state;
    assert_str(grants_record(&scratch->arena, STR("id\"1")),
               "{\"format\":\"eden.grants/1\",\"last\":\"id\\\"1\"}");
    assert_str(grants_record(&scratch->arena, STR_EMPTY), "{\"format\":\"eden.grants/1\"}");
    assert_str(excluded_record(&scratch->arena), "{\"format\":\"eden.without/1\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(markers_name_their_format, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
