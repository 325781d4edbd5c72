/* What browsers accept, and what they have cached. */
#include "api/page_rules.h"

#include "unit.h"

typedef struct Case {
    const char *sent;
    bool is_so;
} Case;

static void gzip_is_used_if_accepted(void **state)
{
    static const Case cases[] = {
        { "gzip", true },
        { "GZIP", true },
        { "deflate, gzip;q=1.0, *;q=0.5", true },
        { "br , gzip ;q=0.5", true },
        { "gzip;q=0.001", true },
        { "*", true },
        { "identity;q=0, *", true },
        { "", false },
        { "identity", false },
        { "gzip;q=0", false },
        { "gzip; q=0.000", false },
        { "gzip;q=0, *", false }, /* all but that */
        { "*;q=0", false },
        { "xgzip", false },
        { "gzipx", false },
        { "deflate, br", false },
        { ",,;", false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (page_accepts_gzip(str_from_c(cases[i].sent)) != cases[i].is_so) {
            fail_msg("%s", cases[i].sent);
        }
    }
}

static void weak_and_strong_tags_match(void **state)
{
    static const Case cases[] = {
        { "W/\"abc\"", true },     { "\"abc\"", true },        { "\"x\", W/\"abc\"", true },
        { " * ", true },           { "\"x\",\"abc\" ", true }, { "", false },
        { "abc", false },          { "\"ab\"", false },        { "\"abcd\"", false },
        { "\"x\", \"*\"", false }, { "w/\"abc\"", false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (page_is_cached(str_from_c(cases[i].sent), STR("W/\"abc\"")) != cases[i].is_so) {
            fail_msg("%s", cases[i].sent);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gzip_is_used_if_accepted),
        cmocka_unit_test(weak_and_strong_tags_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
