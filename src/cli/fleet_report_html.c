/* The HTML report: summary, matrix of nodes and steps, and details of failures and changes. All
 * text from nodes and users is escaped; nothing is loaded from the network. */
#include "base/utc.h"
#include "cli/fleet_report.h"
#include "cli/fleet_report_style.h"
#include "cli/kind_print.h"
#include "cli/markup.h"
#include "lang/duration.h"
#include "lang/json.h"

enum {
    NAMES_SHOWN = 4,
    DETAILS_SHOWN = 500, /* maximum number of details of each section */
    EXPANDED_MAX = 5,    /* failures that are expanded initially */
    /* number of successive steps without changes that are combined into one column */
    UNCHANGED_MIN = 2,
    CELLS_MAX =
        100 *
        /* size limit of the matrix; beyond it, equal columns and the last rows are combined */
        1000,
    COLUMNS_MAX = 1000,
};

typedef struct Page {
    const FleetReport *report;
    const RunMatrix *matrix;
    Arena *arena;
    Buf *out;
} Page;

/* --- Text ------------------------------------------------------------------------------------- */

static void put(const Page *page, const char *markup)
{
    buf_put_c(page->out, markup);
}

static void put_text(const Page *page, Str value)
{
    markup_put(page->out, value);
}

static const char *glyph(Str result)
{
    static const struct {
        const char *result, *glyph;
    } rows[] = {
        { "ok", "\u2713" },       { "changed", "\u00b1" }, { "failed", "\u2717" },
        { "skipped", "\u2013" },  { "blocked", "\u2298" }, { "waiting", "\u2026" },
        { "unknown", "?" },       { "pending", "\u25cb" }, { "running", "\u25b8" },
        { "canceled", "\u25a0" }, { "silent", "\u2205" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (str_eq_c(result, rows[i].result)) {
            return rows[i].glyph;
        }
    }
    return "\u00b7";
}

/* Returns a class of the style sheet. Never returns text from a node. */
static const char *css_class(Str result)
{
    static const char *const classes[] = { "ok",      "changed",  "failed",  "skipped",
                                           "blocked", "waiting",  "unknown", "pending",
                                           "running", "canceled", "silent" };
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        if (str_eq_c(result, classes[i])) {
            return classes[i];
        }
    }
    return "none";
}

