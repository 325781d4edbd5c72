/* Invalid files, and the record of how far a file was purged. */
#include "store/sqlite_engine.h"

#include <errno.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scratch.h"
#include "store/local_store.h"

/* Replaces libc's, also for SQLite: syncs of the write-ahead log are counted. */
static _Atomic int log_syncs;

static int sync_by(long call, int descriptor)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t len = readlink(link, path, sizeof path - 1);
    path[len < 0 ? 0 : len] = '\0';
    log_syncs += strstr(path, "store.db-wal") != NULL;
    return (int)syscall(call, descriptor);
}

int fsync(int fd)
{
    return sync_by(SYS_fsync, fd);
}

int fdatasync(int fildes)
{
    return sync_by(SYS_fdatasync, fildes);
}

/* Replaces that of SQLite: writing fails with this error, if it is not 0. */
static _Atomic int write_error;

static ssize_t write_or_fail(int descriptor, const void *bytes, size_t count, off64_t offset)
{
    if (write_error != 0) {
        errno = write_error;
        return -1;
    }
    return pwrite64(descriptor, bytes, count, offset);
}

static Loop *loop_of(void)
{
    return loop_new_virtual(1);
}

/* Opens the directory as a store; returns the kind of the error. */
static ErrorKind open_kind(const char *directory, Error *err)
{
    AUTO(Loop) *loop = loop_of();
    AUTO(Store) *store = NULL;
    *err = (Error){ 0 };
    return store_open_sqlite(loop, directory, NULL, &store, err) ? ERROR_NONE : err->kind;
}

static void run_sql(const char *path, const char *text)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void keep_error(void *context, const StoreReply *reply, const Error *err)
{
    *(Error *)context = err == NULL ? (Error){ 0 } : *err;
}

static void put_done(void *context, const StoreReply *reply, const Error *err)
{
    *(bool *)context = err == NULL;
}

/* A store with some pages. */
static void fill(const char *directory)
{
    AUTO(Loop) *loop = loop_of();
    AUTO(Store) *store = NULL;
    Error err;
    assert_true(store_open_sqlite(loop, directory, NULL, &store, &err));
    char value[2000];
    memset(value, 'x', sizeof value);
    for (int i = 0; i < 50; i++) {
        char key[16];
        bool done = false;
        snprintf(key, sizeof key, "%d", i);
        assert_true(store_put(store, str_from_c(key), str_from(value, sizeof value), 0, put_done,
                              &done, &err));
        loop_run_virtual_until(loop, 0);
        assert_true(done);
    }
}

static void a_newer_format_is_rejected(void **state)
{
    Scratch *scratch = *state;
    Error err;
    const char *directory = scratch_place(scratch, "store");
    fill(directory);
    run_sql(scratch_place(scratch, "store/store.db"), "PRAGMA user_version = 2");
    assert_int_equal(open_kind(directory, &err), ERROR_INVALID);
    assert_non_null(
        strstr(err.text, "newer version of eden (format 2; this version supports up to 1)"));
    EngineState seen;
    assert_false(
        sqlite_engine_check(scratch_place(scratch, "store/store.db"), NULL, NULL, &seen, &err));
}

static void a_foreign_database_is_rejected(void **state)
{
    Scratch *scratch = *state;
    Error err;
    scratch_put(scratch, "store/store.lock", "");
    /* Also one without a table yet. */
    static const char *const foreign[] = { "PRAGMA user_version = 1",
                                           "CREATE TABLE t (a); CREATE TABLE u (a)" };
    for (size_t i = 0; i < COUNT_OF(foreign); i++) {
        run_sql(scratch_place(scratch, "store/store.db"), foreign[i]);
        assert_int_equal(open_kind(scratch_place(scratch, "store"), &err), ERROR_INVALID);
        assert_non_null(strstr(err.text, "not an eden store"));
    }
}

static void an_invalid_database_is_reported_as_damaged(void **state)
{
    Scratch *scratch = *state;
    Error err;
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    scratch_put(scratch, "store/store.db", text);
    assert_int_equal(open_kind(scratch_place(scratch, "store"), &err), ERROR_OS);
    assert_non_null(strstr(err.text, "is damaged"));
}

static void damage_is_found_by_a_check(void **state)
{
    Scratch *scratch = *state;
    Error err;
    const char *path = scratch_place(scratch, "store/store.db");
    fill(scratch_place(scratch, "store"));
    EngineState seen;
    assert_true(sqlite_engine_check(path, NULL, NULL, &seen, &err));
    assert_int_equal(seen.revision, 50);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, 4096 * 8 + 3, SEEK_SET);
    for (int i = 0; i < 4096; i++) {
        fputc(0xa5, file);
    }
    fclose(file);
    assert_false(sqlite_engine_check(path, NULL, NULL, &seen, &err));
    assert_int_equal(err.kind, ERROR_OS);
    assert_non_null(strstr(err.text, "is damaged"));
}

