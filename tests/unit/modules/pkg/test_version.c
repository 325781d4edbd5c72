#include "modules/pkg/version.h"

#include "unit.h"

typedef struct Pair {
    const char *a, *b;
    int difference;
} Pair;

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

/* Both ways, so that the order is consistent. */
static void check_pairs(VersionCompare compare, const Pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Str a = str_from_c(pairs[i].a), b = str_from_c(pairs[i].b);
        if (sign(compare(a, b)) != pairs[i].difference ||
            sign(compare(b, a)) != -pairs[i].difference || compare(a, a) != 0) {
            fail_msg("'%s' and '%s' compare as %d and %d", pairs[i].a, pairs[i].b, compare(a, b),
                     compare(b, a));
        }
    }
}

static void debian_versions_are_ordered(void **state)
{
    static const Pair pairs[] = {
        { "1.0", "1.0", 0 },
        { "1.0", "1.1", -1 },
        { "1.9", "1.10", -1 },
        { "1.0-1", "1.0-2", -1 },
        { "1.0", "1.0-1", -1 },
        { "1.0", "1.0-0", 0 },
        { "1.0~rc1", "1.0", -1 },
        { "1.0~~", "1.0~", -1 },
        { "1.0~~a", "1.0~", -1 },
        { "1.0a", "1.0", 1 },
        { "1.0a", "1.0+", -1 },
        { "1.0.", "1.0a", 1 },
        { "1:0.1", "2.0", 1 },
        { "0:1.0", "1.0", 0 },
        { "00:1.0", "1.0", 0 },
        { "1.001", "1.1", 0 },
        { "1.0-1~bpo1", "1.0-1", -1 },
        { "2:9.0.1378-2", "2:9.0.1378-2+deb12u1", -1 },
        { "1.2.3-4-5", "1.2.3-4-6", -1 },
        { "12345678901234567890123", "12345678901234567890124", -1 },
        { "1.0+b1", "1.0", 1 },
        { "", "0", 0 },
        { "a", "1", 1 },
    };
    check_pairs(version_compare_dpkg, pairs, COUNT_OF(pairs));
}

static void rpm_versions_are_ordered(void **state)
{
    static const Pair pairs[] = {
        { "1.0", "1.0", 0 },
        { "1.0", "2.0", -1 },
        { "2.0.1", "2.0.1a", -1 },
        { "5.5p1", "5.5p10", -1 },
        { "10xyz", "10.1xyz", -1 },
        { "xyz10", "xyz10.1", -1 },
        { "xyz.4", "8", -1 },
        { "5.5p2", "5.6p1", -1 },
        { "6.0.rc1", "6.0", 1 },
        { "10b2", "10a1", 1 },
        { "1.0aa", "1.0a", 1 },
        { "10.0001", "10.1", 0 },
        { "2_0", "2.0", 0 },
        { "1.0~rc1", "1.0", -1 },
        { "1.0~rc1", "1.0~rc2", -1 },
        { "1.0^", "1.0", 1 },
        { "1.0^git1", "1.0^git2", -1 },
        { "1.0^git1", "1.01", -1 },
        { "1.0^20160101", "1.0.1", -1 },
        { "1.0~rc1^git1", "1.0~rc1", 1 },
        { "1.0^git1~pre", "1.0^git1", -1 },
        { "1.0-1", "1.0-2", -1 },
        { "1.0", "1.0-2", 0 },
        { "1:1.0-1", "2.0-1", 1 },
        { "0:2.0-1", "2.0-1", 0 },
    };
    check_pairs(version_compare_rpm, pairs, COUNT_OF(pairs));
}

static void pacman_versions_are_ordered(void **state)
{
    static const Pair pairs[] = {
        { "1.0a", "1.0alpha", -1 },   { "1.0alpha", "1.0b", -1 }, { "1.0b", "1.0beta", -1 },
        { "1.0beta", "1.0rc", -1 },   { "1.0rc", "1.0", -1 },     { "1.0", "1.0.a", -1 },
        { "1.0.a", "1.0.1", -1 },     { "1", "1.0", -1 },         { "1.1", "1.1.1", -1 },
        { "1.5.0-1", "1.5.0-2", -1 }, { "1.5.0", "1.5.0-2", 0 },  { "1.5-1", "1.5.1-1", -1 },
        { "1:1.0-1", "2.0-1", 1 },    { "0:1.0-1", "1.0-1", 0 },  { "1.0.", "1.0", 1 },
        { "1..0", "1.0", 1 },
    };
    check_pairs(version_compare_alpm, pairs, COUNT_OF(pairs));
}

