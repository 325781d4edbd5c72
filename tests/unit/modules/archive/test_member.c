#include "modules/archive/member.h"

#include "unit.h"

static void names_become_paths(void **state)
{
    static const struct {
        const char *name;
        uint32_t strip;
        const char *path;
    } cases[] = {
        { "a", 0, "a" },       { "./a//b/./c/", 0, "a/b/c" },
        { "./", 0, "" },       { "a/b/c", 1, "b/c" },
        { "a/b/c", 3, "" },    { "a", 5, "" },
        { "./a/b", 1, "b" },   { "..a/b..", 0, "..a/b.." },
        { "a\nb", 0, "a\nb" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Arena arena;
        Error err;
        Str path;
        arena_init(&arena, ARENA_UNLIMITED);
        assert_true(member_path(&arena, str_from_c(cases[i].name), cases[i].strip, &path, &err));
        assert_str(path, cases[i].path);
        arena_clear(&arena);
    }
}

static void names_that_lead_out_are_rejected(void **state)
{
    static const struct {
        Str name;
        const char *message;
    } cases[] = {
        { { "/a", 2 }, "'/a' in the archive is outside the directory: the name is absolute" },
        { { "..", 2 }, "'..' in the archive is outside the directory" },
        { { "a/../b", 6 }, "'a/../b' in the archive is outside the directory" },
        { { "a/..", 4 }, "'a/..' in the archive is outside the directory" },
        { { "", 0 }, "'' in the archive has an empty name" },
        { { "a\xff", 2 }, "a name in the archive is not UTF-8" },
        { { "a\0b", 3 }, "a name in the archive is not UTF-8" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Arena arena;
        Error err;
        Str path;
        arena_init(&arena, ARENA_UNLIMITED);
        /* Even if stripping removed the part that leads out. */
        for (uint32_t strip = 0; strip < 3; strip++) {
            assert_false(member_path(&arena, cases[i].name, strip, &path, &err));
            assert_string_equal(err.text, cases[i].message);
        }
        arena_clear(&arena);
    }
}

static void links_stay_inside(void **state)
{
    static const struct {
        const char *path, *target;
        bool safe;
    } cases[] = {
        { "l", "a", true },
        { "l", "a/b/c", true },
        { "l", "./a", true },
        { "l", ".", true },
        { "a/l", "..", true },
        { "a/b/l", "../../c", true },
        { "a/b/l", "./.././../c", true },
        { "l", "..", false },
        { "l", "../a", false },
        { "a/l", "../../a", false },
        { "l", "/a", false },
        { "l", "", false },
        { "a/b/l", "c/../..", false },
        { "a/b/l", "../c/..", false },
        { "l", "a/..", false },
        { "l", "\xff", false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(
            member_link_is_safe(str_from_c(cases[i].path), str_from_c(cases[i].target)),
            cases[i].safe);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_paths),
        cmocka_unit_test(names_that_lead_out_are_rejected),
        cmocka_unit_test(links_stay_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
