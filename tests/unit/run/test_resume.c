#include "run/resume.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.h"
#include "unit.h"

typedef struct Fixture {
    Arena arena;
    char state[64];
    Directory directory;
    Error err;
} Fixture;

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    arena_init(&fixture->arena, ARENA_UNLIMITED);
    strcpy(fixture->state, "/tmp/test_resume.XXXXXX");
    *state = fixture;
    return mkdtemp(fixture->state) != NULL &&
                   directory_open(fixture->state, &fixture->directory, &fixture->err)
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
    directory_close(&fixture->directory);
    int failed = nftw(fixture->state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_clear(&fixture->arena);
    free(fixture);
    return failed;
}

static void save(Fixture *fixture, const char *home, bool resumes)
{
    Str argv[] = { STR("apply"), STR("--define=a=\"b\n\""), STR("/srv/site") };
    ResumeStep steps[] = { { STR("job#restart"), STR("boot-1"), 1000 },
                           { STR("job#again"), STR("boot-2"), 2000 } };
    Resume resume = { STR_EMPTY, str_from_c(home), resumes, argv, 3, steps, 2 };
    assert_true(resume_save(&fixture->directory, &resume, &fixture->err));
}

static void test_note_survives_a_round_trip(void **state)
{
    Fixture *fixture = *state;
    Resume found;
    save(fixture, "/srv/site", true);
    assert_true(resume_load(fixture->state, &fixture->arena, STR_EMPTY, STR("/srv/site"), &found));
    assert_true(found.resumes);
    assert_int_equal(found.argc, 3);
    assert_str(found.argv[1], "--define=a=\"b\n\"");
    const ResumeStep *step = resume_find(&found, STR("job#again"));
    assert_non_null(step);
    assert_str(step->boot, "boot-2");
    assert_int_equal(step->asked_ms, 2000);
    assert_null(resume_find(&found, STR("job#other")));
}

/* Puts a directory where the note of the site is written. */
static void block_note(Fixture *fixture, Str site)
{
    AUTO_CLEAR(Directory) dir = { .descriptor = -1 };
    DirectoryEntry *entries;
    uint32_t count;
    ResumeStep step = { STR("job#restart"), STR("boot-1"), 1000 };
    Resume resume = { site, STR("/elsewhere"), true, NULL, 0, &step, 1 };
    assert_true(resume_save(&fixture->directory, &resume, &fixture->err));
    assert_true(directory_open_child(&fixture->directory, "resume", &dir, &fixture->err));
    assert_true(directory_list(&dir, &fixture->arena, 10, &entries, &count, &fixture->err));
    assert_int_equal(count, 1);
    assert_int_equal(unlinkat(dir.descriptor, entries[0].name.data, 0), 0);
    assert_int_equal(mkdirat(dir.descriptor, entries[0].name.data, 0700), 0);
}

static void test_note_by_path_stays_until_the_other_is_written(void **state)
{
    Fixture *fixture = *state;
    Resume found;
    block_note(fixture, STR("site"));
    save(fixture, "/srv/site", true);
    assert_true(
        resume_load(fixture->state, &fixture->arena, STR("site"), STR("/srv/site"), &found));
    assert_false(resume_save(&fixture->directory, &found, &fixture->err));
    assert_true(
        resume_load(fixture->state, &fixture->arena, STR("site"), STR("/srv/site"), &found));
    assert_int_equal(found.step_count, 2);
}

static void test_note_by_path_moves_to_the_name(void **state)
{
    Fixture *fixture = *state;
    Resume found, *all;
    uint32_t count;
    save(fixture, "/srv/site", true);
    assert_true(
        resume_load(fixture->state, &fixture->arena, STR("site"), STR("/srv/site"), &found));
    assert_int_equal(found.step_count, 2);
    assert_true(resume_save(&fixture->directory, &found, &fixture->err));
    assert_true(resume_list(fixture->state, &fixture->arena, &all, &count, &fixture->err));
    assert_int_equal(count, 1);
    assert_true(
        resume_load(fixture->state, &fixture->arena, STR("site"), STR("/elsewhere"), &found));
    assert_false(
        resume_load(fixture->state, &fixture->arena, STR("other"), STR("/srv/site"), &found));
    assert_str(found.site, "other");
}

/* Whatever file it is in, the note of a site is not mistaken for that of a path. */
static void test_note_of_a_site_is_not_mistaken_for_that_of_a_path(void **state)
{
    Fixture *fixture = *state;
    AUTO_CLEAR(Directory) dir = { .descriptor = -1 };
    DirectoryEntry *entries;
    uint32_t count;
    Resume found;
    Str text = STR("{\"format\":\"eden.resume/1\",\"site\":\"other\",\"home\":\"/srv/site\","
                   "\"resumes\":true,\"argv\":[],\"steps\":[]}");
    save(fixture, "/srv/site", true);
    assert_true(directory_open_child(&fixture->directory, "resume", &dir, &fixture->err));
    assert_true(directory_list(&dir, &fixture->arena, 10, &entries, &count, &fixture->err));
    assert_true(directory_write(&dir, entries[0].name.data, text, false, &fixture->err));
    assert_false(resume_load(fixture->state, &fixture->arena, STR_EMPTY, STR("/srv/site"), &found));
    assert_false(
        resume_load(fixture->state, &fixture->arena, STR("site"), STR("/srv/site"), &found));
}

