/* Which requests are meant for this server. */
#include "net/host_check.h"

#include "unit.h"

static const Str names[] = { { "eden1.example.org", 17 },
                             { "10.0.0.1", 8 },
                             { "2001:db8::1", 11 },
                             { "eden2.example.org:1338", 22 } };

typedef struct Case {
    const char *own, *host;
    bool is_own;
} Case;

static void hosts_match_by_name_and_by_local_address(void **state)
{
    static const Case cases[] = {
        { "10.0.0.1:1338", "eden1.example.org", true },
        { "10.0.0.1:1338", "eden1.example.org:1338", true },
        { "10.0.0.1:1338", "EDEN1.Example.org:1338", true },
        { "10.0.0.1:1338", "eden1.example.org.:1338", true },
        { "10.0.0.1:1338", "eden1.example.org.", true },
        { "10.0.0.1:1338", "eden1.example.org:8443", true }, /* forwarded */
        { "10.0.0.1:1338", "eden2.example.org", true },
        { "192.168.7.7:1338", "10.0.0.1:1338", true }, /* its own name */
        { "192.168.7.7:1338", "192.168.7.7:1338", true },
        { "192.168.7.7:1338", "192.168.7.7", true },
        { "[::ffff:192.168.7.7]:1338", "192.168.7.7:1338", true },
        { "[2001:db8::1]:1338", "[2001:0db8:0:0::1]:1338", true },
        { "[fe80::7]:1338", "[fe80::7]:1338", true },
        { "127.0.0.1:1338", "localhost:1338", true },
        { "127.0.0.1:1338", "LOCALHOST", true },
        { "127.0.0.1:1338", "127.0.0.1:1338", true },
        { "127.0.0.2:1338", "localhost", true },
        { "[::1]:1338", "[::1]:1338", true },
        { "[::1]:1338", "localhost:1338", true },
        { "[::ffff:127.0.0.1]:1338", "localhost:1338", true },

        { "127.0.0.1:1338", "evil.example", false }, /* rebinding */
        { "127.0.0.1:1338", "evil.example:1338", false },
        { "127.0.0.1:1338", "eden1.example.org.evil.example", false },
        { "127.0.0.1:1338", "localhost.evil.example", false },
        { "127.0.0.1:1338", "127.0.0.1.evil.example", false },
        { "127.0.0.1:1338", "xeden1.example.org", false },
        { "127.0.0.1:1338", "[::1]:1338", false }, /* not the address it was sent to */
        { "127.0.0.1:1338", "127.0.0.2:1338", false },
        { "127.0.0.1:1338", "0.0.0.0:1338", false },
        { "127.0.0.1:1338", "127.1", false },
        { "127.0.0.1:1338", "2130706433", false },
        { "127.0.0.1:1338", "0x7f.0.0.1", false },
        { "192.168.7.7:1338", "localhost:1338", false },
        { "192.168.7.7:1338", "127.0.0.1", false },
        { "192.168.7.7:1338", "192.168.7.8:1338", false },
        { "192.168.7.7:1338", "", false },
        { "192.168.7.7:1338", ".", false },
        { "192.168.7.7:1338", ":1338", false },
        { "192.168.7.7:1338", "eden1.example.org..", false },
        { "192.168.7.7:1338", "eden1.example.org:", false },
        { "192.168.7.7:1338", "eden1.example.org:1338:1338", false },
        { "192.168.7.7:1338", "eden1.example.org:99999", false },
        { "192.168.7.7:1338", "x@eden1.example.org", false },
        { "192.168.7.7:1338", "eden1.example.org/", false },
        { "192.168.7.7:1338", "eden1.example.org,evil.example", false },
        { "192.168.7.7:1338", " eden1.example.org", false },
        { "192.168.7.7:1338", "192.168.7.7.", false },
        { "192.168.7.7:1338", "[192.168.7.7]", false },
        { "192.168.7.7:1338", "unix:/run/eden", false },
        { "unix", "unix", false },
        { "unknown", "localhost", false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        HostRules rules = { names, COUNT_OF(names), str_from_c(cases[i].own) };
        if (host_is_own(&rules, str_from_c(cases[i].host)) != cases[i].is_own) {
            fail_msg("'%s' at %s", cases[i].host, cases[i].own);
        }
    }
}

static void a_host_can_have_any_length(void **state)
{
    char text[5000];
    HostRules rules = { names, COUNT_OF(names), STR("127.0.0.1:1338") };
    memset(text, 'a', sizeof text);
    for (size_t len = 0; len < sizeof text; len += 97) {
        assert_false(host_is_own(&rules, str_from(text, len)));
        text[len] = '.';
        assert_false(host_is_own(&rules, str_from(text, len + 1)));
    }
    assert_false(host_is_own(&rules, STR("localhost\0.evil.example")));
}

static void a_page_is_identified_by_its_origin(void **state)
{
    static const struct {
        const char *origin, *host;
        bool is_own;
    } cases[] = {
        { "https://eden1.example.org:1338", "eden1.example.org:1338", true },
        { "https://eden1.example.org", "eden1.example.org", true },
        { "https://EDEN1.example.org", "eden1.example.org", true },
        { "https://[::1]:1338", "[::1]:1338", true },
        { "http://eden1.example.org:1338", "eden1.example.org:1338", false },
        { "https://eden1.example.org", "eden1.example.org:1338", false },
        { "https://eden1.example.org:1339", "eden1.example.org:1338", false },
        { "https://evil.example", "eden1.example.org", false },
        { "https://eden1.example.org.evil.example", "eden1.example.org", false },
        { "https://", "eden1.example.org", false },
        { "https://eden1.example.org https://evil.example", "eden1.example.org", false },
        { "null", "eden1.example.org", false },
        { "", "eden1.example.org", false },
        { "file://", "eden1.example.org", false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (origin_is_own(str_from_c(cases[i].origin), str_from_c(cases[i].host)) !=
            cases[i].is_own) {
            fail_msg("'%s' for %s", cases[i].origin, cases[i].host);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_match_by_name_and_by_local_address),
        cmocka_unit_test(a_host_can_have_any_length),
        cmocka_unit_test(a_page_is_identified_by_its_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
