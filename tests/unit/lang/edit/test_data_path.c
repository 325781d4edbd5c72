#include "lang/edit/data_path.h"

#include "lang/json.h"
#include "unit.h"

static bool parse(Arena *arena, const char *json, DataPath *out, Error *err)
{
    Value given;
    assert_true(json_parse_text(arena, str_from_c(json), NULL, &given, err));
    return data_path_parse(arena, given, out, err);
}

static void paths_have_three_forms(void **state)
{
    static const struct {
        const char *json, *text;
        uint32_t len;
    } cases[] = {
        { "\"server.port\"", "server.port", 2 },
        { "\"a\"", "a", 1 },
        { "\"\"", "the document", 0 },
        { "\"/server/port\"", "server.port", 2 },
        { "\"/\"", "", 1 },
        { "\"/a~1b/c~0d/\"", "a/b.c~d.", 3 },
        { "[\"a.b\", 0, \"c\"]", "a.b[0].c", 3 },
        { "[]", "the document", 0 },
        { "7", "[7]", 1 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Arena arena;
        DataPath path;
        Error err;
        arena_init(&arena, ARENA_UNLIMITED);
        assert_true(parse(&arena, cases[i].json, &path, &err));
        assert_int_equal(path.len, cases[i].len);
        assert_str(data_path_text(&arena, &path, path.len), cases[i].text);
        arena_clear(&arena);
    }
}

static void invalid_paths_are_rejected(void **state)
{
    static const struct {
        const char *json, *message;
    } cases[] = {
        { "\"a..b\"", "'path' has an empty segment; use a list of keys for empty keys" },
        { "\".\"", "'path' has an empty segment; use a list of keys for empty keys" },
        { "\"/a~2\"", "'path': write '~0' for '~' in a JSON pointer" },
        { "\"/a~\"", "'path': write '~0' for '~' in a JSON pointer" },
        { "true", "'path' must be a string such as 'server.port', or a list of keys" },
        { "[1.5]", "a segment of 'path' must be a key or a number, not a float" },
        { "[[\"a\"]]", "a segment of 'path' must be a key or a number, not a list" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Arena arena;
        DataPath path;
        Error err;
        arena_init(&arena, ARENA_UNLIMITED);
        assert_false(parse(&arena, cases[i].json, &path, &err));
        assert_string_equal(err.text, cases[i].message);
        arena_clear(&arena);
    }
}

static void long_paths_are_rejected(void **state)
{
    Arena arena;
    Error err;
    DataPath path;
    char text[2 * DATA_PATH_MAX + 2];
    memset(text, 'a', sizeof text);
    for (size_t i = 1; i < sizeof text; i += 2) {
        text[i] = '.';
    }
    arena_init(&arena, ARENA_UNLIMITED);
    assert_true(
        data_path_parse(&arena, value_string(str_from(text, 2 * DATA_PATH_MAX - 1)), &path, &err));
    assert_false(
        data_path_parse(&arena, value_string(str_from(text, 2 * DATA_PATH_MAX + 1)), &path, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_have_three_forms),
        cmocka_unit_test(invalid_paths_are_rejected),
        cmocka_unit_test(long_paths_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
