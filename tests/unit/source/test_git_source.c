/* Records of sources: what an administrator may configure, and when to poll. */
#include "source/git_source.h"

#include "lang/json.h"
#include "unit.h"

typedef struct Fixture {
    Arena arena;
    GitSource source;
    Error err;
} Fixture;

static int set_up(void **state)
{
    static Fixture fixture;
    arena_init(&fixture.arena, ARENA_UNLIMITED);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    arena_clear(&f->arena);
    return 0;
}

static bool read_spec(Fixture *f, const char *json)
{
    Value spec;
    f->err = (Error){ 0 };
    assert_true(json_parse_text(&f->arena, str_from_c(json), NULL, &spec, &f->err));
    return git_source_read(&f->arena, STR("site"), spec, &f->source, &f->err);
}

static bool accepts_url(Fixture *f, const char *url)
{
    return read_spec(f, arena_format(&f->arena, "{\"url\":\"%s\"}", url).data);
}

static bool accepts_branch(Fixture *f, const char *branch)
{
    return read_spec(f, arena_format(&f->arena, "{\"url\":\"/x\",\"branch\":\"%s\"}", branch).data);
}

static bool accepts_directory(Fixture *f, const char *directory)
{
    return read_spec(
        f, arena_format(&f->arena, "{\"url\":\"/x\",\"directory\":\"%s\"}", directory).data);
}

static void test_a_source_is_parsed(void **state)
{
    Fixture *f = *state;
    assert_true(read_spec(f, "{\"url\":\"https://git.example.net/site.git\",\"branch\":\"main\","
                             "\"directory\":\"files/web\",\"interval\":\"30s\"}"));
    assert_true(str_eq_c(f->source.name, "site"));
    assert_true(str_eq_c(f->source.url, "https://git.example.net/site.git"));
    assert_true(str_eq_c(f->source.branch, "main"));
    assert_true(str_eq_c(f->source.directory, "files/web"));
    assert_false(read_spec(f, "{\"branch\":\"main\"}"));
}

static void test_only_addresses_that_git_may_use_are_accepted(void **state)
{
    Fixture *f = *state;
    static const char *const good[] = {
        "https://git.example.net/site.git",
        "ssh://git@git.example.net:2222/site.git",
        "git@git.example.net:site.git",
        "file:///srv/git/site.git",
        "/srv/git/site.git",
        "https://ann@git.example.net/site.git",
    };
    static const char *const bad[] = {
        "",
        "http://git.example.net/site.git",
        "git://git.example.net/site.git",
        "ext::sh -c id",
        "ext::id",
        "--upload-pack=id",
        "-oProxyCommand=id:x",
        "file://host/site.git",
        "site.git",
        "../site.git",
        "https://git.example.net/a b",
        "https://ann:secret@git.example.net/site.git",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_true(accepts_url(f, good[i]));
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (accepts_url(f, bad[i])) {
            fail_msg("accepted: %s", bad[i]);
        }
    }
}

static void test_a_branch_cannot_be_another_part_of_a_refspec(void **state)
{
    Fixture *f = *state;
    assert_true(accepts_branch(f, "main"));
    assert_true(accepts_branch(f, "feature/x-1.2"));
    static const char *const bad[] = { "-x", "a:b", "a b", "a..b",  "a*", "/a",   "a/", "a~1",
                                       "a^", "a?",  "a[b", "a@{1}", ".a", "a//b", "a.", "a\\\\b" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (accepts_branch(f, bad[i])) {
            fail_msg("accepted: %s", bad[i]);
        }
    }
}

static void test_a_directory_stays_inside_the_site(void **state)
{
    Fixture *f = *state;
    assert_true(accepts_directory(f, "files/web"));
    assert_false(accepts_directory(f, "../web"));
    assert_false(accepts_directory(f, "/web"));
    assert_false(accepts_directory(f, "web/"));
    assert_false(accepts_directory(f, "web/.git"));
}

static void test_a_name_must_be_a_valid_directory_name(void **state)
{
    Error err;
    assert_true(git_source_name_check(STR("web-1"), &err));
    assert_false(git_source_name_check(STR(""), &err));
    assert_false(git_source_name_check(STR(".."), &err));
    assert_false(git_source_name_check(STR("a/b"), &err));
    assert_false(git_source_name_check(STR("Web"), &err));
    assert_false(git_source_name_check(STR("-web"), &err));
}

static void test_polls_vary_and_slow_down_after_failures(void **state)
{
    GitSource source = { .interval = STR("60s") };
    for (uint64_t random = 0; random < 30000; random += 997) {
        int64_t delay = git_source_delay_ms(&source, 0, random);
        assert_in_range(delay, 54000, 66000);
    }
    assert_true(git_source_delay_ms(&source, 0, 1) != git_source_delay_ms(&source, 0, 5000));
    assert_in_range(git_source_delay_ms(&source, 2, 0), 216000, 264000);
    assert_in_range(git_source_delay_ms(&source, 1000000, 0), GIT_BACKOFF_MAX_MS * 9 / 10,
                    GIT_BACKOFF_MAX_MS * 11 / 10);
    source.interval = STR("1d"); /* longer than the longest pause: it stays */
    assert_in_range(git_source_delay_ms(&source, 5, 0), GIT_INTERVAL_MAX_MS * 9LL / 10,
                    GIT_INTERVAL_MAX_MS * 11LL / 10);
    source.interval = STR_EMPTY;
    assert_in_range(git_source_delay_ms(&source, 0, 0), 54000, 66000);
}

static void test_a_status_survives_a_round_trip(void **state)
{
    Fixture *f = *state;
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    GitSourceStatus status = { .commit = STR("8badf00d"),
                               .author = STR("Ann"),
                               .subject = STR("\"greet\""),
                               .rejection = STR("a: b"),
                               .since_ms = 5,
                               .handled = 7 };
    GitSourceStatus read;
    git_source_status_print(&status, &text);
    assert_true(git_source_status_read(&f->arena, buf_str(&text), &read, &f->err));
    assert_true(str_eq_c(read.subject, "\"greet\""));
    assert_int_equal(read.since_ms, 5);
    assert_int_equal(read.handled, 7);
    assert_string_equal(git_source_status_name(&read), "rejected");
    read.error = STR("gone");
    assert_string_equal(git_source_status_name(&read), "unreachable");
    assert_string_equal(git_source_status_name(&(GitSourceStatus){ .commit = STR("1") }), "ok");
    assert_string_equal(git_source_status_name(&(GitSourceStatus){ 0 }), "new");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_source_is_parsed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_addresses_that_git_may_use_are_accepted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_branch_cannot_be_another_part_of_a_refspec, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_directory_stays_inside_the_site, set_up, tear_down),
        cmocka_unit_test(test_a_name_must_be_a_valid_directory_name),
        cmocka_unit_test(test_polls_vary_and_slow_down_after_failures),
        cmocka_unit_test_setup_teardown(test_a_status_survives_a_round_trip, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
