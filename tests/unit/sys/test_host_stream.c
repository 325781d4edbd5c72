#include "sys/host_stream.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "unit.h"

typedef struct Fixture {
    Arena arena;
    char root[64];
    Host *host;
    Error err;
} Fixture;

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    arena_init(&fixture->arena, ARENA_UNLIMITED);
    strcpy(fixture->root, "/tmp/test_host_stream.XXXXXX");
    *state = fixture;
    return mkdtemp(fixture->root) != NULL && host_open(fixture->root, &fixture->host, &fixture->err)
               ? 0
               : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    return remove(path);
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    host_close(fixture->host);
    int failed = nftw(fixture->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_clear(&fixture->arena);
    free(fixture);
    return failed;
}

static void put(Fixture *fixture, const char *path, const char *text)
{
    FileWrite write = {
        .content = str_from_c(text), .mode = 0644, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    assert_true(host_write(fixture->host, str_from_c(path), &write, &fixture->err));
}

static const char *text_of(Fixture *fixture, const char *path)
{
    Str text;
    return host_read(fixture->host, &fixture->arena, str_from_c(path), 1000, &text, &fixture->err)
               ? arena_copy_c(&fixture->arena, text)
               : "(none)";
}

static void a_file_is_read_at_any_offset(void **state)
{
    Fixture *fixture = *state;
    AUTO(HostReader) *reader = NULL;
    char buffer[10];
    size_t got;
    put(fixture, "/f", "0123456789");
    assert_true(host_reader_open(fixture->host, STR("/f"), &reader, &fixture->err));
    assert_int_equal(host_reader_info(reader)->size, 10);
    assert_true(host_reader_get(reader, 2, buffer, 3, &got, &fixture->err));
    assert_str(str_from(buffer, got), "234");
    assert_true(host_reader_get(reader, 8, buffer, 10, &got, &fixture->err));
    assert_str(str_from(buffer, got), "89");
    assert_true(host_reader_get(reader, 100, buffer, 10, &got, &fixture->err));
    assert_int_equal(got, 0);
    assert_true(host_reader_get(reader, UINT64_MAX, buffer, 10, &got, &fixture->err));
    assert_int_equal(got, 0);
}

static void only_files_are_read(void **state)
{
    Fixture *fixture = *state;
    HostReader *reader = NULL;
    assert_true(host_make_directory(fixture->host, STR("/d"), 0755, false, &fixture->err));
    assert_false(host_reader_open(fixture->host, STR("/d"), &reader, &fixture->err));
    assert_string_equal(fixture->err.text, "/d is not a regular file");
    assert_false(host_reader_open(fixture->host, STR("/none"), &reader, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
}

static void a_file_is_written_in_chunks(void **state)
{
    Fixture *fixture = *state;
    AUTO(HostWriter) *writer = NULL;
    FileInfo info;
    assert_true(host_writer_open(fixture->host, STR("/f"), &writer, &fixture->err));
    assert_true(host_writer_put(writer, STR("one "), &fixture->err));
    assert_true(host_writer_put(writer, STR("two"), &fixture->err));
    assert_true(
        host_writer_finish(writer, HOST_KEEP_ID, HOST_KEEP_ID, 0640, 1600000000, &fixture->err));
    assert_string_equal(text_of(fixture, "/f"), "one two");
    assert_true(host_stat(fixture->host, STR("/f"), &info, &fixture->err));
    assert_int_equal(info.mode, 0640);
    assert_int_equal(info.mtime_ns, 1600000000000000000);
    HostWriter *second = NULL;
    assert_false(host_writer_open(fixture->host, STR("/f"), &second, &fixture->err));
    assert_string_equal(fixture->err.text, "/f: File exists");
    assert_false(host_writer_open(fixture->host, STR("/none/f"), &second, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
}

static void entries_move_between_directories(void **state)
{
    Fixture *fixture = *state;
    AUTO(Host) *inside = NULL;
    put(fixture, "/new", "new");
    assert_true(host_make_directory(fixture->host, STR("/d"), 0755, false, &fixture->err));
    put(fixture, "/d/old", "old");
    assert_true(host_open_below(fixture->host, STR("/d"), &inside, &fixture->err));
    assert_true(host_move(fixture->host, STR("/new"), inside, STR("/old"), &fixture->err));
    assert_string_equal(text_of(fixture, "/d/old"), "new");
    assert_string_equal(text_of(fixture, "/new"), "(none)");
    assert_true(host_make_hard_link(inside, STR("/again"), STR("/old"), &fixture->err));
    assert_string_equal(text_of(fixture, "/d/again"), "new");
    assert_false(host_move(inside, STR("/old"), fixture->host, STR("/d"), &fixture->err));
    assert_false(host_move(inside, STR("/none"), fixture->host, STR("/x"), &fixture->err));
}

static void drafts_are_next_to_their_target(void **state)
{
    Fixture *fixture = *state;
    Str draft = host_draft_path(&fixture->arena, STR("/opt/app"));
    assert_true(str_starts(draft, STR("/opt/.eden-")));
    assert_true(str_eq(draft, host_draft_path(&fixture->arena, STR("/opt/app"))));
    assert_false(str_eq(draft, host_draft_path(&fixture->arena, STR("/opt/other"))));
    assert_true(str_starts(host_draft_path(&fixture->arena, STR("/app")), STR("/.eden-")));
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROOT(a_file_is_read_at_any_offset),    WITH_ROOT(only_files_are_read),
        WITH_ROOT(a_file_is_written_in_chunks),     WITH_ROOT(entries_move_between_directories),
        WITH_ROOT(drafts_are_next_to_their_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
