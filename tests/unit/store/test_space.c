/* What is accepted while the disk is full. */
#include <sys/stat.h>

#include "disk_room.h"
#include "scratch.h"
#include "store/local_store.h"

static void transactions_that_can_put_need_space(void **state)
{
    static const StoreOp put = { .kind = STORE_PUT }, delete = { .kind = STORE_DELETE };
    static const struct {
        JobKind kind;
        const StoreOp *success, *failure;
        bool urgent, needs_room;
    } rows[] = {
        { JOB_TXN, &put, NULL, false, true },      { JOB_TXN, NULL, &put, false, true },
        { JOB_TXN, &put, &delete, false, true },   { JOB_TXN, &delete, &delete, false, false },
        { JOB_TXN, NULL, NULL, false, false },     { JOB_TXN, &put, &put, true, false },
        { JOB_GRANT, NULL, NULL, false, true },    { JOB_REVOKE, NULL, NULL, false, false },
        { JOB_COMPACT, NULL, NULL, false, false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Job job = { .kind = rows[i].kind,
                    .txn = { .success = rows[i].success,
                             .success_count = rows[i].success != NULL,
                             .failure = rows[i].failure,
                             .failure_count = rows[i].failure != NULL,
                             .urgent = rows[i].urgent } };
        if (job_needs_space(&job) != rows[i].needs_room) {
            fail_msg("row %zu", i);
        }
    }
}

static void only_reserved_leases_are_granted_on_a_full_disk(void **state)
{
    char path[] = "store.db";
    LocalStore store = { .path = path, .space = { .is_low = true } };
    Job lease = { .kind = JOB_GRANT }, reserved = { .kind = JOB_GRANT, .txn = { .urgent = true } };
    Error err;
    assert_true(space_refuses(&store, &lease, &err));
    assert_non_null(strstr(err.text, "the disk is full"));
    assert_false(space_refuses(&store, &reserved, &err));
    assert_true(job_needs_space(&reserved)); /* the reserve is for others */
    store.space.is_low = false;
    assert_false(space_refuses(&store, &lease, &err));
}

static void the_reserve_and_free_pages_count_as_space(void **state)
{
    static const struct {
        StoreSpace space;
        int64_t free, free_bytes;
        bool is_low;
    } rows[] = {
        { { .bytes = 100, .held = 100 }, 50, 0, false },
        { { .bytes = 100, .held = 100 }, 49, 0, true },
        { { .bytes = 100, .held = 100 }, 49, 1, false },
        { { .bytes = 100, .held = 25 }, 124, 0, true }, /* what a full disk had left for it */
        { { .bytes = 100, .held = 25 }, 125, 0, false },
        { { .bytes = 100 }, 149, 0, true },
        { { .bytes = 100 }, 150, 0, false },
        { { .bytes = 0 }, 0, 0, false }, /* no reserve */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (space_is_low(&rows[i].space, rows[i].free, rows[i].free_bytes) != rows[i].is_low) {
            fail_msg("row %zu", i);
        }
    }
}

/* The reserve is 1/64 of a small disk, and half of it is for the log. */
static void the_log_is_short_on_a_small_disk(void **state)
{
    enum {
        SHORTEST = STORE_RESERVE_MIN / 2 / 4096
    };
    static const struct {
        int64_t disk, reserve;
        uint32_t setting, pages;
    } rows[] = {
        { 1 << 20, STORE_RESERVE_MIN, 0, SHORTEST },
        { 1 << 20, STORE_RESERVE_MIN, 1, 1 },
        { 1 << 20, STORE_RESERVE_MIN, SHORTEST + 1, SHORTEST + 1 },
        { (int64_t)64 * 2 * 4096 * 1000, 2 * 4096 * 1000, 0, 1000 },
        { (int64_t)64 * 2 * 4096 * 1999, 2 * 4096 * 1999, 0, 1999 },
        { (int64_t)1 << 40, STORE_RESERVE_MAX, 0, 0 }, /* the default */
    };
    Scratch *scratch = *state;
    Error err;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        LocalStore store = { .settings = { .reserve = true, .wal_pages = rows[i].setting } };
        assert_true(directory_open(scratch->path, &store.directory, &err));
        disk_size = rows[i].disk;
        space_init(&store);
        directory_close(&store.directory);
        if (store.space.bytes != rows[i].reserve || store.settings.wal_pages != rows[i].pages) {
            fail_msg("row %zu: %lld, %u", i, (long long)store.space.bytes,
                     store.settings.wal_pages);
        }
    }
    disk_size = (int64_t)1 << 40;
}

static int64_t reserved(Scratch *scratch)
{
    struct stat status;
    bool is_there = stat(scratch_place(scratch, "store.reserve"), &status) == 0;
    return is_there ? (int64_t)status.st_blocks * 512 : 0;
}

static void open_and_close(Scratch *scratch, bool reserve)
{
    StoreSettings settings = { .reserve = reserve };
    Loop *loop = loop_new_virtual(1);
    Store *store;
    Error err;
    assert_true(store_open_sqlite(loop, scratch->path, &settings, &store, &err));
    store_close(store);
    loop_free(loop);
}

static void space_is_reserved_when_the_store_opens(void **state)
{
    Scratch *scratch = *state;
    open_and_close(scratch, false);
    assert_int_equal(reserved(scratch), 0);
    open_and_close(scratch, true);
    assert_in_range(reserved(scratch), STORE_RESERVE_MIN, STORE_RESERVE_MAX);
}

typedef struct Answer {
    bool is_done;
    ErrorKind kind;
    char text[200];
} Answer;

static void answered(void *context, const StoreReply *reply, const Error *err)
{
    Answer *answer = context;
    assert_false(answer->is_done);
    answer->is_done = true;
    if (err != NULL) {
        answer->kind = err->kind;
        snprintf(answer->text, sizeof answer->text, "%.199s", err->text);
    }
}

/* Writes of one group: what needs space is rejected, without an effect on the others. Without
 * space, history is not kept either. */
static void a_full_disk_rejects_only_what_needs_space(void **state)
{
    Scratch *scratch = *state;
    Loop *loop = loop_new_virtual(1);
    StoreSettings settings = { 0 };
    Store *store;
    Error err;
    Answer old = { 0 }, put = { 0 }, removal = { 0 };
    assert_true(store_open_sqlite(loop, scratch->path, &settings, &store, &err));
    assert_true(store_put(store, STR("old"), STR("x"), 0, answered, &old, &err));
    loop_run_virtual_until(loop, 0);
    assert_int_equal(store_status(store).compacted, 0);
    ((LocalStore *)store)->space.bytes = INT64_MAX / 4; /* more than any disk has */
    assert_true(store_put(store, STR("new"), STR("x"), 0, answered, &put, &err));
    assert_true(store_delete(store, STR("old"), answered, &removal, &err));
    loop_run_virtual_until(loop, 0);
    assert_true(old.is_done && put.is_done && removal.is_done);
    assert_int_equal(put.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(put.text, "the disk is full"));
    assert_int_equal(removal.kind, ERROR_NONE);
    StoreStatus status = store_status(store);
    assert_int_equal(status.revision, 2);
    assert_int_equal(status.compacted, 2);
    store_close(store);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transactions_that_can_put_need_space),
        cmocka_unit_test(only_reserved_leases_are_granted_on_a_full_disk),
        cmocka_unit_test(the_reserve_and_free_pages_count_as_space),
        cmocka_unit_test_setup_teardown(the_log_is_short_on_a_small_disk, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_rejects_only_what_needs_space, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(space_is_reserved_when_the_store_opens, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