static void an_invalid_directory_is_reported(void **state)
{
    Scratch *scratch = *state;
    Error err;
    scratch_put(scratch, "file", "");
    assert_int_not_equal(open_kind(scratch_place(scratch, "file/store"), &err), ERROR_NONE);
    assert_non_null(strstr(err.text, "file"));
}

/* Compaction deletes the rows: the file does not grow with the number of changes. */
static void purged_rows_are_gone(void **state)
{
    Scratch *scratch = *state;
    const char *directory = scratch_place(scratch, "store");
    StoreSettings settings = { .keep_revisions = 10, .keep_ms = -1 };
    AUTO(Loop) *loop = loop_of();
    Store *store;
    Error err;
    assert_true(store_open_sqlite(loop, directory, &settings, &store, &err));
    for (int i = 0; i < 3000; i++) {
        bool done = false;
        Str key = i % 3 == 0 ? STR("a") : i % 3 == 1 ? STR("b") : STR("c");
        if (i % 7 == 6) {
            assert_true(store_delete(store, key, put_done, &done, &err));
        } else {
            assert_true(store_put(store, key, STR("v"), 0, put_done, &done, &err));
        }
        if (i % 100 == 99) {
            loop_run_virtual_until(loop, 0);
            assert_true(done);
        }
    }
    int64_t revision = store_status(store).revision, compacted = store_status(store).compacted;
    assert_true(revision - compacted <= 12);
    store_close(store);
    Engine *engine;
    assert_true(sqlite_engine_open(scratch_place(scratch, "store/store.db"), 0, &engine, &err));
    EngineState seen;
    assert_true(engine->kind->get_state(engine, &seen, &err));
    assert_int_equal(id_revision(seen.purged), compacted);
    engine->kind->close(engine);
    sqlite3 *db;
    sqlite3_stmt *statement;
    sqlite3_open(scratch_place(scratch, "store/store.db"), &db);
    sqlite3_prepare_v2(db, "SELECT count(*) FROM changes", -1, &statement, NULL);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_true(sqlite3_column_int(statement, 0) <= 12 + 3);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

/* The log is limited in bytes too, regardless of the number of revisions. */
static void the_log_is_bounded_in_bytes(void **state)
{
    Scratch *scratch = *state;
    StoreSettings settings = { .keep_bytes = 200000 };
    AUTO(Loop) *loop = loop_of();
    AUTO(Store) *store = NULL;
    Error err;
    char value[10000];
    memset(value, 'x', sizeof value);
    assert_true(store_open_sqlite(loop, scratch_place(scratch, "store"), &settings, &store, &err));
    for (int i = 0; i < 300; i++) {
        bool done = false;
        assert_true(
            store_put(store, STR("a"), str_from(value, sizeof value), 0, put_done, &done, &err));
        loop_run_virtual_until(loop, 0);
        assert_true(done);
        assert_true(store_status(store).log_bytes <= 200000 + 11000);
    }
    assert_true(store_status(store).compacted > 270);
    int64_t bytes = store_status(store).log_bytes;
    store_close(store);
    assert_true(store_open_sqlite(loop, scratch_place(scratch, "store"), &settings, &store, &err));
    assert_int_equal(store_status(store).log_bytes, bytes); /* measured again */
    assert_true(store_status(store).bytes < 1000 * 1000);   /* of 3 MB that were written */
}

/* Commits only go into SQLite's log until that is large: each is one sync, not three. */
static void small_commits_stay_in_the_log(void **state)
{
    Scratch *scratch = *state;
    AUTO(Loop) *loop = loop_of();
    AUTO(Store) *store = NULL;
    struct stat before, after;
    Error err;
    assert_true(store_open_sqlite(loop, scratch_place(scratch, "store"), NULL, &store, &err));
    assert_int_equal(stat(scratch_place(scratch, "store/store.db"), &before), 0);
    for (int i = 0; i < 50; i++) {
        bool done = false;
        char key[16], value[2000] = "";
        snprintf(key, sizeof key, "%d", i);
        assert_true(store_put(store, str_from_c(key), str_from(value, sizeof value), 0, put_done,
                              &done, &err));
        loop_run_virtual_until(loop, 0);
        assert_true(done);
    }
    assert_int_equal(stat(scratch_place(scratch, "store/store.db"), &after), 0);
    assert_int_equal(before.st_size, after.st_size);
}

static void foreign_schema_additions_are_rejected(void **state)
{
    static const char *const texts[] = {
        "CREATE TRIGGER t AFTER INSERT ON keys BEGIN DELETE FROM leases; END",
        "CREATE VIEW v AS SELECT * FROM keys",
        "CREATE TABLE other (a)",
        "CREATE INDEX i ON leases (ttl_s)",
        "DROP INDEX keys_by_lease",
    };
    Scratch *scratch = *state;
    Error err;
    EngineState seen;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const char *directory =
            arena_format(&scratch->arena, "%s/%zu%c", scratch->path, i, '\0').data;
        const char *path = arena_format(&scratch->arena, "%s/store.db%c", directory, '\0').data;
        const char *copy = arena_format(&scratch->arena, "%s-copy%c", directory, '\0').data;
        fill(directory);
        assert_int_equal(open_kind(directory, &err), ERROR_NONE);
        run_sql(path, texts[i]);
        assert_int_equal(open_kind(directory, &err), ERROR_INVALID);
        assert_non_null(strstr(err.text, "not from eden"));
        assert_false(sqlite_engine_check(path, NULL, NULL, &seen, &err));
        assert_false(store_restore(copy, path, STR_EMPTY, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

/* As in the backups of an earlier version. */
static void a_copy_of_the_file_becomes_a_store(void **state)
{
    Scratch *scratch = *state;
    const char *path = scratch_place(scratch, "store/store.db");
    const char *to = scratch_place(scratch, "copy");
    Error err;
    fill(scratch_place(scratch, "store"));
    assert_false(store_restore(to, path, STR("0000"), &err));
    assert_int_equal(err.kind, ERROR_OS);
    assert_true(store_restore(to, path, STR_EMPTY, &err));
    assert_false(store_restore(to, path, STR_EMPTY, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_int_equal(open_kind(to, &err), ERROR_NONE);
}

/* A quick check does not compare an index with its table. */
static void a_check_compares_indexes_with_their_tables(void **state)
{
    Scratch *scratch = *state;
    const char *path = scratch_place(scratch, "store/store.db");
    EngineState seen;
    Error err;
    fill(scratch_place(scratch, "store"));
    run_sql(path, "UPDATE keys SET lease = 7 WHERE key = CAST('1' AS BLOB)");
    assert_true(sqlite_engine_check(path, NULL, NULL, &seen, &err));
    /* The row has no lease any more, but the index still has it. */
    run_sql(path, "PRAGMA writable_schema = ON;"
                  "DELETE FROM sqlite_schema WHERE name = 'keys_by_lease';"
                  "PRAGMA writable_schema = RESET;"
                  "UPDATE keys SET lease = 8 WHERE key = CAST('1' AS BLOB);");
    run_sql(path, "PRAGMA writable_schema = ON;"
                  "INSERT INTO sqlite_schema SELECT 'index', 'keys_by_lease', 'keys', 3,"
                  " 'CREATE INDEX keys_by_lease ON keys (lease) WHERE lease <> 0';"
                  "PRAGMA writable_schema = RESET");
    assert_false(sqlite_engine_check(path, NULL, NULL, &seen, &err));
    assert_int_equal(err.kind, ERROR_OS);
}

typedef struct Load {
    Loop *loop;
    Store *store;
    uint32_t started, running;
} Load;

static void load_put(Load *load);

static void load_done(void *context, const StoreReply *reply, const Error *err)
{
    Load *load = context;
    assert_null(err);
    load->running--;
    if (load->started < 4000) {
        load_put(load);
    } else if (load->running == 0) {
        loop_stop(load->loop);
    }
}

static void load_put(Load *load)
{
    Error err;
    char key[16], value[1000] = "";
    snprintf(key, sizeof key, "%u", load->started++ % 500);
    load->running++;
    assert_true(store_put(load->store, str_from_c(key), str_from(value, sizeof value), 0, load_done,
                          load, &err));
}

/* A client writes all the time, while a thread copies the log: it starts over nevertheless, and
 * nothing is lost. */
static void the_log_stays_small_under_constant_load(void **state)
{
    enum {
        PAGES = 40,
    };
    Scratch *scratch = *state;
    const char *directory = scratch_place(scratch, "store");
    StoreSettings settings = { .wal_pages = PAGES };
    AUTO(Loop) *loop = loop_new();
    Load load = { .loop = loop };
    Error err;
    assert_true(store_open_sqlite(loop, directory, &settings, &load.store, &err));
    for (int i = 0; i < 16; i++) {
        load_put(&load);
    }
    loop_run(loop);
    struct stat log;
    assert_int_equal(stat(scratch_place(scratch, "store/store.db-wal"), &log), 0);
    /* Eight times its limit and a group; a commit of each single put has four pages and more. */
    assert_true(log.st_size <= (8 * PAGES + 16 * 8) * 4200);
    int64_t revision = store_status(load.store).revision;
    store_close(load.store);
    EngineState seen;
    assert_true(
        sqlite_engine_check(scratch_place(scratch, "store/store.db"), NULL, NULL, &seen, &err));
    assert_int_equal(seen.revision, revision);
}

/* While the disk is nearly full, a log of its usual length might not fit. */
static void the_log_starts_over_early_on_a_nearly_full_disk(void **state)
{
    Scratch *scratch = *state;
    AUTO(Loop) *loop = loop_of();
    AUTO(Store) *store = NULL;
    struct stat log;
    Error err;
    assert_true(store_open_sqlite(loop, scratch_place(scratch, "store"), NULL, &store, &err));
    ((LocalStore *)store)->writer->is_low_on_space = true;
    for (int i = 0; i < 200; i++) {
        bool done = false;
        char value[2000] = "";
        assert_true(
            store_put(store, STR("a"), str_from(value, sizeof value), 0, put_done, &done, &err));
        loop_run_virtual_until(loop, 0);
        assert_true(done);
    }
    assert_int_equal(stat(scratch_place(scratch, "store/store.db-wal"), &log), 0);
    assert_in_range(log.st_size, 4096, 100 * 4200);
}

/* Acknowledged means on the disk: every commit of the writer is synced. */
static void every_commit_is_synced(void **state)
{
    Scratch *scratch = *state;
    AUTO(Loop) *loop = loop_of();
    AUTO(Store) *store = NULL;
    Error err;
    assert_true(store_open_sqlite(loop, scratch_place(scratch, "store"), NULL, &store, &err));
    for (int i = 0; i < 5; i++) {
        bool done = false;
        int before = log_syncs;
        assert_true(store_put(store, STR("a"), STR("1"), 0, put_done, &done, &err));
        loop_run_virtual_until(loop, 0);
        assert_true(done);
        assert_true(log_syncs > before);
    }
}

/* SQLite calls only ENOSPC a full disk, and forgets the errors of commits. */
static void errors_of_the_kernel_are_reported(void **state)
{
    const struct {
        int number;
        const char *text;
    } cases[] = {
        { EIO, "disk I/O error (Input/output error)" },
        { ENOSPC, "the disk is full" },
        { EDQUOT, "the disk is full" },
        { EIO, "disk I/O error (Input/output error)" },
    };
    Scratch *scratch = *state;
    AUTO(Loop) *loop = loop_of();
    AUTO(Store) *store = NULL;
    Error err;
    sqlite3_vfs *files = sqlite3_vfs_find(NULL);
    sqlite3_syscall_ptr own = (sqlite3_syscall_ptr)(void *)write_or_fail;
    assert_int_equal(files->xSetSystemCall(files, "pwrite64", own), SQLITE_OK);
    assert_true(store_open_sqlite(loop, scratch_place(scratch, "store"), NULL, &store, &err));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Error failure = { 0 };
        write_error = cases[i].number;
        assert_true(store_put(store, STR("a"), STR("1"), 0, keep_error, &failure, &err));
        loop_run_virtual_until(loop, 0);
        write_error = 0;
        assert_non_null(strstr(failure.text, cases[i].text));
        assert_true(store_put(store, STR("a"), STR("2"), 0, keep_error, &failure, &err));
        loop_run_virtual_until(loop, 0);
        assert_int_equal(failure.kind, ERROR_NONE);
    }
    files->xSetSystemCall(files, "pwrite64", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_newer_format_is_rejected, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_foreign_database_is_rejected, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(an_invalid_database_is_reported_as_damaged, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(damage_is_found_by_a_check, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(an_invalid_directory_is_reported, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(purged_rows_are_gone, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(the_log_is_bounded_in_bytes, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(small_commits_stay_in_the_log, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(foreign_schema_additions_are_rejected, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_copy_of_the_file_becomes_a_store, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_check_compares_indexes_with_their_tables, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(the_log_stays_small_under_constant_load, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(the_log_starts_over_early_on_a_nearly_full_disk,
                                        scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(every_commit_is_synced, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(errors_of_the_kernel_are_reported, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
