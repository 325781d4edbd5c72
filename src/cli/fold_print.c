/* Prints folded changes as text and as Markdown. Markdown is escaped and limited in size, so that
 * it is valid as a comment on a merge request. */
#include "cli/fold_print.h"

#include "base/utc.h"
#include "base/visible.h"
#include "cli/fleet_run.h"
#include "cli/kind_print.h"
#include "cli/markup.h"
#include "lang/json.h"

enum {
    NAMES_SHOWN = 10,
    NAMES_EXPANDED_MAX = 500,
    /* limit for diffs and outputs in Markdown: a comment on GitHub can be up to 64 KiB long */
    DIFFS_MAX = 40 << 10,
    TEXT_MAX = 8 << 10,
    NODES_SHOWN = 100,
    COMMENT_MAX = 65536 - 1024, /* GitHub's limit, minus the line about what was omitted */
    OTHERS_MAX = 8 << 10,       /* bytes reserved for listing other nodes */
};

/* --- Text ------------------------------------------------------------------------------------- */

static void put_line(Buf *out, const char *indent, Str line)
{
    buf_put_c(out, indent);
    visible_put(out, line);
    buf_put_char(out, '\n');
}

static const char *line_color(Str line)
{
    return str_starts(line, STR("+++")) || str_starts(line, STR("---")) ? "1"
           : str_starts(line, STR("+"))                                 ? "32"
           : str_starts(line, STR("-"))                                 ? "31"
           : str_starts(line, STR("@@"))                                ? "36"
                                                                        : NULL;
}

static void put_block(Buf *out, Str text, bool color)
{
    Str rest = text, line;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        const char *code = color ? line_color(line) : NULL;
        if (code != NULL) {
            buf_put_format(out, "\033[%sm", code);
        }
        put_line(out, "      ", line);
        if (code != NULL) {
            out->len--;
            buf_put(out, STR("\033[0m\n"));
        }
    }
}

/* "mode: 0600 -> 0644", one line for each value. */
static void put_changes(Buf *out, Str json, const char *indent)
{
    AUTO_CLEAR(Arena) arena;
    Value changes;
    Error ignored;
    arena_init(&arena, ARENA_UNLIMITED);
    if (json.len == 0 || !json_parse_text(&arena, json, NULL, &changes, &ignored) ||
        changes.kind != VALUE_MAP) {
        return;
    }
    for (uint32_t i = 0; i < changes.map->len; i++) {
        const MapEntry *entry = &changes.map->entries[i];
        const Value *before = value_get(entry->value, STR("old")),
                    *after = value_get(entry->value, STR("new"));
        Buf line = buf_make_in(&arena, BUF_UNLIMITED);
        buf_put(&line, value_str(entry->key));
        buf_put(&line, STR(": "));
        if (before != NULL && before->kind != VALUE_NULL) {
            (void)!json_print(&line, *before, NULL, &ignored);
            buf_put(&line, STR(" -> "));
        }
        (void)!json_print(&line, after != NULL ? *after : entry->value, NULL, &ignored);
        put_line(out, indent, buf_str(&line));
    }
}

static Str describe(const MatrixDetail *detail)
{
    return detail->message.len > 0 ? detail->message : detail->reason;
}

static void put_detail(const RunFold *fold, const MatrixDetail *detail, bool color, Buf *out)
{
    Str what = describe(detail);
    bool has_failed = detail->result == RESULT_FAILED;
    buf_put_format(out, "  %s%-8s%s ",
                   !color       ? ""
                   : has_failed ? "\033[31m"
                                : "\033[33m",
                   step_result_name(detail->result), color ? "\033[0m" : "");
    visible_put(out, fold->matrix.steps.items[detail->step].id);
    buf_put(out, what.len > 0 ? STR(": ") : STR_EMPTY);
    visible_put(out, what);
    if (detail->code.len > 0) {
        buf_put(out, STR(" ["));
        visible_put(out, detail->code);
        buf_put_char(out, ']');
    }
    buf_put_char(out, '\n');
    put_changes(out, detail->changes, "      ");
    put_block(out, detail->diff, color);
    if (has_failed) {
        put_block(out, detail->error_out, false);
    }
}

/* If the log was removed, changes are counted, but their details are unknown. */
static void put_removed(const RunFold *fold, Arena *arena, Buf *out)
{
    if (fold->matrix.removed_ms > 0) {
        buf_put_format(out,
                       "\nThe log of this run was removed at %" STR_FMT
                       ", because all logs of runs together were too large.\n\n",
                       STR_ARG(utc_text(arena, fold->matrix.removed_ms)));
    }
}

void fold_print_text(const RunFold *fold, bool color, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    put_removed(fold, &arena, out);
    for (uint32_t i = 0; i < fold->sections.len; i++) {
        const FoldSection *section = &fold->sections.items[i];
        put_line(out, "", run_fold_title(fold, &arena, section));
        for (uint32_t j = 0; j < section->details.len; j++) {
            put_detail(fold, &fold->matrix.details.items[section->details.items[j]], color, out);
        }
        if (section->nodes.len > 1) {
            put_line(out, "  on ", run_fold_names(fold, &arena, section, NAMES_SHOWN));
        }
        buf_put_char(out, '\n');
    }
}

