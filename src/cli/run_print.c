#include "cli/run_print.h"

#include "base/str_map.h"
#include "base/vec.h"
#include "base/visible.h"

enum {
    CONCISE_LINES = 10,
    OUTPUT_LINES = 20,     /* maximum number of lines shown of a failed command's output */
    CHANGES_SHOWN = 20,    /* maximum number of changes shown per step */
    NAMES_SHOWN = 5,       /* maximum number of names shown of steps with the same error */
    NOT_STARTED_SHOWN = 20 /* maximum number of steps shown that did not start */
};

/* How each result is described in an apply and in a plan. */
typedef struct ResultRow {
    const char *color;
    const char *done;
    const char *planned;
} ResultRow;

static const ResultRow rows[RESULT_COUNT] = {
    [RESULT_PENDING] = { "2", "left", "left" },
    [RESULT_OK] = { "32", "ok", "ok" },
    [RESULT_CHANGED] = { "33", "changed", "change" },
    [RESULT_FAILED] = { "31;1", "failed", "fail" },
    [RESULT_SKIPPED] = { "2", "skipped", "skip" },
    [RESULT_BLOCKED] = { "31", "blocked", "blocked" },
    [RESULT_WAITING] = { "36", "waiting", "wait" },
    [RESULT_UNKNOWN] = { "35", "unknown", "unknown" },
};

static void put_colored(Buf *out, const RunPrintStyle *style, const char *color, Str text)
{
    if (style->color) {
        buf_put_format(out, "\033[%sm", color);
    }
    buf_put(out, text);
    if (style->color) {
        buf_put(out, STR("\033[0m"));
    }
}

static bool next_line(Str *rest, Str *line)
{
    if (rest->len == 0) {
        return false;
    }
    size_t end = str_find(*rest, STR("\n"), 0);
    bool last = end == STR_NOT_FOUND;
    *line = last ? *rest : str_slice(*rest, 0, end);
    *rest = last ? STR_EMPTY : str_from_offset(*rest, end + 1);
    return true;
}

static void put_diff(Buf *out, const RunPrintStyle *style, Str diff)
{
    uint32_t count = 0;
    for (Str line; next_line(&diff, &line); count++) {
        if (style->diff == DIFF_CONCISE && count == CONCISE_LINES) {
            buf_put(out, STR("    ... (use --diff=full to show all)\n"));
            return;
        }
        const char *color = line.len == 0         ? "0"
                            : line.data[0] == '+' ? "32"
                            : line.data[0] == '-' ? "31"
                            : line.data[0] == '@' ? "36"
                                                  : "0";
        buf_put(out, STR("    "));
        Buf shown = buf_make(BUF_UNLIMITED);
        Str piece;
        for (bool first = true; line.len > 0 && str_split_next(&line, '\t', &piece);
             first = false) {
            buf_put_c(&shown, first ? "" : "\t"); /* tabs are common in files, so they are kept */
            visible_put(&shown, piece);
        }
        put_colored(out, style, color, buf_str(&shown));
        buf_clear(&shown);
        buf_put_char(out, '\n');
    }
}

/* Skips changes that are shown elsewhere: the state in the comment, size and value in the diff. */
static bool is_shown_elsewhere(const StepReport *item, Str what)
{
    return !str_eq(what, STR("state")) && !str_eq(what, STR("size")) &&
           (item->diff.len == 0 || !str_eq(what, STR("value")));
}

static bool is_simple(Value value)
{
    return value_is_string(value) || value.kind == VALUE_INT || value.kind == VALUE_BOOL;
}

/* Scalars and lists of scalars fit on a line. */
static bool has_words(const Value *value)
{
    if (value == NULL || value->kind == VALUE_NULL || is_simple(*value)) {
        return true;
    }
    for (uint32_t i = 0; value->kind == VALUE_LIST && i < value->list->len; i++) {
        if (!is_simple(value->list->items[i])) {
            return false;
        }
    }
    return value->kind == VALUE_LIST;
}

