#include "modules/git/refs.h"

#include "unit.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccc"

static void addresses_of_repositories(void **state)
{
    static const char *const good[] = {
        "https://git.example.net/app.git",
        "http://h/x",
        "ssh://git@h:22/x",
        "git://h/x",
        "git@h:x/y.git",
        "h:x",
        "/srv/git/app.git",
        "file:///srv/x",
        "https://token@h/x",
    };
    static const char *const bad[] = {
        "",          "-oProxyCommand=x", "ext::sh -c x", "ext::x",  "fd::17", "relative/path",
        "ftp://h/x", "https://h/a b",    "h:x\ny",       "hg::h:x", "app",    ":x",
        "./x",       "EXT://x",
    };
    Error err;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        if (!git_check_address(str_from_c(good[i]), &err)) {
            fail_msg("%s: %s", good[i], err.text);
        }
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (git_check_address(str_from_c(bad[i]), &err)) {
            fail_msg("%s is taken", bad[i]);
        }
        assert_string_equal(err.text, "'repo' must be an address with https, http, ssh, git or "
                                      "file, 'host:path', or an absolute path");
    }
    assert_false(git_check_address(STR("https://me:secret@h/x"), &err));
    assert_string_equal(err.text, "'repo' contains a password, which every user of the machine "
                                  "could read; use 'password' instead");
    assert_true(git_address_is_local(STR("/x")) && git_address_is_local(STR("file:///x")));
    assert_false(git_address_is_local(STR("h:/x")));
}

static void server_of_an_address(void **state)
{
    static const struct {
        const char *address, *server;
    } rows[] = {
        { "https://h/x", "https://h" },
        { "https://h:8443/x/y.git", "https://h:8443" },
        { "http://me@h:81/x@y", "http://h:81" },
        { "https://a@b@h/x", "https://h" },
        { "https://[::1]:8443/x", "https://[::1]:8443" },
        { "https://h", "https://h" },
        { "ssh://h/x", "" },
        { "h:x", "" },
        { "/x", "" },
    };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Str server = git_server_of(&arena, str_from_c(rows[i].address));
        if (!str_eq_c(server, rows[i].server)) {
            fail_msg("%s: %" STR_FMT, rows[i].address, STR_ARG(server));
        }
    }
}

static void names_of_revisions(void **state)
{
    static const char *const good[] = {
        "main", "feature/x-1", "v1.4", "refs/pull/7/head", A, "a@b"
    };
    static const char *const bad[] = { "",       "-x",  "a b",   "a..b", "a~1",   "a^{}",
                                       "a:b",    "/a",  "a/",    "a.",   ".a",    "a//b",
                                       "a.lock", "@",   "a@{1}", "a\nb", "\001b", "a*",
                                       "a?",     "a[b", "a\\b",  "a/.b" };
    Error err;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_true(git_check_rev(str_from_c(good[i]), &err));
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (git_check_rev(str_from_c(bad[i]), &err)) {
            fail_msg("'%s' is taken", bad[i]);
        }
    }
    assert_true(git_is_commit(STR(A)) &&
                git_is_commit(STR("ABCDEF0123456789abcdef0123456789abcdef01")));
    assert_false(git_is_commit(STR("abc")) || git_is_commit(STR_EMPTY));
    assert_str(git_branch_of(STR("refs/heads/a/b")), "a/b");
    assert_str(git_branch_of(STR("refs/tags/a")), "");
}

static void finds(const char *listed, const char *rev, const char *commit, const char *name)
{
    GitRef ref;
    Error err;
    if (!git_find_ref(str_from_c(listed), str_from_c(rev), &ref, &err)) {
        fail_msg("%s", err.text);
    }
    assert_str(ref.commit, commit);
    assert_str(ref.name, name);
}

#define LISTED                                                                                \
    "ref: refs/heads/main\tHEAD\n" A "\tHEAD\n" A "\trefs/heads/main\n" B                     \
    "\trefs/heads/x/main\n" B "\trefs/heads/v1\n" C "\trefs/tags/v1\n" B "\trefs/tags/v2\n" C \
    "\trefs/tags/v2^{}\n" B "\trefs/pull/1/head\n"

static void refs_of_a_repository(void **state)
{
    finds(LISTED, "", A, "refs/heads/main");
    finds(LISTED, "main", A, "refs/heads/main");
    finds(LISTED, "x/main", B, "refs/heads/x/main");
    finds(LISTED, "v1", B, "refs/heads/v1"); /* before the tag */
    finds(LISTED, "refs/tags/v1", C, "refs/tags/v1");
    finds(LISTED, "v2", C, "refs/tags/v2");
    finds(LISTED, "refs/pull/1/head", B, "refs/pull/1/head");
    finds(A "\tHEAD\n", "", A, ""); /* no branch is its own */
    finds("warning: odd\n\n\t\nzzz\tHEAD\n" A "\tHEAD", "", A, "");
}

static void refs_a_repository_does_not_have(void **state)
{
    static const char *const texts[] = { "", "\n", A, "ref: refs/heads/main\tHEAD\n", "x\ty\n" };
    GitRef ref;
    Error err;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_false(git_find_ref(str_from_c(texts[i]), STR_EMPTY, &ref, &err));
        assert_string_equal(err.text, "the repository is empty");
    }
    assert_false(git_find_ref(STR(LISTED), STR("ain"), &ref, &err));
    assert_string_equal(
        err.text, "the repository has no branch or tag 'ain'; use the full hash for a commit");
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_repositories),
        cmocka_unit_test(server_of_an_address),
        cmocka_unit_test(names_of_revisions),
        cmocka_unit_test(refs_of_a_repository),
        cmocka_unit_test(refs_a_repository_does_not_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
