#include "access/credential_items.h"

#include "cluster/cluster_keys.h"
#include "unit.h"

#define PREFIX STR("/eden")

static bool has_name(Arena *arena, ItemKind kind, Str rest, const char *expected)
{
    Str key = arena_join(arena, item_keys(arena, PREFIX, kind), rest, STR_EMPTY), name;
    bool is = item_name(arena, PREFIX, kind, key, &name);
    if (is) {
        assert_str(name, expected);
    }
    return is;
}

/* Longer names would be cut off, and a record would be found under the name of another. */
static void only_whole_names_are_accepted(void **state)
{
    AUTO_CLEAR(Arena) arena;
    char longest[TABLE_NAME_MAX + 2];
    arena_init(&arena, ARENA_UNLIMITED);
    memset(longest, 'a', sizeof longest);
    for (ItemKind kind = ITEM_TOKEN; kind < ITEM_SESSION; kind++) {
        assert_true(has_name(&arena, kind, STR("web"), "web"));
        assert_false(has_name(&arena, kind, (Str){ "web\0x", 5 }, ""));
        assert_false(has_name(&arena, kind, (Str){ longest, TABLE_NAME_MAX + 1 }, ""));
        longest[TABLE_NAME_MAX] = '\0';
        assert_true(has_name(&arena, kind, str_from_c(longest), longest));
        longest[TABLE_NAME_MAX] = 'a';
    }
}

static void keys_of_other_kinds_have_no_name(void **state)
{
    AUTO_CLEAR(Arena) arena;
    Str name;
    arena_init(&arena, ARENA_UNLIMITED);
    Str role = cluster_key_role(&arena, PREFIX, STR("web"));
    Str token = cluster_key_access_token(&arena, PREFIX, STR("web"));
    Str session = cluster_key_browser(&arena, PREFIX, STR("x"), STR("y"));
    assert_false(item_name(&arena, PREFIX, ITEM_TOKEN, role, &name));
    assert_false(item_name(&arena, PREFIX, ITEM_ROLE, token, &name));
    assert_false(item_name(&arena, PREFIX, ITEM_ROLE, session, &name));
    assert_false(item_name(&arena, PREFIX, ITEM_SESSION, role, &name));
    assert_true(item_name(&arena, PREFIX, ITEM_SESSION, session, &name));
    assert_str(name, "y");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_whole_names_are_accepted),
        cmocka_unit_test(keys_of_other_kinds_have_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
