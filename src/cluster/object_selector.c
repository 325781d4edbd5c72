#include "cluster/object_selector.h"

bool object_selector_parse(Arena *arena, Str text, const Selector **out, Error *err)
{
    Sources none;
    Problems problems;
    sources_init(&none, arena);
    problems_init(&problems, arena);
    if (text.len > SELECTOR_TEXT_MAX) {
        return error_set(err, ERROR_INVALID, "a selector has at most %d bytes", SELECTOR_TEXT_MAX);
    }
    if (selector_parse(arena, NULL, &none, value_string(arena_copy(arena, text)), out, &problems)) {
        return true;
    }
    Str hint = problems.count > 0 ? problems.items[0].hint : STR_EMPTY;
    Str what = problems.count > 0 ? problems.items[0].message : STR("it is no selector");
    return error_set(err, ERROR_INVALID, "%" STR_FMT "%s%" STR_FMT, STR_ARG(what),
                     hint.len > 0 ? "; " : "", STR_ARG(hint));
}

bool object_selector_matches(const Selector *selector, Str name, Value labels)
{
    SelectorSubject subject = { .name = name,
                                .labels = labels.kind == VALUE_MAP ? labels.map : NULL };
    bool matches = false;
    return selector == NULL || (selector_match(selector, &subject, &matches) && matches);
}