static bool is_nothing(const Value *value)
{
    return value == NULL || value->kind == VALUE_NULL ||
           (value->kind == VALUE_LIST && value->list->len == 0);
}

static void put_simple(Buf *out, Value value)
{
    if (value_is_string(value)) {
        visible_put(out, value_str(value));
    } else if (value.kind == VALUE_BOOL) {
        buf_put_c(out, value.boolean ? "true" : "false");
    } else {
        buf_put_format(out, "%lld", (long long)value.integer);
    }
}

static void put_words(Buf *out, const Value *value)
{
    if (is_nothing(value)) {
        buf_put(out, STR("none"));
    } else if (value->kind == VALUE_LIST) {
        for (uint32_t i = 0; i < value->list->len; i++) {
            buf_put_c(out, i > 0 ? ", " : "");
            put_simple(out, value->list->items[i]);
        }
    } else {
        put_simple(out, *value);
    }
}

/* Changes that a diff does not show: modes, owners, members, links, removed directory entries. */
static void put_changes(Buf *out, const StepReport *item)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; item->changes != NULL && i < item->changes->len; i++) {
        const MapEntry *entry = &item->changes->entries[i];
        const Value *old = value_get(entry->value, STR("old"));
        const Value *new = value_get(entry->value, STR("new"));
        if ((is_nothing(old) && is_nothing(new)) || !has_words(old) || !has_words(new) ||
            !is_shown_elsewhere(item, value_str(entry->key)) || shown++ >= CHANGES_SHOWN) {
            continue;
        }
        buf_put(out, STR("    "));
        visible_put(out, value_str(entry->key));
        buf_put(out, STR(": "));
        if (old != NULL && old->kind != VALUE_NULL) {
            put_words(out, old);
            buf_put(out, STR(" -> "));
        }
        put_words(out, new);
        buf_put_char(out, '\n');
    }
    if (shown > CHANGES_SHOWN) {
        buf_put_format(out, "    ... and %u more\n", shown - CHANGES_SHOWN);
    }
}

/* The last lines of a command's output. */
static void put_output(Buf *out, const RunPrintStyle *style, Str step, const char *name, Str text)
{
    if (text.len == 0) {
        return;
    }
    size_t start = text.len, lines = 0;
    while (start > 0 && lines < OUTPUT_LINES) {
        start--;
        lines += start > 0 && text.data[start - 1] == '\n';
    }
    Str rest = str_from_offset(text, start);
    buf_put_format(out, "    %s:%s", name, start > 0 ? " ... (last lines" : "");
    if (start > 0 && style->recorded) {
        buf_put(out, STR("; eden why '"));
        visible_put(out, step);
        buf_put(out, STR("' -o json shows all"));
    }
    buf_put(out, start > 0 ? STR(")\n") : STR("\n"));
    for (Str line; next_line(&rest, &line);) {
        buf_put(out, STR("      "));
        visible_put(out, line);
        buf_put_char(out, '\n');
    }
}

static void put_error(Buf *out, const RunPrintStyle *style, const Problem *error)
{
    Buf text = buf_make(BUF_UNLIMITED);
    problem_print(error, (ProblemStyle){ .color = style->color }, &text);
    Str rest = buf_str(&text);
    for (Str line; next_line(&rest, &line);) {
        buf_put(out, STR("    "));
        buf_put(out, line);
        buf_put_char(out, '\n');
    }
    buf_clear(&text);
}

static const char *result_word(const RunReport *report, StepResult result)
{
    return report->planning ? rows[result].planned : rows[result].done;
}