static Str name_of(StepResult result)
{
    return str_from_c(step_result_name(result));
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static bool is_plan(const Page *page)
{
    return str_eq_c(value_get_text(object_status(page->report->run), "kind"), "plan");
}

/* --- Header ----------------------------------------------------------------------------------- */

static void put_fact(const Page *page, const char *label, Str value)
{
    if (value.len > 0) {
        buf_put_format(page->out, "<div><dt>%s</dt><dd>", label);
        put_text(page, value);
        put(page, "</dd></div>\n");
    }
}

static Str join(const Page *page, const List *items)
{
    Buf joined = buf_make_in(page->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < items->len; i++) {
        buf_put(&joined, i > 0 ? STR(" ") : STR_EMPTY);
        buf_put(&joined, value_str(items->items[i]));
    }
    return buf_str(&joined);
}

static Str put_duration(const Page *page, Value status)
{
    int64_t from, to;
    Buf duration = buf_make_in(page->arena, BUF_UNLIMITED);
    if (utc_parse(value_get_text(status, "created"), &from) &&
        utc_parse(value_get_text(status, "ended"), &to)) {
        if (to > from) {
            duration_put(&duration, to - from);
        } else {
            buf_put(&duration, STR("less than 1s"));
        }
    }
    return buf_str(&duration);
}

static void put_facts(const Page *page)
{
    Value spec = value_get_map(page->report->run, "spec"),
          status = object_status(page->report->run);
    Str kind = value_get_text(status, "kind"), version = value_get_text(spec, "version");
    put(page, "<dl class=\"facts\">\n");
    put_fact(page, "Requested by", value_get_text(status, "by"));
    put_fact(page, "Cause",
             str_eq_c(value_get_text(status, "cause"), "version") ? STR("a version became current")
                                                                  : STR_EMPTY);
    put_fact(page, "Kind",
             str_eq_c(kind, "plan")   ? STR("plan: nothing was changed")
             : str_eq_c(kind, "exec") ? STR("command")
                                      : kind);
    put_fact(page, "Version", version);
    put_fact(page, "Jobs", join(page, value_get_list(spec, "jobs")));
    put_fact(page, "Command", join(page, value_get_list(spec, "command")));
    put_fact(page, "Variables", join(page, value_get_list(spec, "defines")));
    put_fact(page, "Nodes",
             value_get_text(spec, "selector").len > 0 ? value_get_text(spec, "selector")
                                                      : STR("all"));
    put_fact(page, "Repeats", value_get_text(spec, "retry_of"));
    put_fact(page, "Started", value_get_text(status, "created"));
    put_fact(page, "Ended", value_get_text(status, "ended"));
    put_fact(page, "Duration", put_duration(page, status));
    put(page, "</dl>\n");
}

/* Worst first. */
static const char *const outcomes[] = { "failed",  "silent",  "canceled", "waiting", "running",
                                        "pending", "changed", "ok",       "skipped" };

static void put_counts(const Page *page)
{
    Value counts = value_get_map(object_status(page->report->run), "counts");
    put(page, "<div class=\"bar\" aria-hidden=\"true\">");
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        int64_t count = value_get_int(counts, outcomes[i]);
        if (count > 0) {
            buf_put_format(page->out, "<span class=\"%s\" style=\"flex:%lld\"></span>", outcomes[i],
                           (long long)count);
        }
    }
    put(page, "</div>\n<ul class=\"counts\">\n");
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        int64_t count = value_get_int(counts, outcomes[i]);
        if (count > 0) {
            buf_put_format(page->out, "<li class=\"%s\">%s <b>%lld</b> %s%s</li>\n", outcomes[i],
                           glyph(str_from_c(outcomes[i])), (long long)count,
                           is_plan(page) && strcmp(outcomes[i], "changed") == 0 ? "would be " : "",
                           outcomes[i]);
        }
    }
    put(page, "</ul>\n");
}

static void put_header(const Page *page)
{
    Value run = page->report->run;
    Str outcome = value_get_text(object_status(run), "outcome"),
        reason = value_get_text(value_get_map(run, "spec"), "reason");
    put(page, "<header> <p class=\"product\">eden \u00b7 run report</p> <h1><span class=\"badge");
    buf_put_format(page->out, "%s\">%s ", css_class(outcome), glyph(outcome));
    put_text(page, outcome);
    put(page, "</span><code>");
    put_text(page, object_name(run));
    put(page, "</code></h1>\n");
    if (reason.len > 0) {
        put(page, "<p class=\"why\">");
        put_text(page, reason);
        put(page, "</p>\n");
    }
    put(page, "</header>\n<section class=\"card\">\n");
    buf_put_format(page->out, "<div><b>%lld</b> node%s</div>\n",
                   (long long)value_get_int(object_status(run), "targets"),
                   plural((uint32_t)value_get_int(object_status(run), "targets")));
    put_counts(page);
    put_facts(page);
    put(page, "</section>\n");
}

/* --- Matrix ----------------------------------------------------------------------------------- */

/* A column: a step in which something happened, or a sequence of steps in which nothing did. */
typedef struct Column {
    uint32_t first, count; /* position of the first step, and number of steps */
    const char *title;     /* title if there are several steps: "unchanged steps" */
} Column;

typedef VEC(Column) Columns;

static const MatrixStep *step_at(const Page *page, uint32_t position)
{
    return &page->matrix->steps.items[page->matrix->order[position]];
}

static bool is_unchanged_at(const Page *page, uint32_t position)
{
    return run_matrix_is_unchanged(step_at(page, position));
}

