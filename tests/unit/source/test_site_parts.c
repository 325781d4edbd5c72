/* Which commits of several sources to try, and how their files become one site. */
#include "source/site_parts.h"

#include "unit.h"

typedef struct Fixture {
    Arena arena;
    StrMap tried;
    SiteParts valid, newest, next;
    SitePart valid_items[4], newest_items[4];
    Error err;
} Fixture;

static const Str names[] = { { "app", 3 }, { "site", 4 } };
static const Str directories[] = { { "files/app", 9 }, { "", 0 } };

static int set_up(void **state)
{
    static Fixture fixture;
    fixture = (Fixture){ 0 };
    fixture.valid.items = fixture.valid_items;
    fixture.newest.items = fixture.newest_items;
    arena_init(&fixture.arena, ARENA_UNLIMITED);
    str_map_init(&fixture.tried, &fixture.arena);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    arena_clear(&f->arena);
    return 0;
}

static void add(SiteParts *parts, size_t which, const char *commit)
{
    parts->items[parts->count++] =
        (SitePart){ names[which], directories[which], str_from_c(commit) };
}

static bool find_next(Fixture *f, const Str *sources, const Str *places, uint32_t count)
{
    const SiteCandidates candidates = { sources, places, count, &f->newest, &f->valid, &f->tried };
    return site_parts_next(&f->arena, &candidates, &f->next);
}

/* The commits to try next, as "app=1 site=2"; empty: none. */
static const char *next(Fixture *f)
{
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    if (!find_next(f, names, directories, COUNT_OF(names))) {
        return "";
    }
    for (uint32_t i = 0; i < f->next.count; i++) {
        buf_put_format(&text, "%s%" STR_FMT "=%" STR_FMT, i > 0 ? " " : "",
                       STR_ARG(f->next.items[i].source), STR_ARG(f->next.items[i].commit));
    }
    return buf_c(&text);
}

/* The last tried combination is invalid. */
static void reject(Fixture *f)
{
    str_map_put(&f->tried, site_parts_key(&f->arena, &f->next), NULL);
}

static void test_the_newest_commits_are_tried_first(void **state)
{
    Fixture *f = *state;
    add(&f->newest, 0, "a1");
    add(&f->newest, 1, "s1");
    assert_string_equal(next(f), "app=a1 site=s1");
    f->valid = f->next;
    assert_string_equal(next(f), "");
}

static void test_a_bad_commit_does_not_hold_back_other_sources(void **state)
{
    Fixture *f = *state;
    add(&f->valid, 0, "a1");
    add(&f->valid, 1, "s1");
    add(&f->newest, 0, "a2");
    add(&f->newest, 1, "s2");
    assert_string_equal(next(f), "app=a2 site=s2");
    reject(f);
    assert_string_equal(next(f), "app=a2 site=s1");
    reject(f);
    assert_string_equal(next(f), "app=a1 site=s2");
    f->valid = f->next;
    assert_string_equal(next(f), "");
}

static void test_nothing_is_tried_twice(void **state)
{
    Fixture *f = *state;
    add(&f->valid, 1, "s1");
    add(&f->newest, 1, "s2");
    assert_string_equal(next(f), "site=s2");
    reject(f);
    assert_string_equal(next(f), "");
}

static void test_a_source_that_cannot_be_fetched_keeps_its_commit(void **state)
{
    Fixture *f = *state;
    add(&f->valid, 0, "a1");
    add(&f->valid, 1, "s1");
    add(&f->newest, 1, "s2");
    assert_string_equal(next(f), "app=a1 site=s2");
}

static void test_a_new_source_waits_for_its_first_commit(void **state)
{
    Fixture *f = *state;
    add(&f->newest, 1, "s1");
    assert_string_equal(next(f), "site=s1");
    f->valid = f->next;
    assert_string_equal(next(f), "");
    add(&f->newest, 0, "a1");
    assert_string_equal(next(f), "app=a1 site=s1");
}

static void test_a_removed_source_leaves_the_site(void **state)
{
    Fixture *f = *state;
    add(&f->valid, 0, "a1");
    add(&f->valid, 1, "s1");
    add(&f->newest, 1, "s1");
    assert_true(find_next(f, &names[1], &directories[1], 1));
    assert_int_equal(f->next.count, 1);
    assert_false(find_next(f, NULL, NULL, 0));
}

