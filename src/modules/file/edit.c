#include "modules/file/edit.h"

#include "lang/pattern.h"

static void split_lines(Edit *edit, Str text)
{
    Str line;
    edit->ends_line = text.len == 0 || text.data[text.len - 1] == '\n';
    if (text.len > 0 && edit->ends_line) {
        text.len--;
        VEC_RESERVE(edit->call->arena, &edit->lines, 1);
    } else if (text.len == 0) {
        return;
    }
    for (;;) {
        size_t end = str_find(text, STR("\n"), 0);
        line = str_slice(text, 0, end);
        VEC_PUSH(edit->call->arena, &edit->lines, line);
        if (end == STR_NOT_FOUND) {
            return;
        }
        text = str_from_offset(text, end + 1);
    }
}

/* If every line of a file ends with "\r\n", new lines will too. */
static void detect_line_endings(Edit *edit)
{
    uint32_t ended = edit->lines.len - (edit->ends_line ? 0 : 1);
    for (uint32_t i = 0; i < ended; i++) {
        if (!str_ends(edit->lines.items[i], STR("\r"))) {
            return;
        }
    }
    edit->crlf = ended > 0;
    for (uint32_t i = 0; i < ended; i++) {
        edit->lines.items[i].len--;
    }
}

bool edit_is_absent(const Edit *edit)
{
    return str_eq(call_str(edit->call, "state"), STR("absent"));
}

static bool handle_missing_file(Edit *edit, Outcome *outcome, Error *err)
{
    Call *call = edit->call;
    Str path = edit->target->path;
    if (edit_is_absent(edit)) {
        edit->skipped = true;
        return true;
    }
    if (call_bool(call, "create")) {
        return true;
    }
    if (call_report_missing(call, "name", "path", path)) {
        edit->skipped = true;
        outcome->changed = true;
        outcome->unknown = true;
        return true;
    }
    return error_set(err, ERROR_NOT_FOUND,
                     "%" STR_FMT ": No such file or directory; set 'create: true' to create it",
                     STR_ARG(path));
}

static bool take_lines(Edit *edit, Error *err)
{
    const Target *target = edit->target;
    if (target->before.kind != FILE_REGULAR) {
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a file",
                         STR_ARG(target->path), file_kind_name(target->before.kind));
    }
    if (target->before.size > FILE_CONTENT_MAX) {
        return error_set(err, ERROR_LIMIT, "%" STR_FMT ": larger than %d bytes",
                         STR_ARG(target->path), FILE_CONTENT_MAX);
    }
    split_lines(edit, target->old);
    if (edit->lines.len > 0) {
        detect_line_endings(edit);
    }
    return true;
}

bool edit_begin(Call *call, Outcome *outcome, Edit *edit, Error *err)
{
    *edit = (Edit){ .call = call, .target = ARENA_NEW(call->arena, Target) };
    Target *target = edit->target;
    bool ok = target_read(call, call_str(call, "name"), target, err);
    target->is_edit = true;
    if (!ok || !host_inspect(call->host, call->arena, target->path, FILE_CONTENT_MAX,
                             &target->before, &target->old, err)) {
        return false;
    }
    return target->before.kind == FILE_ABSENT ? handle_missing_file(edit, outcome, err)
                                              : take_lines(edit, err);
}

bool edit_begin_system(Call *call, Str path, Edit *edit, Error *err)
{
    *edit = (Edit){ .call = call, .target = ARENA_NEW(call->arena, Target), .ends_line = true };
    Target *target = edit->target;
    *target = target_for_system_file(path);
    return host_inspect(call->host, call->arena, path, FILE_CONTENT_MAX, &target->before,
                        &target->old, err) &&
           (target->before.kind == FILE_ABSENT || take_lines(edit, err));
}

uint32_t edit_words(Str line, Str *out, uint32_t max)
{
    uint32_t count = 0;
    size_t at = 0, end = str_find(line, STR("#"), 0);
    line = end == STR_NOT_FOUND ? line : str_slice(line, 0, end);
    while (count < max) {
        while (at < line.len && ascii_is_space(line.data[at])) {
            at++;
        }
        size_t start = at;
        while (at < line.len && !ascii_is_space(line.data[at])) {
            at++;
        }
        if (at == start) {
            break;
        }
        out[count++] = str_slice(line, start, at);
    }
    return count;
}

/* Finds the first or last line that matches the pattern in that parameter. `*found` is false if
 * there is none. */
static bool find_line(Edit *edit, const char *name, bool last, uint32_t *at, bool *found,
                      Error *err)
{
    AUTO(Pattern) *pattern = NULL;
    *found = false;
    if (!pattern_new(call_str(edit->call, name), &pattern, err)) {
        return error_wrap(err, "%s", name);
    }
    for (uint32_t i = 0; i < edit->lines.len && (last || !*found); i++) {
        bool matches;
        if (!pattern_find(pattern, edit->lines.items[i], &matches, err)) {
            return error_wrap(err, "%s", name);
        }
        if (matches) {
            *at = i;
            *found = true;
        }
    }
    return true;
}

bool edit_find_position(Edit *edit, uint32_t *out, Error *err)
{
    bool found = false;
    *out = edit->lines.len;
    if (call_has(edit->call, "after")) {
        if (!find_line(edit, "after", true, out, &found, err)) {
            return false;
        }
        *out += found;
    }
    if (!found && call_has(edit->call, "before")) {
        return find_line(edit, "before", false, out, &found, err);
    }
    return true;
}

void edit_insert(Edit *edit, uint32_t at, Str line)
{
    VEC_PUSH(edit->call->arena, &edit->lines, STR_EMPTY);
    memmove(&edit->lines.items[at + 1], &edit->lines.items[at],
            (edit->lines.len - 1 - at) * sizeof(Str));
    edit->lines.items[at] = line;
}

void edit_remove(Edit *edit, uint32_t at, uint32_t count)
{
    memmove(&edit->lines.items[at], &edit->lines.items[at + count],
            (edit->lines.len - at - count) * sizeof(Str));
    edit->lines.len -= count;
}

bool edit_end_text(Edit *edit, Str text, bool secret, Outcome *outcome, Error *err)
{
    Value value = value_string(text);
    target_set_content(edit->target, secret ? value_with_secret(value) : value);
    edit->target->has_old = true;
    return target_check_one(edit->call, edit->target, outcome, err);
}

bool edit_end(Edit *edit, bool secret, Outcome *outcome, Error *err)
{
    Buf text = buf_make_in(edit->call->arena, BUF_UNLIMITED);
    Str end = edit->crlf ? STR("\r\n") : STR("\n");
    for (uint32_t i = 0; i < edit->lines.len; i++) {
        buf_put(&text, edit->lines.items[i]);
        buf_put(&text, end);
    }
    /* A missing final newline is added only if something else changes. */
    Str content = buf_str(&text);
    if (!edit->ends_line && content.len == edit->target->old.len + end.len &&
        str_starts(content, edit->target->old)) {
        content = edit->target->old;
    }
    return edit_end_text(edit, content, secret, outcome, err);
}
