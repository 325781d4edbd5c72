#include "lang/json_pointer.h"

#include "lang/yaml_fixture.h"

static const char text[] = "spec:\n"
                           "  rules:\n"
                           "  - verbs: [get, list]\n"
                           "  - verbs: []\n"
                           "a/b:\n"
                           "  m~n: deep\n"
                           "'': empty\n";

static void a_pointer_resolves_to_a_position(void **state)
{
    static const struct {
        const char *pointer;
        bool is_found;
        const char *value, *name;
    } rows[] = {
        { "/spec/rules/0/verbs/1", true, "'list'", "null" },
        { "/spec/rules/0/verbs", true, "['get', 'list']", "'verbs'" },
        { "/spec/rules/1", true, "{'verbs': []}", "null" },
        { "/spec/rules/1/kinds", false, "{'verbs': []}", "null" },
        { "/spec/rules/1/verbs/0", false, "[]", "'verbs'" },
        { "/spec/rules/2", false, "[{'verbs': ['get', 'list']}, {'verbs': []}]", "'rules'" },
        { "/spec/rules/-1", false, "[{'verbs': ['get', 'list']}, {'verbs': []}]", "'rules'" },
        { "/a~1b/m~0n", true, "'deep'", "'m~n'" },
        { "/a~1b/m~0n/x", false, "'deep'", "'m~n'" },
        { "/", true, "'empty'", "''" },
    };
    AUTO_CLEAR(Loaded) loaded = { 0 };
    loaded_read(&loaded, str_from_c(text), NULL);
    assert_true(loaded.ok);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        JsonMatch place =
            json_pointer_find(loaded.documents->items[0], str_from_c(rows[i].pointer));
        AUTO_CLEAR(Buf) value = buf_make(BUF_UNLIMITED);
        AUTO_CLEAR(Buf) name = buf_make(BUF_UNLIMITED);
        dump_value(place.value, &value);
        dump_value(place.name, &name);
        if (place.is_found != rows[i].is_found || !str_eq_c(buf_str(&value), rows[i].value) ||
            !str_eq_c(buf_str(&name), rows[i].name)) {
            fail_msg("%s: %d %s %s", rows[i].pointer, place.is_found, buf_c(&value), buf_c(&name));
        }
    }
}

static void invalid_pointers_resolve_to_nothing(void **state)
{
    AUTO_CLEAR(Loaded) loaded = { 0 };
    loaded_read(&loaded, str_from_c(text), NULL);
    Value document = loaded.documents->items[0];
    assert_true(json_pointer_find(document, STR_EMPTY).is_found);
    assert_false(json_pointer_find(document, STR("spec")).is_found);
    assert_int_equal(json_pointer_find(document, STR("spec")).value.kind, VALUE_MAP);
    assert_false(json_pointer_find(document, STR("/~")).is_found);
    assert_false(json_pointer_find(value_null(), STR("/a")).is_found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pointer_resolves_to_a_position),
        cmocka_unit_test(invalid_pointers_resolve_to_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
