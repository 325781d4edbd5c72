#include "run/site_files.h"

#include "run/test_dir.h"

static SiteFiles *open_site(TestDir *dir)
{
    SiteFiles *files;
    Str file;
    Error err;
    assert_true(site_files_open(&dir->arena, test_dir_path(dir, "/"), &files, &file, &err));
    assert_str(file, "");
    return files;
}

static void files_are_read_beneath_the_site(void **state)
{
    TestDir *dir = *state;
    test_dir_put(dir, "jobs/base.yaml", "jobs:\n");
    assert_int_equal(symlink("/etc/hostname", test_dir_path(dir, "out")), 0);
    SiteFiles *files = open_site(dir);
    Str text;
    Error err;
    assert_true(site_files_read(files, STR("jobs/base.yaml"), &text, &err));
    assert_str(text, "jobs:\n");
    assert_false(site_files_read(files, STR("jobs/x.yaml"), &text, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    static const char *const outside[] = { "out", "../x", "/etc/hostname", "jobs/../../x" };
    for (size_t i = 0; i < COUNT_OF(outside); i++) {
        assert_false(site_files_read(files, str_from_c(outside[i]), &text, &err));
        assert_int_equal(err.kind, ERROR_DENIED);
    }
    assert_false(site_files_read(files, STR("jobs"), &text, &err));
    assert_int_equal(err.kind, ERROR_OS);
}

static void a_run_sees_one_version_of_every_file(void **state)
{
    TestDir *dir = *state;
    test_dir_put(dir, "a", "one");
    SiteFiles *files = open_site(dir);
    Str text;
    Error err;
    assert_true(site_files_read(files, STR("a"), &text, &err));
    assert_false(site_files_read(files, STR("b"), &text, &err));
    test_dir_put(dir, "a", "two");
    test_dir_put(dir, "b", "two");
    assert_true(site_files_read(files, STR("./a"), &text, &err));
    assert_str(text, "one");
    assert_false(site_files_read(files, STR("b"), &text, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    uint32_t count;
    const SiteFile *seen = site_files_seen(files, &count);
    assert_int_equal(count, 2);
    assert_str(seen[0].path, "a");
    assert_false(seen[0].missing);
    assert_str(seen[1].path, "b");
    assert_true(seen[1].missing);
}

static void a_reader_lists_files_and_checks_existence(void **state)
{
    TestDir *dir = *state;
    test_dir_put(dir, "jobs/b.yaml", "");
    test_dir_put(dir, "jobs/a/c.yaml", "");
    test_dir_put(dir, "jobs/notes.txt", "");
    SiteFiles *files = open_site(dir);
    SiteReader reader = site_files_reader(files);
    assert_str(reader.root, dir->path);
    List *paths = list_new(&dir->arena, 4);
    reader.list(reader.context, STR("jobs"), &dir->arena, paths);
    reader.list(reader.context, STR("nowhere"), &dir->arena, paths);
    assert_int_equal(paths->len, 3);
    assert_str(value_str(paths->items[0]), "jobs/a/c.yaml");
    assert_str(value_str(paths->items[1]), "jobs/b.yaml");
    assert_true(reader.exists(reader.context, STR("jobs/b.yaml")));
    assert_false(reader.exists(reader.context, STR("jobs/z.yaml")));
}

static void templates_are_read_from_their_directory(void **state)
{
    TestDir *dir = *state;
    test_dir_put(dir, "templates/motd.j2", "hello");
    SiteFiles *files = open_site(dir);
    Str text;
    assert_true(site_files_load_template(files, STR("motd.j2"), &dir->arena, &text));
    assert_str(text, "hello");
    assert_false(site_files_load_template(files, STR("none.j2"), &dir->arena, &text));
}

static void a_single_file_of_steps_counts_as_a_site(void **state)
{
    TestDir *dir = *state;
    test_dir_put(dir, "one.yaml", "steps:\n");
    SiteFiles *files;
    Str file, text;
    Error err;
    assert_true(site_files_open(&dir->arena, test_dir_path(dir, "one.yaml"), &files, &file, &err));
    assert_str(file, "one.yaml");
    assert_true(site_files_read(files, file, &text, &err));
    assert_false(site_files_open(&dir->arena, test_dir_path(dir, "two.yaml"), &files, &file, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, dir->path)); /* as it was given */
    assert_false(site_files_open(&dir->arena, test_dir_path(dir, "two/"), &files, &file, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_int_equal(symlink("/etc/hostname", test_dir_path(dir, "out.yaml")), 0);
    assert_true(site_files_open(&dir->arena, test_dir_path(dir, "out.yaml"), &files, &file, &err));
    assert_false(site_files_read(files, file, &text, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_int_equal(mkfifo(test_dir_path(dir, "pipe.yaml"), 0600), 0);
    assert_true(site_files_open(&dir->arena, test_dir_path(dir, "pipe.yaml"), &files, &file, &err));
    assert_false(site_files_read(files, file, &text, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIR(files_are_read_beneath_the_site),
        TEST_IN_DIR(a_run_sees_one_version_of_every_file),
        TEST_IN_DIR(a_reader_lists_files_and_checks_existence),
        TEST_IN_DIR(templates_are_read_from_their_directory),
        TEST_IN_DIR(a_single_file_of_steps_counts_as_a_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