static void test_another_directory_is_another_site(void **state)
{
    Fixture *f = *state;
    add(&f->valid, 1, "s1");
    add(&f->newest, 1, "s1");
    Str other = STR("sub");
    assert_true(find_next(f, &names[1], &other, 1));
    assert_true(str_eq_c(f->next.items[0].directory, "sub"));
}

/* --- Manifests -------------------------------------------------------------------------------- */

static Manifest manifest_of(Fixture *f, const char *const *paths)
{
    Manifest out = { .files = ARENA_ARRAY(&f->arena, ManifestFile, 8) };
    for (; *paths != NULL; paths++) {
        out.files[out.file_count++] = (ManifestFile){ .path = str_from_c(*paths), .mode = "0644" };
    }
    return out;
}

static const char *paths_of(Fixture *f, const Manifest *manifest)
{
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < manifest->file_count; i++) {
        buf_put_format(&text, "%s%" STR_FMT, i > 0 ? " " : "", STR_ARG(manifest->files[i].path));
    }
    return buf_c(&text);
}

static void test_files_of_several_sources_are_combined_and_split(void **state)
{
    Fixture *f = *state;
    Manifest app = manifest_of(f, (const char *[]){ "a", "b/c", NULL });
    Manifest root = manifest_of(f, (const char *[]){ "config.yaml", "files/motd", "jobs/x", NULL });
    PartFiles parts[] = { { names[0], directories[0], &app }, { names[1], directories[1], &root } };
    Manifest site, part;
    assert_true(site_parts_combine(&f->arena, parts, 2, &site, &f->err));
    assert_string_equal(paths_of(f, &site),
                        "config.yaml files/app/a files/app/b/c files/motd jobs/x");
    add(&f->valid, 0, "a1");
    add(&f->valid, 1, "s1");
    site_parts_split(&f->arena, &site, &f->valid, names[0], &part);
    assert_string_equal(paths_of(f, &part), "a b/c");
    site_parts_split(&f->arena, &site, &f->valid, names[1], &part);
    assert_string_equal(paths_of(f, &part), "config.yaml files/motd jobs/x");
}

static void test_a_file_in_the_directory_of_another_source_is_rejected(void **state)
{
    Fixture *f = *state;
    Manifest app = manifest_of(f, (const char *[]){ "a", NULL });
    Manifest root = manifest_of(f, (const char *[]){ "files/app/a", NULL });
    PartFiles parts[] = { { names[0], directories[0], &app }, { names[1], directories[1], &root } };
    Manifest site;
    assert_false(site_parts_combine(&f->arena, parts, 2, &site, &f->err));
    assert_string_equal(f->err.text, "files/app/a is in source 'site', but its directory belongs "
                                     "to source 'app'");
    root = manifest_of(f, (const char *[]){ "files", NULL });
    assert_false(site_parts_combine(&f->arena, parts, 2, &site, &f->err));
    assert_non_null(strstr(f->err.text, "its directory is also a file"));
    parts[0].directory = STR_EMPTY;
    assert_false(site_parts_combine(&f->arena, parts, 2, &site, &f->err));
    assert_non_null(strstr(f->err.text, "same directory"));
}

static void test_the_record_survives_a_round_trip(void **state)
{
    Fixture *f = *state;
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    SiteParts read;
    add(&f->valid, 0, "a1");
    f->valid.version = STR("0123456789ab");
    site_parts_print(&f->valid, &text);
    assert_true(site_parts_read(&f->arena, buf_str(&text), &read, &f->err));
    assert_true(site_parts_equal(&read, &f->valid));
    assert_true(str_eq_c(read.version, "0123456789ab"));
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH(test_the_newest_commits_are_tried_first),
        WITH(test_a_bad_commit_does_not_hold_back_other_sources),
        WITH(test_nothing_is_tried_twice),
        WITH(test_a_source_that_cannot_be_fetched_keeps_its_commit),
        WITH(test_a_new_source_waits_for_its_first_commit),
        WITH(test_a_removed_source_leaves_the_site),
        WITH(test_another_directory_is_another_site),
        WITH(test_files_of_several_sources_are_combined_and_split),
        WITH(test_a_file_in_the_directory_of_another_source_is_rejected),
        WITH(test_the_record_survives_a_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
