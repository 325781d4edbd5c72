#include "lang/template/version.h"

#include "unit.h"

static int sign(int order)
{
    return order < 0 ? -1 : order > 0 ? 1 : 0;
}

static int loose(const char *a, const char *b)
{
    int order = sign(version_compare_loose(str_from_c(a), str_from_c(b)));
    assert_int_equal(sign(version_compare_loose(str_from_c(b), str_from_c(a))), -order);
    return order;
}

static void parts_compare_as_numbers_or_strings(void **state)
{
    assert_int_equal(loose("1.10", "1.9"), 1);
    assert_int_equal(loose("1.2", "1.2"), 0);
    assert_int_equal(loose("1.2", "1.2.0"), -1);
    assert_int_equal(loose("1.02", "1.2"), 0);
    assert_int_equal(loose("2.0rc1", "2.0"), 1); /* longer, as in Python's LooseVersion */
    assert_int_equal(loose("2.0rc1", "2.0.1"), -1);
    assert_int_equal(loose("1.a", "1.b"), -1);
    assert_int_equal(loose("99999999999999999999999", "100000000000000000000000"), -1);
    assert_int_equal(loose("5.10.0-8-amd64", "5.10.0-21-amd64"), -1);
    assert_int_equal(loose("", ""), 0);
}

static int semver(const char *a, const char *b)
{
    int order;
    assert_true(version_compare_semver(str_from_c(a), str_from_c(b), &order));
    return sign(order);
}

/* The order of precedence that semver.org gives as its example. */
static void semantic_versions_follow_their_standard(void **state)
{
    static const char *const ascending[] = {
        "1.0.0-alpha",  "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta",
        "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",       "1.0.0",
    };
    for (size_t i = 0; i < COUNT_OF(ascending); i++) {
        for (size_t k = 0; k < COUNT_OF(ascending); k++) {
            assert_int_equal(semver(ascending[i], ascending[k]), sign((int)i - (int)k));
        }
    }
    assert_int_equal(semver("1.0.0+linux", "1.0.0+bsd"), 0);
    assert_int_equal(semver("1.10.0", "1.9.9"), 1);
}

static void invalid_semantic_versions_are_rejected(void **state)
{
    static const char *const bad[] = { "1.0",        "1",      "01.0.0",  "1.0.0-",
                                       "1.0.0-01",   "1.0.0+", "1.0.0.0", "v1.0.0",
                                       "1.0.0-a..b", "",       "1.0.x",   "1.0.0-a_b" };
    int order;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(version_compare_semver(str_from_c(bad[i]), STR("1.0.0"), &order));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_compare_as_numbers_or_strings),
        cmocka_unit_test(semantic_versions_follow_their_standard),
        cmocka_unit_test(invalid_semantic_versions_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