/* Prints a step: a line, then its diff, its error and, if it failed, its output. */
static void run_print_step(const RunReport *report, uint32_t step, const RunPrintStyle *style,
                           Buf *out)
{
    const StepReport *item = &report->items[step];
    const Step *of = &report->steps->items[step];
    StepResult result = item->status.result;
    Buf word = buf_make(64);
    buf_put_format(&word, "%-8s", result_word(report, result));
    put_colored(out, style, rows[result].color, buf_str(&word));
    buf_clear(&word);
    buf_put_char(out, ' ');
    visible_put(out, of->id);
    buf_put_format(out, "  %s.%s", of->spec->module->name, of->spec->action->name);
    if (cause_name(item->cause) != NULL && item->cause != CAUSE_NEW) {
        buf_put_format(out, " (%s)", cause_name(item->cause));
    }
    Str why = item->comment.len > 0 ? item->comment : item->reason;
    if (why.len > 0) {
        buf_put(out, STR(": "));
        visible_put(out, why);
    }
    if (item->comment.len > 0 && item->reason.len > 0) {
        buf_put(out, STR("; "));
        visible_put(out, item->reason);
    }
    if (item->status.reacted) {
        buf_put_format(out, "%s reacted to a change%s", why.len > 0 ? "," : ":",
                       item->status.owed != 0 ? " from an earlier run (owed)" : "");
    }
    buf_put_char(out, '\n');
    if (style->diff != DIFF_NONE) {
        put_diff(out, style, item->diff);
        put_changes(out, item);
    }
    if (result == RESULT_FAILED) {
        put_output(out, style, of->id, "stdout", item->shown_out);
        put_output(out, style, of->id, "stderr", item->shown_error_out);
        if (item->error != NULL) {
            put_error(out, style, item->error);
        }
    }
}

static bool is_shown(const RunPrintStyle *style, const StepReport *item)
{
    StepResult result = item->status.result;
    return style->all || (result != RESULT_OK && result != RESULT_SKIPPED) || item->status.changed;
}

/* Steps that failed for the same reason. */
typedef struct Group {
    Str message;
    uint32_t count;
    uint32_t first[NAMES_SHOWN];
} Group;

/* Errors that several steps share, with the names of the steps. */
static void put_shared_errors(const RunReport *report, Buf *out)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StrMap groups;
    str_map_init(&groups, &arena);
    for (uint32_t i = 0; i < report->steps->count; i++) {
        const StepReport *item = &report->items[i];
        Str message = item->status.result == RESULT_FAILED && item->error != NULL
                          ? item->error->message
                      : item->status.result == RESULT_BLOCKED ? item->reason
                                                              : STR_EMPTY;
        if (message.len == 0) {
            continue;
        }
        Group *group = str_map_find(&groups, message);
        if (group == NULL) {
            group = ARENA_NEW(&arena, Group);
            group->message = message;
            str_map_put(&groups, message, group);
        }
        if (group->count < NAMES_SHOWN) {
            group->first[group->count] = i;
        }
        group->count++;
    }
    uint32_t at = 0;
    for (StrMapEntry *entry; (entry = str_map_next(&groups, &at)) != NULL;) {
        const Group *group = entry->value;
        if (group->count < 2) {
            continue;
        }
        buf_put_format(out, "%u steps: ", group->count);
        visible_put(out, group->message);
        buf_put(out, STR("\n   "));
        for (uint32_t i = 0; i < group->count && i < NAMES_SHOWN; i++) {
            buf_put(out, i == 0 ? STR(" ") : STR(", "));
            visible_put(out, report->steps->items[group->first[i]].id);
        }
        buf_put(out, group->count > NAMES_SHOWN ? STR(" ...\n") : STR("\n"));
    }
    arena_clear(&arena);
}

