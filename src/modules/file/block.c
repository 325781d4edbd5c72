/* file.block: some lines of a file, between two lines that mark them as ours. */
#include "modules/file/actions.h"
#include "modules/file/edit.h"

const ParamSpec block_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "the path of the file" },
    { "content", PARAM_STRING, .fallback = "", .help = "the lines", .decides = "content" },
    { "marker", PARAM_STRING, .fallback = "# {mark} managed by eden",
      .help = "the line before and behind; {mark} becomes BEGIN and END" },
    FILE_EDIT_PARAMS,
    { 0 },
};

static bool marker_line(Call *call, const char *word, Str *out, Error *err)
{
    Str marker = call_str(call, "marker");
    size_t at = str_find(marker, STR("{mark}"), 0);
    if (at == STR_NOT_FOUND || str_find(marker, STR("\n"), 0) != STR_NOT_FOUND) {
        return error_set(err, ERROR_INVALID, "'marker' must be a line with {mark} in it");
    }
    *out = arena_format(call->arena, "%" STR_FMT "%s%" STR_FMT, STR_ARG(str_slice(marker, 0, at)),
                        word, STR_ARG(str_from_offset(marker, at + strlen("{mark}"))));
    return true;
}

typedef struct Block {
    Str begin, end;       /* the lines that mark it */
    bool found;           /* it is in the file: */
    uint32_t first, last; /* lines, those with the markers */
} Block;

/* A mark without its partner would leave us guessing what is ours. */
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
        return error_set(
            err, ERROR_CONFLICT, "%" STR_FMT " has the line '%" STR_FMT "' without its partner",
            STR_ARG(edit->target->path), STR_ARG(has_begin ? block->begin : block->end));
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
    } else if (!edit_find_place(&edit, &at, err)) {
        return false;
    }
    if (!edit_wants_absence(&edit)) {
        insert_block(&edit, &block, at);
    }
    return edit_end(&edit, value_is_secret(call_param(call, "content")), outcome, err);
}

void block_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, block_params, params, claims);
}
