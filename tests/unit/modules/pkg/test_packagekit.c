#include "modules/pkg/packagekit.h"

#include "unit.h"

enum {
    INSTALLED = 1,
    AVAILABLE = 2
};

static void ids_have_four_parts(void **state)
{
    PkPackage package;
    assert_true(pk_package_read(STR("vim;2:9.0;amd64;installed:lab"), INSTALLED, &package));
    assert_str(package.name, "vim");
    assert_str(package.version, "2:9.0");
    assert_str(package.arch, "amd64");
    assert_true(package.installed);
    assert_true(pk_package_read(STR("vim;2:9.1;amd64;lab"), AVAILABLE, &package));
    assert_false(package.installed);
    static const char *const odd[] = { "", ";", "vim", "vim;1", ";1;all;lab" };
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        assert_false(pk_package_read(str_from_c(odd[i]), AVAILABLE, &package));
    }
}

static void duplicate_names_are_offered_once(void **state)
{
    static const VersionOrder order = { version_compare_dpkg, false };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    PkPackages packages = { 0 };
    static const struct {
        const char *id;
        uint32_t info;
    } found[] = { { "vim;9.0;all;installed", INSTALLED },
                  { "vim;9.1;all;lab", AVAILABLE },
                  { "vim;9.1;all;lab", AVAILABLE },
                  { "other;1;all;lab", AVAILABLE } };
    for (size_t i = 0; i < COUNT_OF(found); i++) {
        PkPackage package;
        assert_true(pk_package_read(str_from_c(found[i].id), found[i].info, &package));
        VEC_PUSH(&arena, &packages, package);
    }
    PackageOffer offers[] = { { .name = STR("vim") }, { .name = STR("none") } };
    pk_offers_fill(&arena, &order, &packages, offers, COUNT_OF(offers));
    assert_str(offers[0].candidate, "9.1");
    assert_int_equal(offers[0].version_count, 1);
    assert_false(offers[1].known);
    assert_str(pk_package_find(&packages, STR("vim"), STR_EMPTY, false)->version, "9.1");
    assert_str(pk_package_find(&packages, STR("vim"), STR_EMPTY, true)->version, "9.0");
    assert_null(pk_package_find(&packages, STR("vim"), STR("9.1"), true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_have_four_parts),
        cmocka_unit_test(duplicate_names_are_offered_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
