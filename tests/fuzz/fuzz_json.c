/* Input: JSON. Invariants: the result is a value or an error; an accepted value can be printed in
 * every style and reads back the same; the range of every value lies within that of its parent. */
#include <stdlib.h>

#include "base/bug.h"
#include "lang/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(Value v, uint64_t start, uint64_t end)
{
    BUG_IF(v.start < start || v.span == 0 || (uint64_t)v.start + v.span > end);
}

static void check_places(Value v)
{
    uint64_t at = v.start, end = (uint64_t)v.start + v.span;
    if (v.kind == VALUE_LIST) {
        for (uint32_t i = 0; i < v.list->len; i++) {
            check_inside(v.list->items[i], at + 1, end - 1);
            check_places(v.list->items[i]);
        }
    } else if (v.kind == VALUE_MAP) {
        for (uint32_t i = 0; i < v.map->len; i++) {
            const MapEntry *entry = &v.map->entries[i];
            check_inside(entry->key, at + 1, end - 1);
            check_inside(entry->value, at + 1, end - 1);
            check_places(entry->value);
            BUG_IF(map_find(v.map, entry->key) != entry);
        }
    }
}

/* Prints `v` in the style, parses that and prints it again: both texts are equal. */
static void check_round_trip(Value v, const JsonStyle *style, const JsonOptions *options)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Buf) first = buf_make(BUF_UNLIMITED), second = buf_make(BUF_UNLIMITED);
    Error err;
    Value back;
    BUG_IF(!json_print(&first, v, style, &err));
    if (!json_parse_text(&arena, buf_str(&first), options, &back, &err)) {
        BUG("%s", err.text);
    }
    BUG_IF(!json_print(&second, back, style, &err));
    BUG_IF(!str_eq(buf_str(&first), buf_str(&second)));
}

static void read_strictly(Str text)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 64 << 20);
    Sources sources;
    Problems problems;
    sources_init(&sources, &arena);
    problems_init(&problems, &arena);
    uint16_t source = sources_add(&sources, STR("fuzz"), text);
    Value v;
    if (!json_parse(&arena, &sources, source, NULL, &v, &problems)) {
        BUG_IF(problems.errors == 0);
        AUTO_CLEAR(Buf) shown = buf_make(1 << 20);
        problems_print(&problems, (ProblemStyle){ 0 }, &shown);
        return;
    }
    BUG_IF(problems.errors != 0);
    check_places(v);
    check_round_trip(v, NULL, NULL);
    check_round_trip(v, &(JsonStyle){ .lines = true, .indent = 3, .ascii = true }, NULL);
    check_round_trip(v, &(JsonStyle){ .spaced = true, .sort_keys = true, .html_safe = true }, NULL);
}

/* Consecutive values, with every relaxation and low limits. */
static void read_relaxed(Str text)
{
    const JsonOptions options = {
        .limits = { .size = 1 << 20, .depth = 20, .nodes = 500 },
        .allow_duplicates = true,
        .wide_integers = true,
        .python_constants = true,
    };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 1 << 20);
    Sources sources;
    Problems problems;
    sources_init(&sources, &arena);
    problems_init(&problems, &arena);
    uint16_t source = sources_add(&sources, STR("fuzz"), text);
    Value v;
    for (size_t at = 0; (at = json_skip_space(text, at)) < text.len;) {
        size_t before = at;
        if (!json_parse_next(&arena, &sources, source, &at, &options, &v, &problems)) {
            BUG_IF(problems.errors == 0);
            break;
        }
        BUG_IF(at <= before || at > text.len);
        check_round_trip(v, &(JsonStyle){ .allow_nan = true }, &options);
    }
}

/* Values that templates have but JSON cannot express: keys of every type, tuples, undefined. */
static Value make_odd(Arena *arena, Value v)
{
    if (v.kind == VALUE_LIST) {
        for (uint32_t i = 0; i < v.list->len; i++) {
            v.list->items[i] = make_odd(arena, v.list->items[i]);
        }
        v.kind = v.list->len % 2 == 0 ? VALUE_TUPLE : VALUE_LIST;
    } else if (v.kind == VALUE_MAP) {
        Map *map = map_new(arena, 0);
        const JsonOptions options = { .limits = json_options_default.limits,
                                      .python_constants = true };
        for (uint32_t i = 0; i < v.map->len; i++) {
            Value key = v.map->entries[i].key, odd;
            Error err;
            if (json_parse_text(arena, value_str(key), &options, &odd, &err)) {
                odd = make_odd(arena, odd);
                key = value_is_key(odd) ? odd : key;
            }
            map_set(arena, map, key, make_odd(arena, v.map->entries[i].value));
        }
        v.map = map;
    } else if (v.kind == VALUE_STRING && str_eq_c(value_str(v), "undefined")) {
        return value_missing();
    }
    return v;
}

/* Unusual values print or fail with a message, into a buffer that may be too small; and parsing
 * fails cleanly when memory runs out. */
static void print_odd(Str text)
{
    AUTO_CLEAR(Arena) arena, small;
    arena_init(&arena, 64 << 20);
    arena_init(&small, 8192);
    Value v;
    Error err = { 0 };
    if (!json_parse_text(&small, text, NULL, &v, &err)) {
        BUG_IF(err.kind == ERROR_NONE || err.text[0] == '\0');
    }
    if (!json_parse_text(&arena, text, NULL, &v, &err)) {
        return;
    }
    v = make_odd(&arena, v);
    const JsonStyle styles[] = { { .sort_keys = true }, { .allow_nan = true, .lines = true } };
    for (size_t i = 0; i < COUNT_OF(styles); i++) {
        AUTO_CLEAR(Buf) out = buf_make(4096);
        err = (Error){ 0 };
        BUG_IF(!json_print(&out, v, &styles[i], &err) && err.text[0] == '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = str_from((const char *)data, size);
    read_strictly(text);
    read_relaxed(text);
    print_odd(text);
    return 0;
}
