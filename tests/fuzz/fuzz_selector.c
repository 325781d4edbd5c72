/* Input: a selector of objects, as in requests, roles and on the command line. Invariants: the
 * result is a selector or an error with a position; an accepted selector, printed, reads back and
 * matches the same nodes, and "!" negates it. */
#include "base/bug.h"
#include "cluster/object_selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Subject {
    Str name;
    Value labels;
} Subject;

static Value label(Arena *arena, const char *name, const char *value)
{
    Map *map = map_new(arena, 2);
    map_set(arena, map, value_string(str_from_c(name)), value_string(str_from_c(value)));
    map_set(arena, map, value_string(STR("empty")), value_string(STR_EMPTY));
    return value_map(map);
}

static void check_same(Arena *arena, const Selector *selector, Str text)
{
    const Subject subjects[] = { { STR("web1"), label(arena, "role", "web") },
                                 { STR("db.example.com"), label(arena, "role", "db-1") },
                                 { STR("a"), value_missing() } };
    Buf negated = buf_make_in(arena, BUF_UNLIMITED);
    const Selector *again, *opposite;
    Error err = { 0 };
    BUG_IF(!str_eq(selector_text(selector), text));
    bool ok = object_selector_parse(arena, selector_text(selector), &again, &err);
    BUG_IF(!ok);
    buf_put_format(&negated, "!(%" STR_FMT ")", STR_ARG(text));
    /* Negated, it may be too long or too deep, or have a bracket that swallows the parenthesis. */
    bool has_opposite = object_selector_parse(arena, buf_str(&negated), &opposite, &err);
    BUG_IF(!has_opposite && text.len < 60 && str_find(text, STR("["), 0) == STR_NOT_FOUND);
    for (size_t i = 0; i < COUNT_OF(subjects); i++) {
        bool matches = object_selector_matches(selector, subjects[i].name, subjects[i].labels);
        BUG_IF(matches != object_selector_matches(again, subjects[i].name, subjects[i].labels));
        BUG_IF(has_opposite &&
               matches == object_selector_matches(opposite, subjects[i].name, subjects[i].labels));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 64 << 20);
    Str text = str_from((const char *)data, size);
    const Selector *selector;
    Problems problems;
    Error err = { 0 };
    problems_init(&problems, &arena);
    bool ok = object_selector_parse(&arena, text, &selector, &err);
    BUG_IF(!ok && (err.kind != ERROR_INVALID || err.text[0] == '\0'));
    if (ok) {
        check_same(&arena, selector, text);
    }
    bool same = object_selector_parse_as(&arena, STR("rule"), text, &selector, &problems);
    BUG_IF(same != ok || (!ok && problems.count == 0));
    for (uint32_t i = 0; i < problems.count; i++) {
        BUG_IF(problems.items[i].message.len == 0 || problems.items[i].column > size + 1);
    }
    return 0;
}