static int result_at(const Page *page, const MatrixGroup *group, uint32_t position)
{
    StepResult result;
    return run_matrix_result(page->matrix, group->nodes.items[0], page->matrix->order[position],
                             &result)
               ? (int)result
               : -1;
}

/* Whether all nodes have the same results of two successive steps. */
static bool equals_next_step(const Page *page, uint32_t position)
{
    const RunMatrix *matrix = page->matrix;
    for (uint32_t i = 0; i < matrix->groups.len; i++) {
        const MatrixGroup *group = &matrix->groups.items[i];
        if (result_at(page, group, position) != result_at(page, group, position + 1)) {
            return false;
        }
    }
    return true;
}

/* `folds`: also combine steps with identical results. */
static Columns find_columns(const Page *page, bool folds)
{
    Columns columns = { 0 };
    uint32_t count = page->matrix->steps.len;
    for (uint32_t i = 0; i < count;) {
        uint32_t end = i;
        const char *what = "unchanged steps";
        while (end < count && is_unchanged_at(page, end)) {
            end++;
        }
        if (folds && end == i) {
            what = "steps with identical results";
            for (end = i + 1; end < count && equals_next_step(page, end - 1); end++) {
            }
        }
        uint32_t width = end - i >= UNCHANGED_MIN ? end - i : 1;
        if (folds && columns.len == COLUMNS_MAX) {
            width = count - i;
            what = "further steps: the worst result of each row";
        }
        VEC_PUSH(page->arena, &columns, (Column){ i, width, what });
        i += width;
    }
    return columns;
}

static void put_ids(const Page *page, Column column)
{
    for (uint32_t i = 0; i < column.count; i++) {
        put(page, i > 0 ? "\n" : "");
        put_text(page, step_at(page, column.first + i)->id);
    }
}

static void put_head(const Page *page, const Columns *columns)
{
    put(page, "<thead><tr><th scope=\"col\">Nodes</th>");
    for (uint32_t i = 0; i < columns->len; i++) {
        Column column = columns->items[i];
        put(page, "<th scope=\"col\" title=\"");
        put_ids(page, column);
        put(page, "\"><span>");
        if (column.count > 1) {
            buf_put_format(page->out, "%u %s", column.count, column.title);
        } else {
            put_text(page, step_at(page, column.first)->id);
        }
        put(page, "</span></th>");
    }
    put(page, "<th class=\"rest\"></th></tr></thead>\n");
}

static void put_cell(const Page *page, uint32_t node, uint32_t step)
{
    StepResult result;
    if (!run_matrix_result(page->matrix, node, step, &result)) {
        put(page, "<td></td>");
        return;
    }
    Str name = name_of(result);
    const MatrixDetail *detail = run_matrix_detail(page->matrix, node, step);
    const char *shown = glyph(name), *class = css_class(name);
    buf_put_format(page->out, "<td class=\"%s\" title=\"", class);
    put_text(page, page->matrix->steps.items[step].id);
    put(page, ": ");
    put_text(page, result == RESULT_PENDING ? STR("not reached") : name);
    put(page, "\">");
    if (detail != NULL) {
        buf_put_format(page->out, "<a href=\"#d%u\">%s</a></td>",
                       (unsigned)(detail - page->matrix->details.items), shown);
    } else {
        buf_put_format(page->out, "%s</td>", shown);
    }
}

