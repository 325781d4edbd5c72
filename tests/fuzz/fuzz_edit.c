/* Input: an edit and a text. Invariants: the result is a new text or an error; applying the same
 * edit again changes nothing.
 *
 * The first three lines are the edit: flags (i, j or y for INI, JSON or YAML; a for absent; for
 * others see below), the path (for INI the section), the value (for INI "option=value"). The rest
 * is the text. */
#include <stdint.h>
#include <string.h>

#include "base/bug.h"
#include "lang/edit/document.h"
#include "lang/edit/ini.h"
#include "lang/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    TEXT_MAX = 4096 /* bytes; enough to show anything slow */
};

static bool has(Str letters, char letter)
{
    return letters.len > 0 && memchr(letters.data, letter, letters.len) != NULL;
}

static void edit_ini(Arena *arena, Str letters, Str section, Str rest, Str text)
{
    Str option = STR_EMPTY;
    (void)str_split_next(&rest, '=', &option);
    /* In a multi-line value '^' separates the lines. */
    char *value = arena_copy_c(arena, rest);
    for (size_t i = 0; i < rest.len; i++) {
        value[i] = value[i] == '^' ? '\n' : value[i];
    }
    IniRequest request = {
        .section = section,
        .option = option,
        .value = str_from(value, rest.len),
        .has_value = !has(letters, 'a') || has(letters, 'v'),
        .bare = has(letters, 'b'),
        .absent = has(letters, 'a'),
        .exclusive = !has(letters, 'n'),
        .separator = has(letters, ':') ? STR(": ") : STR(" = "),
        .comments = has(letters, 'c') ? STR("#;") : STR_EMPTY,
    };
    Error err = { 0 };
    if (!ini_request_check(&request, &err)) {
        BUG_IF(err.text[0] == '\0');
        return;
    }
    Str after = ini_edit(arena, text, &request);
    Str again = ini_edit(arena, after, &request);
    if (!str_eq(after, again)) {
        BUG("then\n%s\nand then\n%s", arena_copy_c(arena, after), arena_copy_c(arena, again));
    }
}

static void edit_document(Arena *arena, Str letters, Str path, Str json, Str text)
{
    const DocumentFormat *format = has(letters, 'j') ? &document_json : &document_yaml;
    DocumentRequest request = { .absent = has(letters, 'a'), .value = value_missing() };
    DocumentChange change, again;
    Error err = { 0 };
    Value steps = value_string(path);
    if (str_starts(path, STR("[")) && !json_parse_text(arena, path, NULL, &steps, &err)) {
        return;
    }
    if (json.len > 0 && !json_parse_text(arena, json, NULL, &request.value, &err)) {
        return;
    }
    if (!data_path_parse(arena, steps, &request.path, &err) ||
        !document_request_check(&request, &err) ||
        !document_edit(arena, format, STR("fuzz"), text, &request, &change, &err)) {
        BUG_IF(err.text[0] == '\0');
        return;
    }
    if (!document_edit(arena, format, STR("fuzz"), change.text, &request, &again, &err)) {
        BUG("%s", err.text);
    }
    BUG_IF(!str_eq(change.text, again.text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str rest = str_from((const char *)data, size), lines[3] = { STR_EMPTY, STR_EMPTY, STR_EMPTY };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        (void)str_split_next(&rest, '\n', &lines[i]);
    }
    if (rest.len > TEXT_MAX || lines[2].len > TEXT_MAX) {
        return 0;
    }
    rest = rest.len == 0 ? STR_EMPTY : rest;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    if (has(lines[0], 'i')) {
        edit_ini(&arena, lines[0], lines[1], lines[2], rest);
    } else {
        edit_document(&arena, lines[0], lines[1], lines[2], rest);
    }
    return 0;
}
