/* file.line: one line of a file. */
#include "lang/pattern.h"
#include "modules/file/actions.h"
#include "modules/file/edit.h"

const ParamSpec line_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "the path of the file" },
    { "line", PARAM_STRING, .help = "the line", .decides = "line" },
    { "match", PARAM_STRING,
      .help = "a pattern; the last line that it finds is replaced, or all are removed" },
    FILE_EDIT_PARAMS,
    { 0 },
};

typedef struct LineMatches {
    bool *items; /* for each line: the pattern finds it */
    uint32_t count;
    uint32_t last;
} LineMatches;

static bool match_lines(Edit *edit, LineMatches *out, Error *err)
{
    AUTO(Pattern) *pattern = NULL;
    *out = (LineMatches){ .items = arena_alloc_zero(edit->call->arena, edit->lines.len + 1) };
    if (!call_has(edit->call, "match")) {
        return true;
    }
    if (!pattern_new(call_str(edit->call, "match"), &pattern, err)) {
        return error_wrap(err, "match");
    }
    for (uint32_t i = 0; i < edit->lines.len; i++) {
        if (!pattern_find(pattern, edit->lines.items[i], &out->items[i], err)) {
            return error_wrap(err, "match");
        }
        if (out->items[i]) {
            out->count++;
            out->last = i;
        }
    }
    return true;
}

static bool has_line(const Edit *edit, Str line)
{
    for (uint32_t i = 0; i < edit->lines.len; i++) {
        if (str_eq(edit->lines.items[i], line)) {
            return true;
        }
    }
    return false;
}

static bool put_line(Edit *edit, const LineMatches *matches, Str line, Error *err)
{
    uint32_t at;
    if (matches->count > 0) {
        edit->lines.items[matches->last] = line;
        return true;
    }
    if (has_line(edit, line)) {
        return true;
    }
    if (!edit_find_place(edit, &at, err)) {
        return false;
    }
    edit_insert(edit, at, line);
    return true;
}

static void drop_lines(Edit *edit, const LineMatches *matches, bool by_text, Str line)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < edit->lines.len; i++) {
        if (!matches->items[i] && !(by_text && str_eq(edit->lines.items[i], line))) {
            edit->lines.items[kept++] = edit->lines.items[i];
        }
    }
    edit->lines.len = kept;
}

bool line_check(Call *call, Outcome *outcome, Error *err)
{
    Edit edit;
    LineMatches matches;
    Value given = call_param(call, "line");
    Str line = call_str(call, "line");
    if (str_find(line, STR("\n"), 0) != STR_NOT_FOUND) {
        return error_set(err, ERROR_INVALID, "'line' is one line; file.block has room for several");
    }
    if (!edit_begin(call, outcome, &edit, err)) {
        return false;
    }
    bool remove = edit_wants_absence(&edit);
    if (value_is_missing(given) && !(remove && call_has(call, "match"))) {
        return error_set(err, ERROR_INVALID, "needs 'line'%s", remove ? " or 'match'" : "");
    }
    if (edit.skipped) {
        return true;
    }
    if (!match_lines(&edit, &matches, err)) {
        return false;
    }
    if (remove) {
        drop_lines(&edit, &matches, !value_is_missing(given), line);
    } else if (!put_line(&edit, &matches, line, err)) {
        return false;
    }
    return edit_end(&edit, value_is_secret(given), outcome, err);
}

void line_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, line_params, params, claims);
}