/* Prints the cell of several steps: the worst result, with a link to its details. */
static void put_folded_cell(const Page *page, uint32_t node, Column column)
{
    uint32_t count = 0, worst = 0;
    unsigned worst_rank = UINT32_MAX;
    StepResult result;
    for (uint32_t i = 0; i < column.count; i++) {
        uint32_t step = page->matrix->order[column.first + i];
        if (run_matrix_result(page->matrix, node, step, &result)) {
            unsigned rank = run_matrix_severity(name_of(result));
            worst = rank < worst_rank ? step : worst;
            worst_rank = rank < worst_rank ? rank : worst_rank;
            count++;
        }
    }
    if (count == 0 || !run_matrix_result(page->matrix, node, worst, &result)) {
        put(page, "<td></td>");
        return;
    }
    const MatrixDetail *detail = run_matrix_detail(page->matrix, node, worst);
    const char *shown = glyph(name_of(result)), *class = css_class(name_of(result));
    buf_put_format(page->out, "<td class=\"%s\" title=\"%u steps, at worst %s\">", class, count,
                   result == RESULT_PENDING ? "not reached" : class);
    if (detail != NULL) {
        buf_put_format(page->out, "<a href=\"#d%u\">%s</a></td>",
                       (unsigned)(detail - page->matrix->details.items), shown);
    } else {
        buf_put_format(page->out, "%s</td>", shown);
    }
}

static void put_names(const Page *page, const MatrixNodes *nodes)
{
    put(page, "<p class=\"names mono\">");
    put_text(page, run_matrix_names(page->matrix, page->arena, nodes, UINT32_MAX));
    put(page, "</p>");
}

static void put_group_head(const Page *page, const MatrixGroup *group)
{
    const MatrixNode *node = run_matrix_first(page->matrix, group);
    const MatrixNodes *nodes = &group->nodes;
    buf_put_format(page->out, "<th scope=\"row\"><span class=\"%s\">%s</span> ",
                   css_class(node->outcome), glyph(node->outcome));
    if (nodes->len == 1) {
        put(page, "<b>");
        put_text(page, node->name);
        put(page, "</b> <small>");
    } else {
        buf_put_format(page->out, "<b>%u nodes</b> <small>", nodes->len);
    }
    put_text(page, node->outcome);
    if (node->reason.len > 0) {
        put(page, ": ");
        put_text(page, node->reason);
    }
    if (node->error.len > 0) {
        put(page, ": ");
        put_text(page, node->error);
    }
    put(page, node->is_truncated ? " (its log is incomplete)</small>" : "</small>");
    if (nodes->len > NAMES_SHOWN) {
        put(page, "<details><summary><small style=\"display:inline\">");
        put_text(page, run_matrix_names(page->matrix, page->arena, nodes, NAMES_SHOWN));
        put(page, "</small></summary>");
        put_names(page, nodes);
        put(page, "</details>");
    } else if (nodes->len > 1) {
        put(page, "<small>");
        put_text(page, run_matrix_names(page->matrix, page->arena, nodes, NAMES_SHOWN));
        put(page, "</small>");
    }
    put(page, "</th>");
}

static void put_row(const Page *page, const MatrixGroup *group, const Columns *columns)
{
    uint32_t first = group->nodes.items[0];
    put(page, "<tr>");
    put_group_head(page, group);
    for (uint32_t i = 0; i < columns->len; i++) {
        Column column = columns->items[i];
        if (column.count > 1) {
            put_folded_cell(page, first, column);
        } else {
            put_cell(page, first, page->matrix->order[column.first]);
        }
    }
    put(page, "<td class=\"rest\"></td></tr>\n");
}

/* Rows are sorted from worst to best, so the omitted ones are the best. */
static void put_missing_rows(const Page *page, uint32_t shown, uint32_t columns)
{
    const RunMatrix *matrix = page->matrix;
    uint32_t nodes = 0, counts[COUNT_OF(outcomes)] = { 0 };
    for (uint32_t i = shown; i < matrix->groups.len; i++) {
        const MatrixGroup *group = &matrix->groups.items[i];
        Str outcome = run_matrix_first(matrix, group)->outcome;
        nodes += group->nodes.len;
        for (size_t j = 0; j < COUNT_OF(outcomes); j++) {
            counts[j] += str_eq_c(outcome, outcomes[j]) ? group->nodes.len : 0;
        }
    }
    if (nodes == 0) {
        return;
    }
    buf_put_format(page->out, "<tr><th scope=\"row\"><b>%u more nodes</b> <small>", nodes);
    for (size_t j = 0; j < COUNT_OF(outcomes); j++) {
        if (counts[j] > 0) {
            buf_put_format(page->out, "%u %s ", counts[j], outcomes[j]);
        }
    }
    put(page, "in different rows, which are too many for a page: <code>eden runs report -o json ");
    put_text(page, object_name(page->report->run));
    buf_put_format(page->out, "</code></small></th><td colspan=\"%u\"></td></tr>\n", columns + 1);
}

