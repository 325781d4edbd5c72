/* file.line and file.block: a line of a file, and a block of lines between two marker lines. */
#include "lang/pattern.h"
#include "modules/file/actions.h"
#include "modules/file/edit.h"

/* --- file.line ------------------------------------------------------------------------------- */

const ParamSpec line_params[] = {
    { "name", PARAM_FILE, .required = true, .help = "path of the file" },
    { "line", PARAM_STRING, .help = "content of the line", .aspect = "line" },
    { "match", PARAM_STRING,
      .help = "pattern; the last matching line is replaced, or all matching lines are removed" },
    FILE_EDIT_PARAMS,
    { 0 },
};

typedef struct LineMatches {
    bool *items; /* whether each line matches the pattern */
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
    if (!edit_find_position(edit, &at, err)) {
        return false;
    }
    edit_insert(edit, at, line);
    return true;
}

static void drop_lines(Edit *edit, const LineMatches *matches, bool by_text, Str line)
{
    uint32_t remaining = 0;
    for (uint32_t i = 0; i < edit->lines.len; i++) {
        if (!matches->items[i] && !(by_text && str_eq(edit->lines.items[i], line))) {
            edit->lines.items[remaining++] = edit->lines.items[i];
        }
    }
    edit->lines.len = remaining;
}

static bool check_pattern(Call *call, const char *param, Error *err)
{
    AUTO(Pattern) *pattern = NULL;
    return !call_has(call, param) || pattern_new(call_str(call, param), &pattern, err) ||
           error_wrap(err, "%s", param) || call_blame(call, param);
}

static bool check_params(Call *call, Error *err)
{
    bool remove = str_eq(call_str(call, "state"), STR("absent"));
    if (str_find(call_str(call, "line"), STR("\n"), 0) != STR_NOT_FOUND) {
        return error_set(err, ERROR_INVALID,
                         "'line' must be a single line; use file.block for several");
    }
    if (!call_has(call, "line") && !(remove && call_has(call, "match"))) {
        return error_set(err, ERROR_INVALID, "'line'%s is required", remove ? " or 'match'" : "");
    }
    return check_pattern(call, "match", err) && check_pattern(call, "after", err) &&
           check_pattern(call, "before", err);
}

bool line_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                 Error *err)
{
    return call_verify(arena, action, params, check_params, at, err);
}

bool line_check(Call *call, Outcome *outcome, Error *err)
{
    Edit edit;
    LineMatches matches;
    Value given = call_param(call, "line");
    Str line = call_str(call, "line");
    if (!check_params(call, err) || !edit_begin(call, outcome, &edit, err)) {
        return false;
    }
    bool remove = edit_is_absent(&edit);
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

/* --- file.block ------------------------------------------------------------------------------ */

const ParamSpec block_params[] = {
    { "name", PARAM_FILE, .required = true, .help = "path of the file" },
    { "content", PARAM_STRING, .fallback = "", .help = "lines of the block", .aspect = "content" },
    { "marker", PARAM_STRING, .fallback = "# {mark} managed by eden",
      .help = "line before and after the block; {mark} becomes BEGIN and END" },
    FILE_EDIT_PARAMS,
    { 0 },
};

static bool marker_line(Call *call, const char *word, Str *out, Error *err)
{
    Str marker = call_str(call, "marker");
    size_t at = str_find(marker, STR("{mark}"), 0);
    if (at == STR_NOT_FOUND || str_find(marker, STR("\n"), 0) != STR_NOT_FOUND) {
        return error_set(err, ERROR_INVALID, "'marker' must be a single line that contains {mark}");
    }
    *out = arena_format(call->arena, "%" STR_FMT "%s%" STR_FMT, STR_ARG(str_slice(marker, 0, at)),
                        word, STR_ARG(str_from_offset(marker, at + strlen("{mark}"))));
    return true;
}

static bool verify_marker(Call *call, Error *err)
{
    Str ignored;
    return marker_line(call, "BEGIN", &ignored, err);
}
CALL_VERIFY(block_verify_marker, verify_marker)

bool block_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                  Error *err)
{
    return block_verify_marker(arena, action, params, at, err);
}

typedef struct Block {
    Str begin, end;       /* the marker lines */
    bool found;           /* the block exists in the file */
    uint32_t first, last; /* indexes of the marker lines */
} Block;

/* If one marker is missing, it is unknown which lines belong to the block. */
static bool find_block(const Edit *edit, Block *block, Error *err)
{
    bool has_begin = false, has_end = false;
    for (uint32_t i = 0; i < edit->lines.len; i++) {
        Str line = str_trim(edit->lines.items[i]);
        if (!has_begin && str_eq(line, str_trim(block->begin))) {
            block->first = i;
            has_begin = true;
        } else if (!has_end && str_eq(line, str_trim(block->end))) {
            block->last = i;
            has_end = true;
        }
    }
    if (has_begin != has_end || (has_begin && block->last < block->first)) {
        return error_set(err, ERROR_CONFLICT,
                         "%" STR_FMT " contains the line '%" STR_FMT "' without its counterpart",
                         STR_ARG(edit->target->path),
                         STR_ARG(has_begin ? block->begin : block->end));
    }
    block->found = has_begin;
    return true;
}

static void insert_block(Edit *edit, const Block *block, uint32_t at)
{
    Str content = call_str(edit->call, "content"), line;
    edit_insert(edit, at++, block->begin);
    if (str_ends(content, STR("\n"))) {
        content.len--;
    }
    while (content.len > 0 && str_split_next(&content, '\n', &line)) {
        edit_insert(edit, at++, line);
    }
    edit_insert(edit, at, block->end);
}

bool block_check(Call *call, Outcome *outcome, Error *err)
{
    Edit edit;
    Block block = { .found = false };
    if (!marker_line(call, "BEGIN", &block.begin, err) ||
        !marker_line(call, "END", &block.end, err) || !edit_begin(call, outcome, &edit, err)) {
        return false;
    }
    if (edit.skipped) {
        return true;
    }
    if (!find_block(&edit, &block, err)) {
        return false;
    }
    uint32_t at = block.first;
    if (block.found) {
        edit_remove(&edit, at, block.last - at + 1);
    } else if (!edit_find_position(&edit, &at, err)) {
        return false;
    }
    if (!edit_is_absent(&edit)) {
        insert_block(&edit, &block, at);
    }
    return edit_end(&edit, value_is_secret(call_param(call, "content")), outcome, err);
}

void block_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, block_params, params, claims);
}
