#include "lang/duration.h"

#include "unit.h"

static void durations_are_read_in_milliseconds(void **state)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: rejected */
    } rows[] = {
        { "15s", 15000 },
        { "5m", 300000 },
        { "1h30m", 5400000 },
        { "250ms", 250 },
        { "1m250ms", 60250 },
        { "1d", 86400000 },
        { "1.5h", 5400000 },
        { "0", 0 },
        { "0s", 0 },
        { "90", 90000 },
        { "0.25", 250 },
        { "", -1 },
        { "soon", -1 },
        { "s", -1 },
        { "15 s", -1 },
        { "-5s", -1 },
        { "5x", -1 },
        { "5s5s", -1 },
        { "5s1m", -1 },
        { "1..5s", -1 },
        { "1h30", -1 },
        { "1e3s", -1 },
        { "99999999999999999999s", -1 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t ms = -1;
        bool ok = duration_parse(str_from_c(rows[i].text), &ms);
        if (ok != (rows[i].ms >= 0) || (ok && ms != rows[i].ms)) {
            fail_msg("'%s' gives %d, %lld", rows[i].text, ok, (long long)ms);
        }
    }
}

static void durations_survive_a_round_trip(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        { 0, "0s" },          { 250, "250ms" },   { 15000, "15s" },
        { 5400000, "1h30m" }, { 86400000, "1d" }, { 60250, "1m250ms" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        duration_put(&out, rows[i].ms);
        assert_str(buf_str(&out), rows[i].text);
        int64_t again;
        assert_true(duration_parse(buf_str(&out), &again));
        assert_int_equal(again, rows[i].ms);
    }
}

static void common_spellings_get_a_hint(void **state)
{
    static const struct {
        const char *text;
        const char *meant; /* NULL: unknown */
    } rows[] = {
        { "5min", "5m" },
        { "5 minutes", "5m" },
        { " 1 hour 30 min ", "1h30m" },
        { "1h 30m", "1h30m" },
        { "30m 1h", "1h30m" },
        { "90 sec", "1m30s" },
        { "250 Milliseconds", "250ms" },
        { "", NULL },
        { "soon", NULL },
        { "5", NULL },
        { "5 moons", NULL },
        { "min", NULL },
        { "5.5.5 min", NULL },
        { "99999999999 days", NULL },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        bool known = duration_suggest(str_from_c(rows[i].text), &out);
        assert_int_equal(known, rows[i].meant != NULL);
        assert_str(buf_str(&out), known ? rows[i].meant : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read_in_milliseconds),
        cmocka_unit_test(durations_survive_a_round_trip),
        cmocka_unit_test(common_spellings_get_a_hint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