static void put_matrix(const Page *page)
{
    const RunMatrix *matrix = page->matrix;
    Columns columns = find_columns(page, false);
    uint32_t rows = matrix->groups.len;
    if ((uint64_t)rows * columns.len > CELLS_MAX || columns.len > COLUMNS_MAX) {
        columns = find_columns(page, true);
    }
    if (columns.len > 0 && rows > CELLS_MAX / columns.len) {
        rows = CELLS_MAX / columns.len;
    }
    buf_put_format(
        page->out,
        "<h2>Nodes and steps<small>%u node%s, %u step%s; nodes with the same results share a\n"
        "row</small></h2> <div class=\"card scroll\"><table class=\"matrix\">\n",
        matrix->nodes.len, plural(matrix->nodes.len), matrix->steps.len, plural(matrix->steps.len));
    put_head(page, &columns);
    put(page, "<tbody>\n");
    for (uint32_t i = 0; i < rows; i++) {
        put_row(page, &matrix->groups.items[i], &columns);
    }
    put_missing_rows(page, rows, columns.len);
    put(page, "</tbody></table></div>\n<p class=\"legend\">");
    for (uint32_t i = RESULT_OK; i < MATRIX_RESULTS; i++) {
        Str name = name_of((StepResult)i);
        buf_put_format(page->out, "<span><b class=\"%s\">%s</b> %s</span>", css_class(name),
                       glyph(name), css_class(name));
    }
    buf_put_format(page->out, "<span><b class=\"pending\">%s</b> not reached</span></p>\n",
                   glyph(STR("pending")));
}

/* --- Details ---------------------------------------------------------------------------------- */

static void put_block(const Page *page, const char *title, Str content)
{
    if (content.len > 0) {
        buf_put_format(page->out, "<h3>%s</h3><pre>", title);
        put_text(page, content);
        put(page, "</pre>\n");
    }
}

static const char *line_class(Str line)
{
    return str_starts(line, STR("+++")) || str_starts(line, STR("---")) ? NULL
           : str_starts(line, STR("+"))                                 ? "add"
           : str_starts(line, STR("-"))                                 ? "del"
           : str_starts(line, STR("@@"))                                ? "hunk"
                                                                        : NULL;
}

static void put_diff(const Page *page, Str diff)
{
    Str rest = diff, line;
    if (diff.len == 0) {
        return;
    }
    put(page, "<h3>Diff</h3><pre>");
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        const char *class = line_class(line);
        if (class != NULL) {
            buf_put_format(page->out, "<span class=\"%s\">", class);
        }
        put_text(page, line);
        put(page, class != NULL ? "</span>\n" : "\n");
    }
    put(page, "</pre>\n");
}

static Str value_text(const Page *page, const Value *value)
{
    Buf printed = buf_make_in(page->arena, BUF_UNLIMITED);
    Error ignored;
    if (value == NULL || value->kind == VALUE_NULL) {
        return STR_EMPTY;
    }
    if (value_is_string(*value)) {
        return value_str(*value);
    }
    return json_print(&printed, *value, NULL, &ignored) ? buf_str(&printed) : STR_EMPTY;
}