/* --- Markdown --------------------------------------------------------------------------------- */

typedef struct Comment {
    const RunFold *fold;
    Value run;
    Arena *arena;
    Buf *out;
    size_t used;      /* size of diffs and outputs so far */
    uint32_t omitted; /* omitted failures and changes, and */
    uint32_t nodes_omitted;
} Comment;

static bool is_plan(const Comment *comment)
{
    return str_eq_c(value_get_text(object_status(comment->run), "kind"), "plan");
}

static void put_counts(const Comment *comment)
{
    static const char *const order[] = { "failed",  "silent",  "canceled", "waiting", "running",
                                         "pending", "changed", "ok",       "skipped" };
    Value status = object_status(comment->run), counts = value_get_map(status, "counts");
    Buf *out = comment->out;
    buf_put(out, STR("| nodes |"));
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        if (value_get_int(counts, order[i]) > 0) {
            buf_put_format(out, " %s%s |",
                           is_plan(comment) && strcmp(order[i], "changed") == 0 ? "would be " : "",
                           order[i]);
        }
    }
    buf_put(out, STR("\n|--:|"));
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        buf_put(out, value_get_int(counts, order[i]) > 0 ? STR("--:|") : STR_EMPTY);
    }
    buf_put_format(out, "\n| %lld |", (long long)value_get_int(status, "targets"));
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        int64_t count = value_get_int(counts, order[i]);
        if (count > 0) {
            buf_put_format(out, " %lld |", (long long)count);
        }
    }
    buf_put(out, STR("\n\n"));
}

static void put_head(const Comment *comment)
{
    const RunFold *fold = comment->fold;
    Value spec = value_get_map(comment->run, "spec"), status = object_status(comment->run);
    Buf *out = comment->out;
    Str version = value_get_text(spec, "version"), reason = value_get_text(spec, "reason");
    buf_put_format(out, "### eden %s: ", is_plan(comment) ? "plan" : "run");
    if (fold->failures > 0) {
        buf_put_format(out, "%u failure%s, ", fold->failures, fold->failures == 1 ? "" : "s");
    }
    buf_put_format(out, "%u different change%s on %u of %u nodes\n\n", fold->changes,
                   fold->changes == 1 ? "" : "s", fold->changing, fold->nodes.len);
    put_counts(comment);
    if (version.len > 0) {
        buf_put(out, STR("Version "));
        markup_put_markdown(out, version);
        buf_put(out, STR(", run "));
    } else {
        buf_put(out, STR("Run "));
    }
    markup_put_markdown(out, object_name(comment->run));
    buf_put(out, STR(", requested by "));
    markup_put_markdown(out, value_get_text(status, "by"));
    if (reason.len > 0) {
        buf_put(out, STR(": "));
        markup_put_markdown(out, reason);
    }
    buf_put(out, is_plan(comment) ? STR(". Nothing was changed.\n") : STR(".\n"));
}

static void put_code(Comment *comment, const char *language, Str text)
{
    if (text.len == 0) {
        return;
    }
    if (comment->used + text.len > DIFFS_MAX) {
        buf_put(comment->out, STR("\n(omitted: it is too long for a comment; 'eden runs report' "
                                  "has it)\n"));
        return;
    }
    comment->used += text.len;
    buf_put_char(comment->out, '\n');
    markup_put_fence(comment->out, language, str_slice(text, 0, TEXT_MAX));
    if (text.len > TEXT_MAX) {
        buf_put(comment->out, STR("\n(not complete)\n"));
    }
}

static void put_markdown_detail(Comment *comment, const MatrixDetail *detail)
{
    Buf *out = comment->out;
    AUTO_CLEAR(Buf) changes = buf_make(BUF_UNLIMITED);
    Str what = describe(detail);
    put_changes(&changes, detail->changes, "");
    bool has_more = detail->diff.len > 0 || changes.len > 0 ||
                    (detail->result == RESULT_FAILED && detail->error_out.len > 0);
    buf_put_c(out, has_more ? "\n<details><summary>" : "\n- ");
    buf_put_format(out, "%s <code>", step_result_name(detail->result));
    markup_put_markdown(out, comment->fold->matrix.steps.items[detail->step].id);
    buf_put(out, STR("</code>"));
    if (what.len > 0) {
        buf_put(out, STR(": "));
        markup_put_markdown(out, what);
    }
    if (!has_more) {
        buf_put_char(out, '\n');
        return;
    }
    buf_put(out, STR("</summary>\n"));
    put_code(comment, "", buf_str(&changes));
    put_code(comment, "diff", detail->diff);
    if (detail->result == RESULT_FAILED) {
        put_code(comment, "", detail->error_out);
    }
    buf_put(out, STR("\n</details>\n"));
}

