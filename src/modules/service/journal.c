#include "modules/service/journal.h"

#include "base/vec.h"
#include "base/visible.h"
#include "modules/tool.h"

enum {
    TOOL_TIMEOUT_MS = 15000,
    ERROR_LINES_MAX = 3, /* maximum number of lines in the error message */
    ERROR_LINE_MAX = 130
};

/* Flushes pending messages to the journal; requires root. */
static void sync_journal(Call *call)
{
    ProcessResult result;
    Error err;
    Tool tool = { .argv = (const char *const[]){ "journalctl", "--sync", NULL },
                  .timeout_ms = TOOL_TIMEOUT_MS };
    (void)!tool_run(call, &tool, &result, &err);
}

/* Sanitizes an untrusted line: no line breaks, and truncated if too long. */
static void put_line(Buf *out, Str line, size_t max)
{
    size_t at = 0, start = out->len;
    while (at < line.len) {
        VisiblePiece piece = visible_next(line, &at);
        if (out->len - start + piece.bytes > max) {
            buf_put(out, STR("..."));
            return;
        }
        buf_put(out, str_from(piece.text, piece.bytes));
    }
}

/* Matches more than --unit does: if a process exits before journald looks it up, for instance
 * because it could not be executed, only messages from systemd itself name the unit. */
static void match_unit(Call *call, ToolArgs *args, Str unit)
{
    static const char *const fields[] = { "UNIT", "OBJECT_SYSTEMD_UNIT", "COREDUMP_UNIT" };
    Arena *arena = call->arena;
    if (args->len > 0 && !str_starts(str_from_c(args->items[args->len - 1]), STR("--"))) {
        tool_arg(call, args, STR("+"));
    }
    tool_arg(call, args, arena_format(arena, "_SYSTEMD_UNIT=%" STR_FMT, STR_ARG(unit)));
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        tool_arg(call, args, STR("+"));
        tool_arg(call, args, STR("_UID=0")); /* other users could forge such a message */
        tool_arg(call, args, arena_format(arena, "%s=%" STR_FMT, fields[i], STR_ARG(unit)));
    }
}

Str journal_tail(Call *call, const Str *units, uint32_t count, int64_t since_us)
{
    Arena *arena = call->arena;
    ToolArgs args = { 0 };
    tool_arg(call, &args, STR("journalctl"));
    if (since_us > 0) {
        tool_arg(call, &args,
                 arena_format(arena, "--since=@%lld.%06lld", (long long)(since_us / 1000000),
                              (long long)(since_us % 1000000)));
    }
    tool_arg(call, &args, arena_format(arena, "--lines=%d", JOURNAL_LINES_MAX));
    tool_arg(call, &args, STR("--no-pager"));
    tool_arg(call, &args, STR("--quiet"));
    tool_arg(call, &args, STR("--output=cat"));
    for (uint32_t i = 0; i < count; i++) {
        match_unit(call, &args, units[i]);
    }
    Tool tool = { .argv = tool_args_end(call, &args), .timeout_ms = TOOL_TIMEOUT_MS };
    ProcessResult result;
    Error err;
    sync_journal(call);
    if (!tool_run(call, &tool, &result, &err) || result.ending != PROCESS_EXITED) {
        return STR_EMPTY;
    }
    /* A message may have several lines. */
    VEC(Str) lines = { 0 };
    Str rest = call_scrub(call, result.out), line;
    while (str_split_next(&rest, '\n', &line)) {
        if (str_trim(line).len > 0) {
            VEC_PUSH(arena, &lines, line);
        }
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    uint32_t first = lines.len > JOURNAL_LINES_MAX ? lines.len - JOURNAL_LINES_MAX : 0;
    for (uint32_t i = first; i < lines.len; i++) {
        put_line(&text, lines.items[i], JOURNAL_LINE_MAX);
        buf_put_char(&text, '\n');
    }
    return buf_str(&text);
}

/* "app.service: Failed with result 'exit-code'.", "Failed to start ...": about the unit, not from
 * it. */
static bool is_from_systemd(Str line, const Str *units, uint32_t count)
{
    static const char *const starts[] = { "Starting ",           "Started ",
                                          "Stopping ",           "Stopped ",
                                          "Failed to start ",    "Finished ",
                                          "Dependency failed ",  "/etc/systemd/system/",
                                          "/run/systemd/system/" };
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        if (str_starts(line, str_from_c(starts[i]))) {
            return true;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (str_starts(line, units[i]) &&
            str_starts(str_from_offset(line, units[i].len), STR(": "))) {
            return true;
        }
    }
    return false;
}

/* Removes an earlier copy of a repeated line. */
static uint32_t remove_duplicate(Str line, Str *lines, uint32_t found)
{
    for (uint32_t i = 0; i < found; i++) {
        if (str_eq(lines[i], line)) {
            memmove(lines + i, lines + i + 1, (found - i - 1) * sizeof *lines);
            return found - 1;
        }
    }
    return found;
}

/* Chooses the last lines from the unit itself or, if there are none, the last of all lines. */
static uint32_t choose_lines(Str tail, const Str *units, uint32_t count, Str lines[ERROR_LINES_MAX])
{
    for (int own = 1; own >= 0; own--) {
        uint32_t found = 0;
        Str rest = tail, line;
        while (str_split_next(&rest, '\n', &line)) {
            if (line.len == 0 || (own && is_from_systemd(line, units, count))) {
                continue;
            }
            found = remove_duplicate(line, lines, found);
            if (found == ERROR_LINES_MAX) {
                memmove(lines, lines + 1, (ERROR_LINES_MAX - 1) * sizeof *lines);
                found--;
            }
            lines[found++] = line;
        }
        if (found > 0) {
            return found;
        }
    }
    return 0;
}

void journal_add_to_error(Call *call, Str tail, const Str *units, uint32_t count, Outcome *outcome,
                          Error *err)
{
    Str lines[ERROR_LINES_MAX];
    outcome->error_out = tail;
    uint32_t found = choose_lines(tail, units, count, lines);
    Buf text = buf_make_in(call->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < found; i++) {
        buf_put(&text, i == 0 ? STR("; its journal ends with: ") : STR(" | "));
        put_line(&text, lines[i], ERROR_LINE_MAX);
    }
    error_set(err, err->kind, "%s%" STR_FMT, err->text, STR_ARG(buf_str(&text)));
}
