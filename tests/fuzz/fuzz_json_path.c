/* Input: an expression of `-o jsonpath=`, a newline, and the JSON to apply it to. Invariants:
 * whether an expression is valid does not depend on the value; evaluating it twice gives the same
 * result. */
#include "base/bug.h"
#include "cli/json_path.h"
#include "lang/json.h"

enum {
    OUTPUT_MAX = 1 << 20 /* bytes */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const JsonOptions options = { .limits = { .size = 1 << 12, .depth = 20, .nodes = 100 } };
    Str text = str_from((const char *)data, size);
    size_t line = str_find(text, STR("\n"), 0);
    Str expression = str_slice(text, 0, line);
    Str json = line == STR_NOT_FOUND ? STR("{\"a\":[{\"b\":1},{\"b\":\"x\"}],\"c\":{\"d\":null}}")
                                     : str_from_offset(text, line + 1);
    Value value;
    Error err = { 0 };
    bool is_one = json_path_check(&arena, expression, &err);
    BUG_IF(!is_one &&
           ((err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT) || err.text[0] == '\0'));
    if (!json_parse_text(&arena, json, &options, &value, &err)) {
        return 0;
    }
    Buf out = buf_make_in(&arena, OUTPUT_MAX), again = buf_make_in(&arena, OUTPUT_MAX);
    bool ok = json_path_print(&arena, expression, value, &out, &err);
    BUG_IF(ok != is_one && (ok || err.kind != ERROR_LIMIT));
    bool same = json_path_print(&arena, expression, value, &again, &err);
    BUG_IF(same != ok || !str_eq(buf_str(&out), buf_str(&again)));
    return 0;
}
