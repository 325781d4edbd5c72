/* Cases for the document editors: a text, where, what, and the resulting text. */
#pragma once

#include "lang/edit/document.h"
#include "lang/json.h"
#include "unit.h"

typedef struct Case {
    const char *before;
    const char *path;  /* JSON, or literal text */
    const char *value; /* JSON; NULL: absent. With "-": the item to remove, such as "-[1]" */
    const char *after; /* NULL: unchanged */
} Case;

static inline Value case_json(Arena *arena, const char *text)
{
    Value v;
    Error err;
    if (!json_parse_text(arena, str_from_c(text), NULL, &v, &err)) {
        fail_msg("%s: %s", text, err.text);
    }
    return v;
}

static inline bool case_edit(Arena *arena, const DocumentFormat *format, Str text, const Case *one,
                             DocumentChange *change, Error *err)
{
    Value path =
        one->path[0] == '[' ? case_json(arena, one->path) : value_string(str_from_c(one->path));
    bool item = one->value != NULL && one->value[0] == '-' && !ascii_is_digit(one->value[1]);
    DocumentRequest request = { .absent = one->value == NULL || item, .value = value_missing() };
    if (one->value != NULL) {
        request.value = case_json(arena, one->value + item);
    }
    return data_path_parse(arena, path, &request.path, err) &&
           document_request_check(&request, err) &&
           document_edit(arena, format, STR("file"), text, &request, change, err);
}

static inline void check_case(const DocumentFormat *format, const Case *one)
{
    Arena arena;
    DocumentChange change;
    Error err;
    Str before = str_from_c(one->before);
    arena_init(&arena, ARENA_UNLIMITED);
    if (!case_edit(&arena, format, before, one, &change, &err)) {
        fail_msg("%s\nat %s: %s", one->before, one->path, err.text);
    }
    assert_str(change.text, one->after == NULL ? one->before : one->after);
    assert_true(one->after != NULL || change.text.data == before.data);
    Str after = change.text;
    assert_true(case_edit(&arena, format, after, one, &change, &err));
    assert_true(change.text.data == after.data);
    arena_clear(&arena);
}

static inline void check_cases(const DocumentFormat *format, const Case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_case(format, &cases[i]);
    }
}
#define CHECK(format, ...)                             \
    do {                                               \
        const Case cases_[] = { __VA_ARGS__ };         \
        check_cases(format, cases_, COUNT_OF(cases_)); \
    } while (0)

static inline void check_refused(const DocumentFormat *format, Case one, const char *message)
{
    Arena arena;
    DocumentChange change;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (case_edit(&arena, format, str_from_c(one.before), &one, &change, &err)) {
        fail_msg("is not refused:\n%.*s", STR_ARG(change.text));
    }
    assert_string_equal(err.text, message);
    arena_clear(&arena);
}
