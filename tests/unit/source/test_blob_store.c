/* Blobs: written once, verified when they are read, and removed when nothing refers to them. */
#include "source/blob_store.h"

#include <time.h>
#include <utime.h>

#include "scratch.h"
#include "syncs.h"
#include "sys/directory.h"

static BlobStore *open_store(Scratch *scratch)
{
    BlobStore *store;
    Error err;
    assert_true(blob_store_open(scratch_place(scratch, "blobs"), &store, &err));
    return store;
}

static Str put(Scratch *scratch, BlobStore *store, Str data)
{
    char *id = ARENA_ARRAY(&scratch->arena, char, BLOB_ID_TEXT + 1);
    Error err;
    blob_id_of(data, id);
    assert_true(blob_store_put(store, str_from_c(id), data, &err));
    return str_from_c(id);
}

static const char *file_of(Scratch *scratch, Str id)
{
    Str name = arena_format(&scratch->arena, "blobs/%.2s/%" STR_FMT, id.data, STR_ARG(id));
    return scratch_place(scratch, name.data);
}

static void set_age(const char *path, int64_t age_s)
{
    struct utimbuf times = { time(NULL) - age_s, time(NULL) - age_s };
    assert_int_equal(utime(path, &times), 0);
}

static void test_a_blob_survives_a_round_trip(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    Str id = put(scratch, store, STR("a\0b")), read;
    Error err;
    assert_true(blob_store_has(store, id));
    assert_true(blob_store_read(store, &scratch->arena, id, &read, &err));
    assert_true(str_eq(read, STR("a\0b")));
    assert_true(str_eq(put(scratch, store, STR("a\0b")), id));
}

static void test_a_blob_is_durable_or_not_there(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    char id[BLOB_ID_TEXT + 1];
    Error err;
    syncs_forget();
    const char *file = file_of(scratch, put(scratch, store, STR("content")));
    assert_true(is_synced(file));
    assert_true(
        is_synced(arena_copy_c(&scratch->arena, str_from(file, strlen(file) - BLOB_ID_TEXT - 1))));
    blob_id_of(STR("other"), id);
    syncs_fail = true;
    assert_false(blob_store_put(store, str_from_c(id), STR("other"), &err));
    syncs_fail = false;
    assert_false(blob_store_has(store, str_from_c(id)));
}

static void test_data_with_another_hash_is_rejected(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    Str id = put(scratch, store, STR("one"));
    Error err;
    assert_false(blob_store_put(store, id, STR("two"), &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_false(blob_store_put(store, STR("../../etc/passwd"), STR("two"), &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_false(blob_store_has(store, STR("../..")));
}

static void test_a_damaged_blob_counts_as_missing(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    Str id = put(scratch, store, STR("content")), read;
    Error err;
    FILE *file = fopen(file_of(scratch, id), "w");
    fputs("contemt", file);
    fclose(file);
    assert_true(blob_store_has(store, id));
    assert_false(blob_store_read(store, &scratch->arena, id, &read, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_false(blob_store_has(store, id));
    put(scratch, store, STR("content"));
    assert_true(blob_store_read(store, &scratch->arena, id, &read, &err));
}

static void test_a_missing_blob_is_not_found(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    char id[BLOB_ID_TEXT + 1];
    Error err;
    Str read;
    blob_id_of(STR("nothing"), id);
    assert_false(blob_store_has(store, str_from_c(id)));
    assert_false(blob_store_touch(store, str_from_c(id)));
    assert_false(blob_store_read(store, &scratch->arena, str_from_c(id), &read, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_str(arena_format(&scratch->arena, "blob %s not found", id), err.text);
}

static void test_leftovers_of_a_killed_writer_are_removed(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    Str id = put(scratch, store, STR("content"));
    const char *draft =
        arena_format(&scratch->arena, "%s.0123.new%c", file_of(scratch, id), '\0').data;
    FILE *file = fopen(draft, "w");
    fputs("cont", file);
    fclose(file);
    AUTO(BlobStore) *second = open_store(scratch);
    assert_int_equal(access(draft, F_OK), -1);
    assert_true(blob_store_has(second, id));
}

static void test_a_sweep_removes_old_blobs_that_are_not_kept(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    Str retained = put(scratch, store, STR("kept")), old = put(scratch, store, STR("old")),
        fresh = put(scratch, store, STR("fresh")), used = put(scratch, store, STR("used"));
    StrMap keep;
    BlobSweep sweep;
    Error err;
    str_map_init(&keep, &scratch->arena);
    str_map_put(&keep, retained, NULL);
    set_age(file_of(scratch, retained), 7200);
    set_age(file_of(scratch, old), 7200);
    set_age(file_of(scratch, used), 7200);
    assert_true(blob_store_touch(store, used));
    assert_true(blob_store_sweep(store, &keep, 3600 * 1000, &sweep, &err));
    assert_int_equal(sweep.removed, 1);
    assert_int_equal(sweep.removed_bytes, 3);
    assert_int_equal(sweep.retained, 3);
    assert_false(blob_store_has(store, old));
    assert_true(blob_store_has(store, retained));
    assert_true(blob_store_has(store, fresh));
    assert_true(blob_store_has(store, used));
}

/* Its writer is about to refer to it. */
static void test_a_blob_that_is_put_again_is_fresh(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    Str id = put(scratch, store, STR("content"));
    StrMap keep;
    BlobSweep sweep;
    Error err;
    str_map_init(&keep, &scratch->arena);
    set_age(file_of(scratch, id), 7200);
    put(scratch, store, STR("content"));
    assert_true(blob_store_sweep(store, &keep, 3600 * 1000, &sweep, &err));
    assert_int_equal(sweep.removed, 0);
    assert_true(blob_store_has(store, id));
}

static void test_a_sweep_that_cannot_read_fails(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    StrMap keep;
    BlobSweep sweep;
    Error err;
    str_map_init(&keep, &scratch->arena);
    assert_true(blob_store_sweep(store, &keep, 0, &sweep, &err)); /* nothing is there yet */
    scratch_link(scratch, "blobs/7f", "7f");
    assert_false(blob_store_sweep(store, &keep, 0, &sweep, &err));
}

static void test_a_blob_has_a_maximum_size(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    char id[BLOB_ID_TEXT + 1];
    Error err;
    char *data = arena_alloc_zero(&scratch->arena, BLOB_MANIFEST_MAX + 1);
    put(scratch, store, str_from(data, BLOB_MANIFEST_MAX));
    blob_id_of(str_from(data, BLOB_MANIFEST_MAX + 1), id);
    assert_false(
        blob_store_put(store, str_from_c(id), str_from(data, BLOB_MANIFEST_MAX + 1), &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_blob_survives_a_round_trip, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_blob_is_durable_or_not_there, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_data_with_another_hash_is_rejected, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_damaged_blob_counts_as_missing, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_missing_blob_is_not_found, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_leftovers_of_a_killed_writer_are_removed,
                                        scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_sweep_removes_old_blobs_that_are_not_kept,
                                        scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_blob_that_is_put_again_is_fresh, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_sweep_that_cannot_read_fails, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_blob_has_a_maximum_size, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
