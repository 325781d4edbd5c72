#include "lang/json.h"

#include <math.h>

#include "unit.h"

static void check_print(Value v, const JsonStyle *style, const char *expected)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    Error err = { 0 };
    if (!json_print(&out, v, style, &err)) {
        fail_msg("%s", err.text);
    }
    assert_str(buf_str(&out), expected);
}

static void check_fails(Value v, const JsonStyle *style, ErrorKind kind, const char *message)
{
    AUTO_CLEAR(Buf) out = buf_make(1 << 20);
    Error err = { 0 };
    assert_false(json_print(&out, v, style, &err));
    assert_int_equal(err.kind, kind);
    assert_string_equal(err.text, message);
}

static Value parse(Arena *arena, const char *text)
{
    Value v;
    Error err;
    if (!json_parse_text(arena, str_from_c(text), NULL, &v, &err)) {
        fail_msg("%s", err.text);
    }
    return v;
}

static void scalars(void **state)
{
    check_print(value_null(), NULL, "null");
    check_print(value_bool(true), NULL, "true");
    check_print(value_bool(false), NULL, "false");
    check_print(value_int(INT64_MIN), NULL, "-9223372036854775808");
    check_print(value_float(1.0), NULL, "1.0");
    check_print(value_float(1e16), NULL, "1e+16");
    check_print(value_float(-0.0), NULL, "-0.0");
    check_print(value_string(STR("a\"b")), NULL, "\"a\\\"b\"");
    check_print(value_markup(STR("<b>")), NULL, "\"<b>\"");
    check_print(value_string((Str){ NULL, 0 }), NULL, "\"\"");
}

