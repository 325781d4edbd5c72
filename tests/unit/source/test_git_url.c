/* Addresses of repositories: host, port and user, as git and ssh understand them. */
#include "source/git_url.h"

#include "unit.h"

static void test_addresses_have_a_host(void **state)
{
    static const struct {
        const char *url, *user, *host, *origin;
        GitTransport transport;
        uint16_t port;
    } rows[] = {
        { "https://git.example.net/site.git", "", "git.example.net", "https://git.example.net:443",
          GIT_HTTPS, 443 },
        { "https://Git.Example.NET:8443/a@b:c", "", "Git.Example.NET",
          "https://git.example.net:8443", GIT_HTTPS, 8443 },
        { "https://ann@git.example.net", "ann", "git.example.net", "https://git.example.net:443",
          GIT_HTTPS, 443 },
        { "https://[2001:db8::7]:444/x", "", "2001:db8::7", "https://[2001:db8::7]:444", GIT_HTTPS,
          444 },
        { "ssh://git@git.example.net/x", "git", "git.example.net", "ssh://git.example.net:22",
          GIT_SSH, 22 },
        { "ssh://git@git.example.net:2222/x", "git", "git.example.net",
          "ssh://git.example.net:2222", GIT_SSH, 2222 },
        { "git@git.example.net:ann/x.git", "git", "git.example.net", "ssh://git.example.net:22",
          GIT_SSH, 22 },
        { "git@[2001:db8::7]:x.git", "git", "2001:db8::7", "ssh://[2001:db8::7]:22", GIT_SSH, 22 },
        { "build-1:x", "", "build-1", "ssh://build-1:22", GIT_SSH, 22 },
    };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        GitUrl url;
        Error err = { 0 };
        if (!git_url_parse(str_from_c(rows[i].url), &url, &err)) {
            fail_msg("%s: %s", rows[i].url, err.text);
        }
        assert_int_equal(url.transport, rows[i].transport);
        assert_int_equal(url.port, rows[i].port);
        assert_str(url.user, rows[i].user);
        assert_str(url.host, rows[i].host);
        assert_str(git_url_origin(&arena, &url), rows[i].origin);
    }
}

static void test_local_repositories_have_none(void **state)
{
    static const char *const urls[] = { "/srv/git/site.git", "file:///srv/git/site.git", "/a:b" };
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        GitUrl url;
        Error err;
        assert_true(git_url_parse(str_from_c(urls[i]), &url, &err));
        assert_int_equal(url.transport, GIT_LOCAL);
        assert_int_equal(url.host.len, 0);
    }
}

/* Whatever could be an option, a second argument, a line of a file or a password. */
static void test_other_addresses_are_invalid(void **state)
{
    static const char *const urls[] = {
        "",
        "https://",
        "https:///x",
        "https://host:0/x",
        "https://host:65536/x",
        "https://host:/x",
        "https://host:80:80/x",
        "https://-host/x",
        "https://ho$t/x",
        "https://host\"]/x",
        "https://[::1/x",
        "https://[::1]x/x",
        "https://[host-1]/x",
        "https://ann:secret@host/x",
        "https://@host/x",
        "https://-ann@host/x",
        "https://a'b@host/x",
        "ssh://-oProxyCommand=id/x",
        "ssh://git@-oProxyCommand=id/x",
        "-oProxyCommand=id:x",
        "git@-oProxyCommand=id:x",
        "git@host:",
        "a b@host:x",
        "git@ho\nst:x",
        "host::x",
        "http://host/x",
        "file://host/x",
        "x/y:z",
    };
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        GitUrl url;
        Error err = { 0 };
        if (git_url_parse(str_from_c(urls[i]), &url, &err)) {
            fail_msg("accepted: %s", urls[i]);
        }
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(strstr(err.text, "secret"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_have_a_host),
        cmocka_unit_test(test_local_repositories_have_none),
        cmocka_unit_test(test_other_addresses_are_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