static void test_fields_of_a_newer_eden_are_preserved(void **state)
{
    Fixture *fixture = *state;
    AUTO_CLEAR(Directory) dir = { .descriptor = -1 };
    DirectoryEntry *entries;
    uint32_t count;
    Resume found;
    Str text = STR("{\"format\":\"eden.resume/1\",\"home\":\"/srv/site\",\"resumes\":true,"
                   "\"argv\":[\"\"],\"steps\":[{\"id\":\"a\",\"boot\":\"b\",\"asked_ms\":1}],"
                   "\"later\":{\"deep\":[1]}}");
    save(fixture, "/srv/site", true);
    assert_true(directory_open_child(&fixture->directory, "resume", &dir, &fixture->err));
    assert_true(directory_list(&dir, &fixture->arena, 10, &entries, &count, &fixture->err));
    const char *name = entries[0].name.data;
    assert_true(directory_write(&dir, name, text, false, &fixture->err));
    assert_true(resume_load(fixture->state, &fixture->arena, STR_EMPTY, STR("/srv/site"), &found));
    assert_int_equal(found.argc, 1);
    assert_true(resume_save(&fixture->directory, &found, &fixture->err));
    assert_true(directory_read(&dir, &fixture->arena, name, 4096, &text, &fixture->err));
    assert_true(str_ends(text, STR(",\"later\":{\"deep\":[1]}}\n")));
}

static void test_sites_have_separate_notes(void **state)
{
    Fixture *fixture = *state;
    Resume found, *all;
    uint32_t count;
    assert_true(resume_list(fixture->state, &fixture->arena, &all, &count, &fixture->err));
    assert_int_equal(count, 0);
    assert_true(resume_list("/nonexistent", &fixture->arena, &all, &count, &fixture->err));
    save(fixture, "/srv/one", true);
    save(fixture, "/srv/two", true);
    save(fixture, "/srv/quiet", false);
    assert_false(
        resume_load(fixture->state, &fixture->arena, STR_EMPTY, STR("/srv/three"), &found));
    assert_int_equal(found.step_count, 0);
    assert_str(found.home, "/srv/three");
    assert_true(resume_list(fixture->state, &fixture->arena, &all, &count, &fixture->err));
    assert_int_equal(count, 2);
    /* Without steps it is removed, and may be missing already. */
    Resume none = { .home = STR("/srv/one") };
    assert_true(resume_save(&fixture->directory, &none, &fixture->err));
    assert_true(resume_save(&fixture->directory, &none, &fixture->err));
    assert_true(resume_list(fixture->state, &fixture->arena, &all, &count, &fixture->err));
    assert_int_equal(count, 1);
    assert_str(all[0].home, "/srv/two");
}

static void test_invalid_notes_count_as_none(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{\"format\":\"eden.resume/2\",\"home\":\"/srv/site\",\"resumes\":true}",
        "{\"format\":\"eden.resume/1\",\"resumes\":true}",
        "{\"format\":\"eden.resume/1\",\"home\":\"/srv/site\",\"argv\":[3]}",
        "{\"format\":\"eden.resume/1\",\"home\":\"/srv/site\",\"steps\":[{\"id\":\"x\"}]}",
        "{\"format\":\"eden.resume/1\",\"home\":\"/srv/site\",\"steps\":[7]}",
        "{\"format\":\"eden.resume/1\",\"home\":\"/srv/site\",\"resumes\":tru",
    };
    Fixture *fixture = *state;
    Resume found, *all;
    uint32_t count;
    save(fixture, "/srv/site", true);
    char dir[96];
    snprintf(dir, sizeof dir, "%s/resume", fixture->state);
    Directory notes;
    DirectoryEntry *entries;
    assert_true(directory_open(dir, &notes, &fixture->err));
    assert_true(directory_list(&notes, &fixture->arena, 10, &entries, &count, &fixture->err));
    assert_int_equal(count, 1);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_true(directory_write(&notes, entries[0].name.data, str_from_c(texts[i]), false,
                                    &fixture->err));
        assert_false(
            resume_load(fixture->state, &fixture->arena, STR_EMPTY, STR("/srv/site"), &found));
        assert_int_equal(found.step_count, 0);
        uint32_t listed;
        assert_true(resume_list(fixture->state, &fixture->arena, &all, &listed, &fixture->err));
        assert_int_equal(listed, 0);
    }
    directory_close(&notes);
}

static void test_unit_quotes_what_systemd_would_expand(void **state)
{
    Fixture *fixture = *state;
    Host *host;
    Str text;
    char path[160];
    snprintf(path, sizeof path, "%s/etc/systemd/system/eden-resume.service", fixture->state);
    assert_true(host_open(fixture->state, &host, &fixture->err));
    assert_true(resume_unit_put(host, &fixture->arena, STR("/srv/a b/100%/$x\"y"), &fixture->err));
    assert_true(file_read(&fixture->arena, path, 4096, &text, &fixture->err));
    assert_true(str_find(text, STR("--state-dir \"/srv/a b/100%%/$$x\\\"y\"\n"), 0) !=
                STR_NOT_FOUND);
    assert_true(resume_unit_remove(host, &fixture->err));
    assert_true(resume_unit_remove(host, &fixture->err));
    assert_false(file_exists(path));
    host_close(host);
}

#define WITH_STATE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STATE(test_note_survives_a_round_trip),
        WITH_STATE(test_note_of_a_site_is_not_mistaken_for_that_of_a_path),
        WITH_STATE(test_fields_of_a_newer_eden_are_preserved),
        WITH_STATE(test_sites_have_separate_notes),
        WITH_STATE(test_note_by_path_moves_to_the_name),
        WITH_STATE(test_note_by_path_stays_until_the_other_is_written),
        WITH_STATE(test_invalid_notes_count_as_none),
        WITH_STATE(test_unit_quotes_what_systemd_would_expand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