static void put_changes(const Page *page, Str json)
{
    Value changes;
    Error ignored;
    if (json.len == 0 || !json_parse_text(page->arena, json, NULL, &changes, &ignored) ||
        changes.kind != VALUE_MAP) {
        return;
    }
    put(page, "<h3>Changes</h3><table class=\"list\"><tr><th>What</th><th>Before</th><th>After</th>"
              "</tr>\n");
    for (uint32_t i = 0; i < changes.map->len; i++) {
        const MapEntry *entry = &changes.map->entries[i];
        const Value *before = value_get(entry->value, STR("old")),
                    *after = value_get(entry->value, STR("new"));
        bool is_pair = before != NULL || after != NULL;
        put(page, "<tr><td class=\"mono\">");
        put_text(page, value_text(page, &entry->key));
        put(page, "</td><td class=\"mono\">");
        put_text(page, value_text(page, before));
        put(page, "</td><td class=\"mono\">");
        put_text(page, value_text(page, is_pair ? after : &entry->value));
        put(page, "</td></tr>\n");
    }
    put(page, "</table>\n");
}

static void put_detail_facts(const Page *page, const MatrixDetail *detail)
{
    put(page, "<dl class=\"facts\" style=\"margin:6px 0 0\">");
    put_fact(page, "Action", page->matrix->steps.items[detail->step].action);
    put_fact(page, "Cause",
             str_eq_c(detail->cause, "new")      ? STR("new: not applied before")
             : str_eq_c(detail->cause, "drift")  ? STR("drift: the machine was changed")
             : str_eq_c(detail->cause, "intent") ? STR("intent: the site has changed")
                                                 : detail->cause);
    if (detail->code.len > 0) {
        put_fact(page, "Explanation",
                 arena_format(page->arena, "eden explain %" STR_FMT, STR_ARG(detail->code)));
    }
    if (detail->has_exit_code) {
        put_fact(page, "Exit code",
                 arena_format(page->arena, "%lld", (long long)detail->exit_code));
    }
    put(page, "</dl>\n");
    put_block(page, "Comment", detail->message.len > 0 ? detail->reason : STR_EMPTY);
}

static void put_detail(const Page *page, uint32_t index, bool is_open)
{
    const MatrixDetail *detail = &page->matrix->details.items[index];
    Str result = name_of(detail->result),
        what = detail->message.len > 0 ? detail->message : detail->reason;
    buf_put_format(page->out,
                   "<details class=\"result %s\"%s><summary><span class=\"%s\">%s</span> <code>",
                   css_class(result), is_open ? " open" : "", css_class(result), glyph(result));
    put_text(page, page->matrix->steps.items[detail->step].id);
    put(page, "</code> ");
    put_text(page, what);
    buf_put_format(page->out, "<small>%u node%s: ", detail->nodes.len, plural(detail->nodes.len));
    put_text(page, run_matrix_names(page->matrix, page->arena, &detail->nodes, NAMES_SHOWN));
    buf_put_format(page->out, "</small></summary><div id=\"d%u\">\n", index);
    put_detail_facts(page, detail);
    put_changes(page, detail->changes);
    put_diff(page, detail->diff);
    put_block(page, "Standard error", detail->error_out);
    put_block(page, "Standard output", detail->out);
    if (detail->is_truncated) {
        put(page, "<p class=\"legend\">Some texts are truncated.</p>");
    }
    if (detail->nodes.len > NAMES_SHOWN) {
        buf_put_format(page->out, "<h3>All %u nodes</h3>", detail->nodes.len);
        put_names(page, &detail->nodes);
    }
    put(page, "</div></details>\n");
}

typedef bool ResultFilter(StepResult result);

static bool is_failure(StepResult result)
{
    return result == RESULT_FAILED;
}

static bool is_undecided(StepResult result)
{
    return result == RESULT_BLOCKED || result == RESULT_WAITING || result == RESULT_UNKNOWN;
}

static bool is_change(StepResult result)
{
    return result == RESULT_CHANGED;
}