static void put_counts(const RunReport *report, const RunPrintStyle *style, Buf *out)
{
    static const StepResult order[] = { RESULT_FAILED,  RESULT_BLOCKED, RESULT_WAITING,
                                        RESULT_CHANGED, RESULT_UNKNOWN, RESULT_OK,
                                        RESULT_SKIPPED, RESULT_PENDING };
    uint32_t counts[RESULT_COUNT];
    run_report_count(report, counts);
    bool first = true;
    for (uint32_t i = 0; i < COUNT_OF(order); i++) {
        StepResult result = order[i];
        if (counts[result] == 0) {
            continue;
        }
        buf_put(out, first ? STR(" ") : STR(", "));
        first = false;
        Buf text = buf_make(64);
        buf_put_format(
            &text, "%u %s%s", counts[result],
            report->planning && (result == RESULT_CHANGED || result == RESULT_SKIPPED) ? "to " : "",
            result_word(report, result));
        put_colored(out, style, rows[result].color, buf_str(&text));
        buf_clear(&text);
    }
    if (first) {
        buf_put(out, STR(" nothing to do"));
    }
}

static Str owed_text(Value debt, const char *key)
{
    return value_str(*value_get(debt, str_from_c(key)));
}

/* The owed action of a step. */
typedef struct OwedStep {
    Str step;
    uint32_t count;
    Str causes[NAMES_SHOWN];
} OwedStep;

static void put_owed_step(const OwedStep *owed_step, Buf *out)
{
    buf_put(out, STR("owed     "));
    visible_put(out, owed_step->step);
    buf_put(out, STR(": has not reacted to the change of "));
    for (uint32_t i = 0; i < owed_step->count && i < NAMES_SHOWN; i++) {
        buf_put(out, i == 0 ? STR_EMPTY : STR(", "));
        visible_put(out, owed_step->causes[i]);
    }
    if (owed_step->count > NAMES_SHOWN) {
        buf_put_format(out, " and %u more", owed_step->count - NAMES_SHOWN);
    }
    buf_put(out, STR(" yet; the next apply will\n"));
}

/* Prints one line per step that owes an action, with all causes. */
static void put_owed(const RunReport *report, Buf *out)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StrMap steps;
    str_map_init(&steps, &arena);
    for (uint32_t i = 0; report->owed != NULL && i < report->owed->len; i++) {
        Str step = owed_text(report->owed->items[i], "step");
        OwedStep *owed_step = str_map_find(&steps, step);
        if (owed_step == NULL) {
            owed_step = ARENA_NEW(&arena, OwedStep);
            owed_step->step = step;
            str_map_put(&steps, step, owed_step);
        }
        if (owed_step->count < NAMES_SHOWN) {
            owed_step->causes[owed_step->count] = owed_text(report->owed->items[i], "cause");
        }
        owed_step->count++;
    }
    uint32_t at = 0;
    for (StrMapEntry *entry; (entry = str_map_next(&steps, &at)) != NULL;) {
        put_owed_step(entry->value, out);
    }
    arena_clear(&arena);
}

static void put_not_started(const RunReport *report, Buf *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->steps->count; i++) {
        count += report->items[i].left;
    }
    buf_put_format(out, "interrupted: %u step%s did not start", count, count == 1 ? "" : "s");
    uint32_t shown = 0;
    for (uint32_t i = 0; i < report->steps->count && shown < NOT_STARTED_SHOWN; i++) {
        if (report->items[i].left) {
            buf_put(out, shown++ == 0 ? STR(":\n    ") : STR("\n    "));
            visible_put(out, report->steps->items[i].id);
        }
    }
    if (count > shown) {
        buf_put_format(out, "\n    ... and %u more", count - shown);
    }
    buf_put_char(out, '\n');
}

void run_print(const RunReport *report, const RunPrintStyle *style, Buf *out)
{
    for (uint32_t i = 0; i < report->steps->count; i++) {
        if (is_shown(style, &report->items[i])) {
            run_print_step(report, i, style, out);
        }
    }
    put_shared_errors(report, out);
    put_owed(report, out);
    if (report->interrupted) {
        put_not_started(report, out);
    }
    buf_put_format(out, "%s on ", report->planning ? "plan" : "apply");
    visible_put(out, report->node);
    buf_put_char(out, ':');
    put_counts(report, style, out);
    buf_put_format(out, " in %.2f s\n", (double)report->duration_us / 1e6);
}
