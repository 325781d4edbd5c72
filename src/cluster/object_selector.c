#include "cluster/object_selector.h"

bool object_selector_parse_as(Arena *arena, Str name, Str text, const Selector **out,
                              Problems *problems)
{
    Sources sources;
    if (text.len > SELECTOR_TEXT_MAX) {
        problems_add(problems, "E0501", NULL, 0, 0, "a selector must be at most %d bytes long",
                     SELECTOR_TEXT_MAX);
        return false;
    }
    sources_init(&sources, problems->arena);
    Value value = value_string(arena_copy(arena, text));
    value.source = sources_add(&sources, name, value_str(value));
    value.start = 0;
    value.span = (uint32_t)text.len;
    return selector_parse(arena, NULL, &sources, value, out, problems);
}

bool object_selector_parse(Arena *arena, Str text, const Selector **out, Error *err)
{
    Problems problems;
    problems_init(&problems, arena);
    return object_selector_parse_as(arena, STR("selector"), text, out, &problems) ||
           object_selector_error(&problems, err);
}

bool object_selector_error(const Problems *problems, Error *err)
{
    const Problem *first = &problems->items[0];
    if (first->column == 0) {
        return error_set(err, ERROR_INVALID, "%" STR_FMT, STR_ARG(first->message));
    }
    return error_set(err, ERROR_INVALID, "column %u: %" STR_FMT "%s%" STR_FMT, first->column,
                     STR_ARG(first->message), first->hint.len > 0 ? "; " : "",
                     STR_ARG(first->hint));
}

bool object_selector_matches(const Selector *selector, Str name, Value labels)
{
    SelectorSubject subject = { .name = name,
                                .labels = labels.kind == VALUE_MAP ? labels.map : NULL };
    bool matches = false;
    return selector == NULL || (selector_match(selector, &subject, &matches) && matches);
}