static void put_section(const Page *page, const char *title, ResultFilter *matches, uint32_t opened)
{
    const RunMatrix *matrix = page->matrix;
    uint32_t count = 0, shown = 0;
    for (uint32_t i = 0; i < matrix->details.len; i++) {
        count += matches(matrix->details.items[i].result);
    }
    if (count == 0) {
        return;
    }
    buf_put_format(page->out, "<h2>%s<small>%u different</small></h2>\n", title, count);
    for (uint32_t i = 0; i < matrix->details.len && shown < DETAILS_SHOWN; i++) {
        if (matches(matrix->details.items[i].result)) {
            put_detail(page, i, shown++ < opened);
        }
    }
    if (count > shown) {
        buf_put_format(page->out,
                       "<p class=\"legend\">%u more are not shown on this page; -o json includes "
                       "all of them.</p>\n",
                       count - shown);
    }
}

/* --- Steps ------------------------------------------------------------------------------------ */

static void put_steps(const Page *page)
{
    const RunMatrix *matrix = page->matrix;
    if (matrix->steps.len == 0) {
        return;
    }
    buf_put_format(
        page->out,
        "<h2>Steps</h2>\n<details class=\"card\"><summary>%u step%s, in the order of the "
        "site</summary><table class=\"list\"><tr><th>Step</th><th>Action</th>"
        "<th class=\"number\">Nodes</th>",
        matrix->steps.len, plural(matrix->steps.len));
    for (uint32_t j = RESULT_OK; j < MATRIX_RESULTS; j++) {
        buf_put_format(page->out, "<th class=\"number\">%s</th>", step_result_name((StepResult)j));
    }
    put(page, "</tr>\n");
    for (uint32_t i = 0; i < matrix->steps.len; i++) {
        const MatrixStep *step = step_at(page, i);
        put(page, "<tr><td class=\"mono\">");
        put_text(page, step->id);
        put(page, "</td><td class=\"mono\">");
        put_text(page, step->action);
        buf_put_format(page->out, "</td><td class=\"number\">%u</td>", step->nodes);
        for (uint32_t j = RESULT_OK; j < MATRIX_RESULTS; j++) {
            Str name = name_of((StepResult)j);
            if (step->counts[j] > 0) {
                buf_put_format(page->out, "<td class=\"number\"><span class=\"%s\">%u</span></td>",
                               css_class(name), step->counts[j]);
            } else {
                put(page, "<td class=\"number\"></td>");
            }
        }
        put(page, "</tr>\n");
    }
    put(page, "</table></details>\n");
}

/* --- Page ------------------------------------------------------------------------------------- */

void fleet_report_html(const FleetReport *report, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Page page = { .report = report, .matrix = report->matrix, .arena = &arena, .out = out };
    Str outcome = value_get_text(object_status(report->run), "outcome");
    put(&page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
               "style-src 'unsafe-inline'\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    put_text(&page, object_name(report->run));
    put(&page, ": ");
    put_text(&page, outcome);
    put(&page, "</title>\n<style>\n");
    put(&page, fleet_report_style);
    put(&page, "</style></head>\n<body><main>\n");
    put_header(&page);
    put_matrix(&page);
    put_section(&page, "Failures", is_failure, EXPANDED_MAX);
    put_section(&page, is_plan(&page) ? "Unknown, blocked or waiting" : "Blocked or waiting",
                is_undecided, 0);
    put_section(&page, is_plan(&page) ? "What would change" : "Changes", is_change, 0);
    put_steps(&page);
    if (report->matrix->removed_ms > 0) {
        put(&page, "<p class=\"legend\">The log of this run was removed at ");
        put_text(&page, utc_text(&arena, report->matrix->removed_ms));
        put(&page, ", because the total size of all run logs was too large.</p>");
    }
    if (report->matrix->is_incomplete) {
        put(&page,
            "<p class=\"legend\">Some texts are omitted because there are too many different "
            "ones.</p>");
    }
    put(&page, "<footer>" RUN_MATRIX_NODE " in a text is the name of each of its nodes. Secrets "
               "were removed on the nodes.</footer>\n</main></body></html>\n");
}