static const VersionOrder dpkg = { version_compare_dpkg, false };
static const VersionOrder rpm = { version_compare_rpm, true };

static bool accepts(const char *request, const VersionOrder *order, const char *version)
{
    VersionSpec parsed;
    Error err;
    if (!version_spec_parse(str_from_c(request), &parsed, &err)) {
        fail_msg("%s: %s", request, err.text);
    }
    return version_spec_accepts(&parsed, order, str_from_c(version));
}

static void constraints_accept_versions(void **state)
{
    assert_true(accepts("1.2-3", &dpkg, "1.2-3"));
    assert_true(accepts("1.2-3", &dpkg, "0:1.2-3"));
    assert_false(accepts("1.2", &dpkg, "1.2-3"));
    assert_true(accepts("1.2*", &dpkg, "1.2-3"));
    assert_false(accepts("1.2*", &dpkg, "1:1.2-3"));
    assert_true(accepts("*", &dpkg, "7"));
    assert_true(accepts(">=1.2", &dpkg, "1.10"));
    assert_true(accepts(" >= 1.2 , < 2 ", &dpkg, "1.10"));
    assert_false(accepts(">=1.2, <2", &dpkg, "2.0"));
    assert_true(accepts(">1.2, !=1.3", &dpkg, "1.4"));
    assert_false(accepts(">1.2, !=1.3", &dpkg, "1.3"));
    assert_true(accepts("=1.2", &dpkg, "1.2"));
    assert_true(accepts("<=1.2", &dpkg, "1.2~rc1"));
    assert_true(accepts("1.2", &rpm, "1.2-3"));
    assert_true(accepts("1.2", &rpm, "4:1.2-3"));
    assert_false(accepts("0:1.2", &rpm, "4:1.2-3"));
    assert_true(accepts("1.2*", &rpm, "4:1.2-3"));
}

static void constraints_detect_versions_that_are_too_new(void **state)
{
    VersionSpec request;
    Error err;
    assert_true(version_spec_parse(STR("1.2"), &request, &err));
    assert_true(version_spec_is_below(&request, &dpkg, STR("1.3")));
    assert_false(version_spec_is_below(&request, &dpkg, STR("1.1")));
    assert_true(version_spec_parse(STR(">=1, <2"), &request, &err));
    assert_true(version_spec_is_below(&request, &dpkg, STR("2")));
    assert_false(version_spec_is_below(&request, &dpkg, STR("0.9")));
    assert_true(version_spec_parse(STR("*"), &request, &err));
    assert_true(version_spec_is_any(&request));
}

static void invalid_versions_are_rejected(void **state)
{
    static const char *const wrong[] = { "",      "  ",      "1 2",    "-1",         ">=",
                                         ">=1,2", ">=1,,<2", "1.2;rm", ">= $(date)", "1.2*;x" };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        VersionSpec request;
        Error err;
        if (version_spec_parse(str_from_c(wrong[i]), &request, &err)) {
            fail_msg("'%s' was taken for a version", wrong[i]);
        }
        assert_int_equal(err.kind, ERROR_INVALID);
    }
    VersionSpec request;
    Error err;
    assert_false(version_spec_parse(STR(">1,>1,>1,>1,>1,>1,>1,>1,>1"), &request, &err));
    assert_string_equal(err.text, "a version can have at most 8 comparisons");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(debian_versions_are_ordered),
        cmocka_unit_test(rpm_versions_are_ordered),
        cmocka_unit_test(pacman_versions_are_ordered),
        cmocka_unit_test(constraints_accept_versions),
        cmocka_unit_test(constraints_detect_versions_that_are_too_new),
        cmocka_unit_test(invalid_versions_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