static void strings_in_every_style(void **state)
{
    const JsonStyle ascii = { .ascii = true }, html = { .html_safe = true };
    Str controls = STR("\"\\/\b\f\n\r\t\x01\x1f\x7f\0end");
    check_print(value_string(controls), NULL,
                "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\\u0000end\"");
    check_print(value_string(controls), &ascii,
                "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\\u0000end\"");
    Str wide = STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    check_print(value_string(wide), NULL, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    check_print(value_string(wide), &ascii, "\"\\u00e9\\u20ac\\ud83d\\ude00\"");
    check_print(value_string(STR("<a href='x'>&\xc3\xa9</a>, longer than a block")), &html,
                "\"\\u003ca href=\\u0027x\\u0027\\u003e\\u0026\xc3\xa9\\u003c/a\\u003e, "
                "longer than a block\"");
    check_print(value_string(STR("a\xff"
                                 "b\xed\xa0\x80")),
                NULL,
                "\"a\xef\xbf\xbd"
                "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void special_characters_at_every_position(void **state)
{
    for (size_t before = 0; before < 40; before++) {
        AUTO_CLEAR(Buf) text = buf_make(200), expected = buf_make(200);
        buf_put_repeat(&text, 'a', before);
        buf_put_c(&text, "\n\x7f and so on and so on");
        buf_put_char(&expected, '"');
        buf_put_repeat(&expected, 'a', before);
        buf_put_c(&expected, "\\n\\u007f and so on and so on\"");
        check_print(value_string(buf_str(&text)), &(JsonStyle){ .ascii = true }, buf_c(&expected));
    }
}

static void containers_in_every_style(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value v = parse(&arena, "{\"b\":[1,[],{}],\"a\":{\"x\":null}}");
    check_print(v, NULL, "{\"b\":[1,[],{}],\"a\":{\"x\":null}}");
    check_print(v, &(JsonStyle){ .spaced = true }, "{\"b\": [1, [], {}], \"a\": {\"x\": null}}");
    check_print(v, &(JsonStyle){ .sort_keys = true }, "{\"a\":{\"x\":null},\"b\":[1,[],{}]}");
    check_print(
        v, &(JsonStyle){ .lines = true, .indent = 2 },
        "{\n  \"b\": [\n    1,\n    [],\n    {}\n  ],\n  \"a\": {\n    \"x\": null\n  }\n}");
    check_print(v, &(JsonStyle){ .lines = true, .spaced = true },
                "{\n\"b\": [\n1,\n[],\n{}\n],\n\"a\": {\n\"x\": null\n}\n}");
    check_print(value_tuple(v.map->entries[0].value.list), NULL, "[1,[],{}]");
}

static void keys_become_strings_as_in_python(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Map *map = map_new(&arena, 0);
    map_set(&arena, map, value_int(12), value_int(0));
    map_set(&arena, map, value_bool(true), value_int(1));
    map_set(&arena, map, value_bool(false), value_int(2));
    map_set(&arena, map, value_float(2.5), value_int(3));
    check_print(value_map(map), NULL, "{\"12\":0,\"true\":1,\"false\":2,\"2.5\":3}");
    check_print(value_map(map), &(JsonStyle){ .sort_keys = true },
                "{\"false\":2,\"true\":1,\"2.5\":3,\"12\":0}");
    map_set(&arena, map, value_null(), value_int(4));
    check_print(value_map(map), NULL, "{\"12\":0,\"true\":1,\"false\":2,\"2.5\":3,\"null\":4}");
    check_fails(value_map(map), &(JsonStyle){ .sort_keys = true }, ERROR_INVALID,
                "'<' not supported between instances of 'NoneType' and 'float'");

    Map *mixed = map_new(&arena, 0);
    map_set(&arena, mixed, value_int(1), value_int(0));
    map_set_str(&arena, mixed, STR("a"), value_int(0));
    check_fails(value_map(mixed), &(JsonStyle){ .sort_keys = true }, ERROR_INVALID,
                "'<' not supported between instances of 'str' and 'int'");

    Map *tuples = map_new(&arena, 0);
    map_set(&arena, tuples, value_tuple(list_new(&arena, 0)), value_int(0));
    check_fails(value_map(tuples), NULL, ERROR_INVALID,
                "keys must be str, int, float, bool or None, not tuple");

    Map *odd = map_new(&arena, 0);
    map_set(&arena, odd, value_float(INFINITY), value_int(0));
    check_print(value_map(odd), &(JsonStyle){ .allow_nan = true }, "{\"Infinity\":0}");
    check_fails(value_map(odd), NULL, ERROR_INVALID,
                "Out of range float values are not JSON compliant");
}

static void sorting_follows_code_points(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value v = parse(&arena, "{\"b\":1,\"B\":2,\"aa\":3,\"a\":4,\"\":5,\"\xf0\x9f\x98\x80\":6,"
                            "\"\xef\xbf\xbd\":7,\"\xc3\xa9\":8,\"z\":9}");
    check_print(v, &(JsonStyle){ .sort_keys = true },
                "{\"\":5,\"B\":2,\"a\":4,\"aa\":3,\"b\":1,\"z\":9,\"\xc3\xa9\":8,"
                "\"\xef\xbf\xbd\":7,\"\xf0\x9f\x98\x80\":6}");
    /* Integers that only differ where doubles cannot. */
    Map *map = map_new(&arena, 0);
    map_set(&arena, map, value_int(INT64_MAX), value_int(1));
    map_set(&arena, map, value_int(INT64_MAX - 1), value_int(2));
    map_set(&arena, map, value_float(-0.5), value_int(3));
    check_print(value_map(map), &(JsonStyle){ .sort_keys = true },
                "{\"-0.5\":3,\"9223372036854775806\":2,\"9223372036854775807\":1}");
}

static void floats_that_json_lacks(void **state)
{
    const JsonStyle python = { .allow_nan = true };
    check_print(value_float(NAN), &python, "NaN");
    check_print(value_float(INFINITY), &python, "Infinity");
    check_print(value_float(-INFINITY), &python, "-Infinity");
    check_fails(value_float(NAN), NULL, ERROR_INVALID,
                "Out of range float values are not JSON compliant");
}

static bool replace_by_name(void *context, Value v, Value *out, Error *err)
{
    if (v.kind == VALUE_UNDEFINED) {
        return error_set(err, ERROR_INVALID, "nothing here");
    }
    *out = value_string(str_from_c(context));
    return true;
}

static bool replace_by_itself(void *context, Value v, Value *out, Error *err)
{
    *out = v;
    return true;
}

static void values_without_a_json_form_are_errors_or_replaced(void **state)
{
    check_fails(value_missing(), NULL, ERROR_INVALID,
                "Object of type Undefined is not JSON serializable");
    check_fails(value_object(NULL), NULL, ERROR_INVALID,
                "Object of type object is not JSON serializable");
    char name[] = "it";
    const JsonStyle style = { .replace = replace_by_name, .context = name };
    check_print(value_object(NULL), &style, "\"it\"");
    check_fails(value_missing(), &style, ERROR_INVALID, "nothing here");
    check_fails(value_object(NULL), &(JsonStyle){ .replace = replace_by_itself }, ERROR_LIMIT,
                "value is nested deeper than 512 levels or contains itself");
}

static void cyclic_values_terminate(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    List *list = list_new(&arena, 1);
    list_push(&arena, list, value_list(list));
    check_fails(value_list(list), NULL, ERROR_LIMIT,
                "value is nested deeper than 512 levels or contains itself");

    /* A list with two references to the list below it, sixty levels: small, but endless to
     * print. */
    Value v = value_int(1);
    for (int i = 0; i < 60; i++) {
        List *pair = list_new(&arena, 2);
        list_push(&arena, pair, v);
        list_push(&arena, pair, v);
        v = value_list(pair);
    }
    check_fails(v, NULL, ERROR_LIMIT, "JSON text is too large");

    AUTO_CLEAR(Buf) small = buf_make(3);
    Error err;
    assert_false(json_print(&small, value_string(STR("abc")), NULL, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static Str random_text(Arena *arena, uint64_t *seed)
{
    static const char *const chunks[] = { "a",        "bc",
                                          " ",        "\"",
                                          "\\",       "\n",
                                          "\t",       "\x01",
                                          "\xc3\xa9", "\xf0\x9f\x98\x80",
                                          "/",        "longer than a block" };
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    for (uint64_t i = next_random(seed) % 8; i > 0; i--) {
        buf_put_c(&out, chunks[next_random(seed) % COUNT_OF(chunks)]);
    }
    return buf_str(&out);
}

static Value random_value(Arena *arena, uint64_t *seed, int depth)
{
    uint64_t r = next_random(seed);
    switch (r % (depth > 0 ? 8 : 5)) {
    case 0: return value_null();
    case 1: return value_bool((r & 256) != 0);
    case 2: return value_int((int64_t)(next_random(seed) >> (r >> 8 & 63)) * (r & 128 ? 1 : -1));
    case 3: {
        uint64_t bits = next_random(seed);
        double number;
        memcpy(&number, &bits, sizeof number);
        return value_float(isfinite(number) ? number : 0.5);
    }
    case 4: return value_string(random_text(arena, seed));
    case 5: {
        List *list = list_new(arena, 0);
        for (uint64_t i = next_random(seed) % 6; i > 0; i--) {
            list_push(arena, list, random_value(arena, seed, depth - 1));
        }
        return value_list(list);
    }
    default: {
        Map *map = map_new(arena, 0);
        for (uint64_t i = next_random(seed) % 24; i > 0; i--) {
            map_set_str(arena, map, random_text(arena, seed), random_value(arena, seed, depth - 1));
        }
        return value_map(map);
    }
    }
}

static bool same(Value a, Value b)
{
    if (a.kind != b.kind) {
        return false;
    }
    switch (a.kind) {
    case VALUE_FLOAT: return memcmp(&a.number, &b.number, sizeof a.number) == 0;
    case VALUE_LIST:
        for (uint32_t i = 0; i < a.list->len && a.list->len == b.list->len; i++) {
            if (!same(a.list->items[i], b.list->items[i])) {
                return false;
            }
        }
        return a.list->len == b.list->len;
    case VALUE_MAP:
        for (uint32_t i = 0; i < a.map->len && a.map->len == b.map->len; i++) {
            if (!same(a.map->entries[i].key, b.map->entries[i].key) ||
                !same(a.map->entries[i].value, b.map->entries[i].value)) {
                return false;
            }
        }
        return a.map->len == b.map->len;
    default: return value_key_equal(a, b);
    }
}

static void random_values_survive_a_round_trip(void **state)
{
    uint64_t seed = 7;
    for (unsigned i = 0; i < 2000; i++) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        uint64_t first = seed;
        Value v = random_value(&arena, &seed, 4);
        const JsonStyle style = { .lines = (i & 1) != 0,
                                  .indent = (uint8_t)(i % 5),
                                  .spaced = (i & 2) != 0,
                                  .ascii = (i & 4) != 0,
                                  .html_safe = (i & 8) != 0 };
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        Error err = { 0 };
        Value back;
        if (!json_print(&out, v, &style, &err) ||
            !json_parse_text(&arena, buf_str(&out), NULL, &back, &err) || !same(v, back)) {
            fail_msg("seed %llu: %s", (unsigned long long)first, err.text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars),
        cmocka_unit_test(strings_in_every_style),
        cmocka_unit_test(special_characters_at_every_position),
        cmocka_unit_test(containers_in_every_style),
        cmocka_unit_test(keys_become_strings_as_in_python),
        cmocka_unit_test(sorting_follows_code_points),
        cmocka_unit_test(floats_that_json_lacks),
        cmocka_unit_test(values_without_a_json_form_are_errors_or_replaced),
        cmocka_unit_test(cyclic_values_terminate),
        cmocka_unit_test(random_values_survive_a_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
