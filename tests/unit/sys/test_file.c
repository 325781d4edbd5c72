#include "sys/file.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "unit.h"

/* A separate directory, which is the working directory while a test runs. */
typedef struct Fixture {
    Arena arena;
    char directory[64];
    int before; /* the working directory to come back to */
} Fixture;

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    arena_init(&fixture->arena, ARENA_UNLIMITED);
    strcpy(fixture->directory, "/tmp/test_file.XXXXXX");
    fixture->before = open(".", O_RDONLY | O_DIRECTORY);
    *state = fixture;
    return mkdtemp(fixture->directory) == NULL || chdir(fixture->directory) != 0 ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    return remove(path);
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    int failed =
        fchdir(fixture->before) | nftw(fixture->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    close(fixture->before);
    arena_clear(&fixture->arena);
    free(fixture);
    return failed;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Names in the working directory, hidden ones too. */
static unsigned count_files(void)
{
    FILE *list = popen("ls -A | wc -l", "r");
    unsigned count = 1000;
    assert_int_equal(fscanf(list, "%u", &count), 1);
    pclose(list);
    return count;
}

static void reads_a_complete_file(void **state)
{
    Fixture *fixture = *state;
    Str text;
    Error err;
    put("a", "some text\n");
    assert_true(file_read(&fixture->arena, "a", 100, &text, &err));
    assert_str(text, "some text\n");
    assert_true(file_read(&fixture->arena, "a", 10, &text, &err));
    put("empty", "");
    assert_true(file_read(&fixture->arena, "empty", 100, &text, &err));
    assert_str(text, "");
}

static void the_head_of_a_file_is_limited(void **state)
{
    Fixture *fixture = *state;
    Str text;
    Error err;
    put("a", "some text\n");
    assert_true(file_read_head(&fixture->arena, "a", 4, &text, &err));
    assert_str(text, "some");
    assert_true(file_read_head(&fixture->arena, "a", 100, &text, &err));
    assert_str(text, "some text\n");
    assert_false(file_read_head(&fixture->arena, "b", 4, &text, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_false(file_read_head(&fixture->arena, ".", 4, &text, &err));
    assert_int_equal(err.kind, ERROR_OS);
}

static void a_file_without_a_size_is_read_too(void **state)
{
    Fixture *fixture = *state;
    Str text;
    Error err;
    assert_true(file_read(&fixture->arena, "/proc/self/cmdline", 10000, &text, &err));
    assert_true(text.len > 0);
}

static void reading_fails_by_kind(void **state)
{
    Fixture *fixture = *state;
    Str text;
    Error err;
    assert_false(file_read(&fixture->arena, "absent", 100, &text, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_string_equal(err.text, "absent: No such file or directory");
    assert_false(file_read(&fixture->arena, ".", 100, &text, &err));
    assert_int_equal(err.kind, ERROR_OS);
    put("a", "some text\n");
    assert_false(file_read(&fixture->arena, "a", 9, &text, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_string_equal(err.text, "a: larger than 9 bytes");
    assert_false(file_read(&fixture->arena, "/dev/zero", 1 << 20, &text, &err));
    assert_string_equal(err.text, "/dev/zero: larger than 1 MiB");
}

static void beneath_a_root_means_beneath_it(void **state)
{
    Fixture *fixture = *state;
    Str text;
    Error err;
    assert_int_equal(mkdir("root", 0777) | mkdir("root/sub", 0777), 0);
    put("outside", "secret");
    put("root/inside", "inside");
    assert_int_equal(symlink("../../outside", "root/sub/link-out"), 0);
    assert_int_equal(symlink("../inside", "root/sub/link-in"), 0);
    assert_true(file_read_beneath(&fixture->arena, "root", STR("inside"), 100, &text, &err));
    assert_str(text, "inside");
    assert_true(file_read_beneath(&fixture->arena, "root", STR("sub/../inside"), 100, &text, &err));
    assert_true(file_read_beneath(&fixture->arena, "root", STR("sub/link-in"), 100, &text, &err));
    static const char *const outside[] = { "../outside", "sub/../../outside", "/etc/hostname",
                                           "sub/link-out", "." };
    for (size_t i = 0; i < COUNT_OF(outside); i++) {
        assert_false(
            file_read_beneath(&fixture->arena, "root", str_from_c(outside[i]), 100, &text, &err));
        assert_int_not_equal(err.kind, ERROR_NOT_FOUND);
    }
    assert_false(file_read_beneath(&fixture->arena, "root", STR("absent"), 100, &text, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_false(file_read_beneath(&fixture->arena, "root", STR("inside\0x"), 100, &text, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_false(file_read_beneath(&fixture->arena, "root", STR_EMPTY, 100, &text, &err));
    assert_false(file_read_beneath(&fixture->arena, "nowhere", STR("a"), 100, &text, &err));
    alarm(10); /* it has no writer */
    assert_int_equal(mkfifo("root/pipe", 0600), 0);
    assert_false(file_read_beneath(&fixture->arena, "root", STR("pipe"), 100, &text, &err));
    assert_string_equal(err.text, "pipe: not a regular file");
    alarm(0);
}

static void lists_files_below_a_root(void **state)
{
    Fixture *fixture = *state;
    static const char *const suffixes[] = { ".yaml", ".yml", NULL };
    assert_int_equal(mkdir("site", 0777) | mkdir("site/jobs", 0777) | mkdir("site/.git", 0777), 0);
    put("site/b.yaml", "");
    put("site/a.yml", "");
    put("site/jobs/c.yaml", "");
    put("site/notes.txt", "");
    put("site/.hidden.yaml", "");
    put("site/.git/d.yaml", "");
    assert_int_equal(symlink("..", "site/jobs/loop"), 0);
    FileList files;
    Error err;
    assert_true(file_list(&fixture->arena, "site", suffixes, 10, &files, &err));
    assert_int_equal(files.count, 3);
    assert_str(files.paths[0], "site/a.yml");
    assert_str(files.paths[1], "site/b.yaml");
    assert_str(files.paths[2], "site/jobs/c.yaml");
    assert_false(file_list(&fixture->arena, "site", suffixes, 2, &files, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_false(file_list(&fixture->arena, "absent", suffixes, 2, &files, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_true(file_is_directory("site"));
    assert_false(file_is_directory("site/a.yml"));
}

static void writing_creates_or_replaces_a_file(void **state)
{
    Fixture *fixture = *state;
    Str text;
    Error err;
    mode_t mask = umask(022);
    assert_true(file_write_atomic("a", STR("first"), &err));
    umask(mask);
    struct stat status;
    assert_int_equal(stat("a", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
    char path[128];
    snprintf(path, sizeof path, "%s/a", fixture->directory);
    assert_true(file_write_atomic(path, STR("second"), &err));
    assert_true(file_read(&fixture->arena, "a", 100, &text, &err));
    assert_str(text, "second");
    assert_int_equal(count_files(), 1);
}

static void writing_into_a_missing_directory_fails(void **state)
{
    Error err;
    assert_false(file_write_atomic("absent/a", STR("text"), &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_string_equal(err.text, "absent/a: No such file or directory");
    put("file", "");
    assert_false(file_write_atomic("file/a", STR("text"), &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    char name[5000];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_false(file_write_atomic(name, STR("text"), &err));
    assert_int_equal(count_files(), 1);
}

static void a_failed_rename_leaves_nothing(void **state)
{
    Error err;
    assert_int_equal(mkdir("a", 0777), 0);
    put("a/inside", "");
    assert_false(file_write_atomic("a", STR("text"), &err));
    assert_int_equal(err.kind, ERROR_OS);
    assert_int_equal(count_files(), 1);
}

/* A file size limit simulates a full disk: a write fails in the middle. */
static void a_failed_write_keeps_the_old_file(void **state)
{
    Fixture *fixture = *state;
    static char long_text[5000];
    memset(long_text, 'x', sizeof long_text);
    put("a", "old");
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit limit = { 1000, 1000 };
        Error err;
        bool failed = setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                      !file_write_atomic("a", str_from(long_text, sizeof long_text), &err) &&
                      strstr(err.text, "a: cannot write: File too large") != NULL;
        _exit(failed ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    Str text;
    Error err;
    assert_true(file_read(&fixture->arena, "a", 100, &text, &err));
    assert_str(text, "old");
    assert_int_equal(count_files(), 1);
}

/* Root may write everywhere, so another user tries. */
static void a_directory_that_is_not_ours_is_denied(void **state)
{
    assert_int_equal(mkdir("locked", 0555), 0);
    pid_t child = fork();
    if (child == 0) {
        Error err;
        bool other = geteuid() != 0 || setuid(65534) == 0;
        bool denied =
            other && !file_write_atomic("locked/a", STR("text"), &err) && err.kind == ERROR_DENIED;
        _exit(denied ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(reads_a_complete_file),
        IN_DIRECTORY(the_head_of_a_file_is_limited),
        IN_DIRECTORY(a_file_without_a_size_is_read_too),
        IN_DIRECTORY(reading_fails_by_kind),
        IN_DIRECTORY(beneath_a_root_means_beneath_it),
        IN_DIRECTORY(lists_files_below_a_root),
        IN_DIRECTORY(writing_creates_or_replaces_a_file),
        IN_DIRECTORY(writing_into_a_missing_directory_fails),
        IN_DIRECTORY(a_failed_rename_leaves_nothing),
        IN_DIRECTORY(a_failed_write_keeps_the_old_file),
        IN_DIRECTORY(a_directory_that_is_not_ours_is_denied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
