#include "run/site_files.h"

#include "run/folder.h"

static SiteFiles *open_site(Folder *folder)
{
    SiteFiles *files;
    Str file;
    Error err;
    assert_true(site_files_open(&folder->arena, folder_path(folder, "/"), &files, &file, &err));
    assert_str(file, "");
    return files;
}

static void files_are_read_beneath_the_site(void **state)
{
    Folder *folder = *state;
    folder_put(folder, "jobs/base.yaml", "jobs:\n");
    assert_int_equal(symlink("/etc/hostname", folder_path(folder, "out")), 0);
    SiteFiles *files = open_site(folder);
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
    Folder *folder = *state;
    folder_put(folder, "a", "one");
    SiteFiles *files = open_site(folder);
    Str text;
    Error err;
    assert_true(site_files_read(files, STR("a"), &text, &err));
    assert_false(site_files_read(files, STR("b"), &text, &err));
    folder_put(folder, "a", "two");
    folder_put(folder, "b", "two");
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
    Folder *folder = *state;
    folder_put(folder, "jobs/b.yaml", "");
    folder_put(folder, "jobs/a/c.yaml", "");
    folder_put(folder, "jobs/notes.txt", "");
    SiteFiles *files = open_site(folder);
    SiteReader reader = site_files_reader(files);
    assert_str(reader.root, folder->path);
    List *paths = list_new(&folder->arena, 4);
    reader.list(reader.context, STR("jobs"), &folder->arena, paths);
    reader.list(reader.context, STR("nowhere"), &folder->arena, paths);
    assert_int_equal(paths->len, 3);
    assert_str(value_str(paths->items[0]), "jobs/a/c.yaml");
    assert_str(value_str(paths->items[1]), "jobs/b.yaml");
    assert_true(reader.exists(reader.context, STR("jobs/b.yaml")));
    assert_false(reader.exists(reader.context, STR("jobs/z.yaml")));
}

static void templates_are_read_from_their_directory(void **state)
{
    Folder *folder = *state;
    folder_put(folder, "templates/motd.j2", "hello");
    SiteFiles *files = open_site(folder);
    Str text;
    assert_true(site_files_load_template(files, STR("motd.j2"), &folder->arena, &text));
    assert_str(text, "hello");
    assert_false(site_files_load_template(files, STR("none.j2"), &folder->arena, &text));
}

static void a_single_file_of_steps_counts_as_a_site(void **state)
{
    Folder *folder = *state;
    folder_put(folder, "one.yaml", "steps:\n");
    SiteFiles *files;
    Str file, text;
    Error err;
    assert_true(
        site_files_open(&folder->arena, folder_path(folder, "one.yaml"), &files, &file, &err));
    assert_str(file, "one.yaml");
    assert_true(site_files_read(files, file, &text, &err));
    assert_false(
        site_files_open(&folder->arena, folder_path(folder, "two.yaml"), &files, &file, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, folder->path)); /* as it was given */
    assert_false(site_files_open(&folder->arena, folder_path(folder, "two/"), &files, &file, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_int_equal(symlink("/etc/hostname", folder_path(folder, "out.yaml")), 0);
    assert_true(
        site_files_open(&folder->arena, folder_path(folder, "out.yaml"), &files, &file, &err));
    assert_false(site_files_read(files, file, &text, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_int_equal(mkfifo(folder_path(folder, "pipe.yaml"), 0600), 0);
    assert_true(
        site_files_open(&folder->arena, folder_path(folder, "pipe.yaml"), &files, &file, &err));
    assert_false(site_files_read(files, file, &text, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(files_are_read_beneath_the_site),
        FOLDER_TEST(a_run_sees_one_version_of_every_file),
        FOLDER_TEST(a_reader_lists_files_and_checks_existence),
        FOLDER_TEST(templates_are_read_from_their_directory),
        FOLDER_TEST(a_single_file_of_steps_counts_as_a_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