/* Returns whether the comment is still short enough; if not, removes what was appended since
 * `start`. Counts bytes; the number of characters cannot be larger. */
static bool fits_or_undo(Comment *comment, size_t start, size_t max)
{
    bool fits = comment->out->len <= max;
    comment->out->len = fits ? comment->out->len : start;
    return fits;
}

static void put_names(Comment *comment, const FoldSection *section)
{
    const RunFold *fold = comment->fold;
    Buf *out = comment->out;
    size_t start = out->len;
    if (section->nodes.len > NAMES_SHOWN) {
        buf_put(out, STR("\n<details><summary>On "));
        markup_put_markdown(out, run_fold_names(fold, comment->arena, section, NAMES_SHOWN));
        buf_put(out, STR("</summary>\n\n"));
        markup_put_markdown(out, run_fold_names(fold, comment->arena, section, NAMES_EXPANDED_MAX));
        buf_put(out, STR("\n\n</details>\n"));
    }
    if (section->nodes.len > 1 &&
        (out->len == start || !fits_or_undo(comment, start, COMMENT_MAX))) {
        buf_put(out, STR("\nOn "));
        markup_put_markdown(out, run_fold_names(fold, comment->arena, section, NAMES_SHOWN));
        buf_put_char(out, '\n');
    }
}

static void put_section(Comment *comment, const FoldSection *section)
{
    const RunFold *fold = comment->fold;
    Buf *out = comment->out;
    size_t start = out->len;
    uint32_t omitted = 0;
    buf_put(out, STR("\n#### "));
    markup_put_markdown(out, run_fold_title(fold, comment->arena, section));
    buf_put_char(out, '\n');
    for (uint32_t i = 0; i < section->details.len; i++) {
        size_t from = out->len;
        put_markdown_detail(comment, &fold->matrix.details.items[section->details.items[i]]);
        omitted += !fits_or_undo(comment, from, COMMENT_MAX - OTHERS_MAX);
    }
    put_names(comment, section);
    if (omitted == section->details.len ||
        !fits_or_undo(comment, start, COMMENT_MAX - OTHERS_MAX / 2)) {
        out->len = start;
        omitted = section->details.len;
    }
    comment->omitted += omitted;
}

/* Whether the node neither succeeded nor reported changes, because it is silent or its site has
 * errors. */
static bool is_other(Value node)
{
    Str outcome = value_get_text(node, "outcome");
    return value_get_text(node, "digest").len == 0 && !str_eq_c(outcome, "ok") &&
           !str_eq_c(outcome, "changed");
}

static void put_others(Comment *comment, const List *nodes)
{
    Buf *out = comment->out;
    uint32_t count = 0;
    for (uint32_t i = 0; i < nodes->len; i++) {
        Value node = nodes->items[i];
        size_t start = out->len;
        if (!is_other(node)) {
            continue;
        }
        buf_put(out, count == 0 ? STR("\n#### Other nodes\n\n- ") : STR("- "));
        markup_put_markdown(out, value_get_text(node, "node"));
        buf_put(out, STR(": "));
        markup_put_markdown(out, value_get_text(node, "outcome"));
        Str what = fleet_run_node_result(comment->arena, node);
        if (what.len > 0) {
            buf_put(out, STR(": "));
            markup_put_markdown(out, what);
        }
        buf_put_char(out, '\n');
        if (count == NODES_SHOWN || !fits_or_undo(comment, start, COMMENT_MAX)) {
            out->len = start;
            comment->nodes_omitted++;
        } else {
            count++;
        }
    }
}

/* Prints what was omitted and how to see it. */
static void put_omitted(const Comment *comment)
{
    Buf *out = comment->out;
    if (comment->omitted == 0 && comment->nodes_omitted == 0) {
        return;
    }
    buf_put(out, STR("\nNot shown, because a comment has a limited size: "));
    if (comment->omitted > 0) {
        buf_put_format(out, "%u of %u failures and changes%s", comment->omitted,
                       comment->fold->failures + comment->fold->changes,
                       comment->nodes_omitted > 0 ? ", " : "");
    }
    if (comment->nodes_omitted > 0) {
        buf_put_format(out, "%u other node%s", comment->nodes_omitted,
                       comment->nodes_omitted == 1 ? "" : "s");
    }
    buf_put_format(out, ". `eden runs report %" STR_FMT " --out report.html` shows everything.\n",
                   STR_ARG(object_name(comment->run)));
}

void fold_print_markdown(const RunFold *fold, Value run, const List *nodes, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Comment comment = { .fold = fold, .run = run, .arena = &arena, .out = out };
    put_head(&comment);
    put_removed(fold, &arena, out);
    for (uint32_t i = 0; i < fold->sections.len; i++) {
        put_section(&comment, &fold->sections.items[i]);
    }
    put_others(&comment, nodes);
    put_omitted(&comment);
}
