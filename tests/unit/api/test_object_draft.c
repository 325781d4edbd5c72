#include "api/object_draft.h"

#include "api/kind_rows.h"
#include "scratch.h"

/* A change is recorded before it is made, and made even if its client has disconnected by then. */
static void the_result_outlives_the_body(void **state)
{
    Scratch *scratch = *state;
    Arena *arena = &scratch->arena;
    char text[] = "{\"metadata\":{\"name\":\"cluster\",\"labels\":{\"dc\":\"fra\"}},"
                  "\"spec\":{\"title\":\"Blue\"}}";
    FieldProblems problems = { .count = 0 };
    ObjectBody body;
    KindDraft draft;
    Error err;
    assert_true(object_body_read(arena, &kind_config, str_from_c(text), &body, &problems, &err));
    memset(text, '?', sizeof text);
    object_draft(arena, &kind_config, &body, false, NULL, &draft, &problems);
    assert_int_equal(problems.count, 0);
    assert_str(draft.name, "cluster");
    assert_str(value_str(*value_get(draft.labels, STR("dc"))), "fra");
    assert_str(value_str(*value_get(draft.spec, STR("title"))), "Blue");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_result_outlives_the_body, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
