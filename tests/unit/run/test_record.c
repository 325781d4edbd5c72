#include "run/record.h"

#include "lang/json.h"
#include "scratch.h"

static Str printed(Scratch *scratch, Value v)
{
    Buf text = buf_make_in(&scratch->arena, BUF_UNLIMITED);
    Error err;
    assert_true(json_print(&text, v, NULL, &err));
    return buf_str(&text);
}

static void save(Scratch *scratch, const Directory *directory, const char *id, uint32_t kept)
{
    AUTO_CLEAR(RunRecord) record;
    Error err;
    run_record_init(&record, str_from_c(id));
    run_record_set(&record, "result", value_string(STR("ok")));
    assert_true(run_record_save(&record, directory, kept, &err));
}

static void a_record_is_read_back_without_its_secrets(void **state)
{
    Scratch *scratch = *state;
    Arena *arena = &scratch->arena;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    assert_true(directory_open(scratch->path, &directory, &err));
    Map *variables = map_new(arena, 4);
    List *keys = list_new(arena, 2);
    list_push(arena, keys, value_with_secret(value_string(STR("hunter2"))));
    list_push(arena, keys, value_int(7));
    map_set_str(arena, variables, STR("keys"), value_list(keys));
    map_set_str(arena, variables, STR("port"), value_int(80));
    map_set_str(arena, variables, STR("none"), value_missing());
    AUTO_CLEAR(RunRecord) record;
    run_record_init(&record, STR("20260131T081530-3f2a"));
    run_record_set(&record, "variables", value_map(variables));
    run_record_set(&record, "result", value_string(STR("changed")));
    assert_true(run_record_save(&record, &directory, RECORDS_RETAINED, &err));
    Value back;
    assert_true(run_record_load(&directory, arena, STR_EMPTY, &back, &err));
    assert_str(printed(scratch, back),
               "{\"format\":\"eden.record/1\",\"run\":\"20260131T081530-3f2a\",\"variables\":"
               "{\"keys\":[\"(secret)\",7],\"port\":80,\"none\":\"undefined\"},"
               "\"result\":\"changed\"}");
    assert_str(value_str(keys->items[0]), "hunter2");
}

static void the_latest_records_are_kept_and_found(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    Value back;
    Str *ids;
    uint32_t count;
    assert_true(directory_open(scratch->path, &directory, &err));
    assert_true(run_records_list(&directory, &scratch->arena, &ids, &count, &err));
    assert_int_equal(count, 0);
    assert_false(run_record_load(&directory, &scratch->arena, STR_EMPTY, &back, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    static const char *const made[] = { "20260101T0000-a", "20260102T0000-b", "20260103T0000-c",
                                        "20260103T0000-cd" };
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        save(scratch, &directory, made[i], 3);
    }
    assert_true(run_records_list(&directory, &scratch->arena, &ids, &count, &err));
    assert_int_equal(count, 3);
    assert_str(ids[0], "20260102T0000-b");
    assert_str(ids[2], "20260103T0000-cd");
    assert_true(run_record_load(&directory, &scratch->arena, STR("20260102"), &back, &err));
    assert_str(value_str(*value_get(back, STR("run"))), "20260102T0000-b");
    assert_true(run_record_load(&directory, &scratch->arena, STR("20260103T0000-c"), &back, &err));
    assert_str(value_str(*value_get(back, STR("run"))), "20260103T0000-c");
    assert_false(run_record_load(&directory, &scratch->arena, STR("2026010"), &back, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_false(run_record_load(&directory, &scratch->arena, STR("1999"), &back, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void a_damaged_record_is_an_error(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    Value back;
    assert_true(directory_open(scratch->path, &directory, &err));
    scratch_put(scratch, "runs/20260101T0000-a.json", "{\"format\":");
    assert_false(run_record_load(&directory, &scratch->arena, STR_EMPTY, &back, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_true(str_starts(str_from_c(err.text), STR("the record of run 20260101T0000-a: ")));
}

static void ids_sort_by_time_and_fit_a_file_name(void **state)
{
    Scratch *scratch = *state;
    Str id = run_id_make(&scratch->arena);
    assert_int_equal(id.len, 24);
    assert_true(str_starts(id, STR("20")));
    assert_int_equal(id.data[8], 'T');
    assert_int_equal(id.data[15], '.');
    assert_int_equal(id.data[19], '-');
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(a_record_is_read_back_without_its_secrets),
        SCRATCH_TEST(the_latest_records_are_kept_and_found),
        SCRATCH_TEST(a_damaged_record_is_an_error),
        SCRATCH_TEST(ids_sort_by_time_and_fit_a_file_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
