#include "lang/template/strftime.h"

#include "unit.h"

static void check_date(const char *format, int64_t seconds, const char *expected, const char *file,
                       int line)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    strftime_put(str_from_c(format), seconds, 250000, &out);
    check_str(buf_str(&out), expected, file, line);
}

#define assert_date(format, seconds, expected) \
    check_date((format), (seconds), (expected), __FILE__, __LINE__)

static void days_are_counted_correctly(void **state)
{
    assert_date("%Y-%m-%d %H:%M:%S %j %a", 0, "1970-01-01 00:00:00 001 Thu");
    assert_date("%Y-%m-%d %H:%M:%S %j %a", -1, "1969-12-31 23:59:59 365 Wed");
    assert_date("%F %T %A", 951782400, "2000-02-29 00:00:00 Tuesday");
    assert_date("%F", 4107542400, "2100-03-01"); /* 2100 is not a leap year */
    assert_date("%F %T", STRFTIME_MIN, "1-01-01 00:00:00");
    assert_date("%F %T", STRFTIME_MAX, "9999-12-31 23:59:59");
}

/* Days around new years for which the ISO year differs from the calendar year. */
static void weeks_of_iso_8601(void **state)
{
    assert_date("%F %G-W%V-%u", 1230768000, "2009-01-01 2009-W01-4");
    assert_date("%F %G-W%V-%u", 1262304000, "2010-01-01 2009-W53-5");
    assert_date("%F %G-W%V-%u", 1293753600, "2010-12-31 2010-W52-5");
    assert_date("%F %G-W%V-%u", 1230681600, "2008-12-31 2009-W01-3");
    assert_date("%F %G-W%V-%u", 1451606400, "2016-01-01 2015-W53-5");
    assert_date("%U %W %w %g", 1262304000, "00 00 5 09");
}

static void every_directive_is_supported(void **state)
{
    assert_date("%a %A %b %B %h|%c|%C|%d %e|%D|%x|%X", 1700000000,
                "Tue Tuesday Nov November Nov|Tue Nov 14 22:13:20 2023|20|14 14|11/14/23|11/14/23|"
                "22:13:20");
    assert_date("%H %I %k %l %M %p %P %S %f|%r|%R|%s", 1700000000,
                "22 10 22 10 13 PM pm 20 250000|10:13:20 PM|22:13|1700000000");
    assert_date("%y %z %Z %%|%n|%t|", 0, "70 +0000 UTC %|\n|\t|");
    assert_date("%I %p", 0, "12 AM");
}

static void other_characters_are_unchanged(void **state)
{
    assert_date("%Q %", 0, "%Q %");
    assert_date("", 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_are_counted_correctly),
        cmocka_unit_test(weeks_of_iso_8601),
        cmocka_unit_test(every_directive_is_supported),
        cmocka_unit_test(other_characters_are_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
