#include "run/report.h"

#include <stdio.h>

#include "base/word_replace.h"
#include "lang/json.h"
#include "lang/scrub.h"
#include "sys/sha256.h"

enum {
    DIGEST_DIGITS = 16
};

const char *cause_name(Cause cause)
{
    static const char *const names[] = {
        [CAUSE_NONE] = NULL,
        [CAUSE_NEW] = "new",
        [CAUSE_DRIFT] = "drift",
        [CAUSE_INTENT] = "intent",
    };
    return names[cause];
}

void run_report_count(const RunReport *report, uint32_t counts[RESULT_COUNT])
{
    memset(counts, 0, RESULT_COUNT * sizeof counts[0]);
    for (uint32_t i = 0; i < report->steps->count; i++) {
        counts[report->items[i].status.result]++;
    }
}

StepResult run_report_result(const RunReport *report)
{
    uint32_t counts[RESULT_COUNT];
    run_report_count(report, counts);
    if (counts[RESULT_FAILED] + counts[RESULT_BLOCKED] > 0) {
        return RESULT_FAILED;
    }
    if (counts[RESULT_WAITING] + counts[RESULT_PENDING] > 0) {
        return RESULT_WAITING;
    }
    return counts[RESULT_CHANGED] + counts[RESULT_UNKNOWN] > 0 ? RESULT_CHANGED : RESULT_OK;
}

/* The value of steps['x'].State. */
static Str step_report_state(const StepReport *report)
{
    return report->state.len > 0 ? report->state
                                 : str_from_c(step_result_name(report->status.result));
}

static void put(Arena *arena, Map *map, const char *key, Value value)
{
    map_append(arena, map, value_string(str_from_c(key)), value);
}

static Value text_or_null(Str text)
{
    return text.len > 0 ? value_string(text) : value_null();
}

static Value name_or_null(const char *name)
{
    return name != NULL ? value_string(str_from_c(name)) : value_null();
}

static Value milliseconds(int64_t us)
{
    int64_t hundredths = us / 10;
    return value_float((double)hundredths / 100);
}

static Value error_value(const Problem *error, Arena *arena)
{
    if (error == NULL) {
        return value_null();
    }
    Map *map = map_new(arena, 6);
    put(arena, map, "code", text_or_null(error->code));
    put(arena, map, "message", value_string(error->message));
    put(arena, map, "file", text_or_null(error->file));
    put(arena, map, "line", error->line > 0 ? value_int(error->line) : value_null());
    put(arena, map, "column", error->line > 0 ? value_int(error->column) : value_null());
    put(arena, map, "hint", text_or_null(error->hint));
    return value_map(map);
}

Value step_report_value(const Step *step, const StepReport *report, Arena *arena)
{
    const StepSpec *spec = step->spec;
    Map *map = map_new(arena, 24);
    put(arena, map, "id", value_string(step->id));
    put(arena, map, "index", value_int((int64_t)step->index + 1));
    put(arena, map, "name", value_string(step->name));
    put(arena, map, "job", value_string(spec->job->name));
    put(arena, map, "item",
        value_is_missing(step->item) ? value_null() : secrets_hide(arena, step->item));
    put(arena, map, "action",
        value_string(arena_format(arena, "%s.%s", spec->module->name, spec->action->name)));
    put(arena, map, "result", value_string(str_from_c(step_result_name(report->status.result))));
    put(arena, map, "changed", value_bool(report->status.changed));
    put(arena, map, "cause", name_or_null(cause_name(report->cause)));
    put(arena, map, "reason",
        text_or_null(report->reason.len > 0 ? report->reason : report->comment));
    put(arena, map, "changes",
        value_map(report->changes != NULL ? report->changes : map_new(arena, 0)));
    put(arena, map, "diff", text_or_null(report->diff));
    put(arena, map, "state", value_string(step_report_state(report)));
    put(arena, map, "stdout", value_string(report->shown_out));
    put(arena, map, "stderr", value_string(report->shown_error_out));
    put(arena, map, "exit_code",
        report->has_exit_code ? value_int(report->exit_code) : value_null());
    put(arena, map, "reacted", value_bool(report->status.reacted));
    put(arena, map, "tries", value_int(report->attempts));
    put(arena, map, "run_order",
        report->run_order > 0 ? value_int(report->run_order) : value_null());
    put(arena, map, "duration_ms", milliseconds(report->duration_us));
    put(arena, map, "error", error_value(report->error, arena));
    return value_map(map);
}

Value run_report_counts_value(const RunReport *report, Arena *arena)
{
    static const StepResult shown[] = { RESULT_OK,      RESULT_CHANGED, RESULT_FAILED,
                                        RESULT_SKIPPED, RESULT_BLOCKED, RESULT_WAITING,
                                        RESULT_UNKNOWN };
    uint32_t counts[RESULT_COUNT];
    run_report_count(report, counts);
    Map *map = map_new(arena, COUNT_OF(shown));
    for (uint32_t i = 0; i < COUNT_OF(shown); i++) {
        put(arena, map, step_result_name(shown[i]), value_int(counts[shown[i]]));
    }
    return value_map(map);
}

const Map *step_changes_beside(const Map *changes, Str diff, Arena *arena)
{
    if (changes == NULL || diff.len == 0 || map_find_str(changes, STR("size")) == NULL) {
        return changes;
    }
    Map *rest = map_new(arena, changes->len);
    for (uint32_t i = 0; i < changes->len; i++) {
        const MapEntry *entry = &changes->entries[i];
        if (!value_is_string(entry->key) || !str_eq_c(value_str(entry->key), "size")) {
            map_append(arena, rest, entry->key, entry->value);
        }
    }
    return rest;
}

static void add_to_digest(Sha256 *sha, Str text)
{
    char length[24];
    snprintf(length, sizeof length, "%zu:", text.len);
    sha256_add(sha, str_from_c(length));
    sha256_add(sha, text);
}

/* Equal on another node if only the name of the node differs. */
static void add_common(Sha256 *sha, Arena *arena, Str text, Str node)
{
    add_to_digest(sha, word_replace(arena, text, node, STR("{node}")));
}

/* A value that JSON cannot represent contributes its first bytes. */
static void add_changes(Sha256 *sha, const RunReport *report, const StepReport *item, Arena *arena)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    const Map *changes = step_changes_beside(item->changes, item->diff, arena);
    if (changes != NULL && changes->len > 0) {
        (void)!json_print(&text, value_map((Map *)changes), NULL, &err);
    }
    add_common(sha, arena, buf_str(&text), report->node);
    add_common(sha, arena, item->diff, report->node);
    if (item->error != NULL) {
        add_to_digest(sha, item->error->code);
        add_common(sha, arena, item->error->message, report->node);
    }
}

Str run_report_digest(const RunReport *report, Arena *arena)
{
    Sha256 sha;
    char digits[SHA256_HEX + 1];
    bool is_empty = true;
    sha256_start(&sha);
    for (uint32_t i = 0; i < report->steps->count; i++) {
        const StepReport *item = &report->items[i];
        StepResult result = item->status.result;
        if (result == RESULT_CHANGED || result == RESULT_FAILED || result == RESULT_UNKNOWN) {
            is_empty = false;
            add_to_digest(&sha, report->steps->items[i].id);
            add_to_digest(&sha, str_from_c(step_result_name(result)));
            add_changes(&sha, report, item, arena);
        }
    }
    sha256_finish(&sha, digits);
    return is_empty ? STR_EMPTY : arena_copy(arena, str_from(digits, DIGEST_DIGITS));
}

Value run_report_value(const RunReport *report, Arena *arena)
{
    Map *map = map_new(arena, 13);
    put(arena, map, "format", value_string(STR("eden.run/1")));
    put(arena, map, "mode", value_string(report->planning ? STR("plan") : STR("apply")));
    put(arena, map, "run", text_or_null(report->run));
    put(arena, map, "node", value_string(report->node));
    put(arena, map, "order", name_or_null(order_mode_name(report->order)));
    put(arena, map, "result",
        value_string(str_from_c(step_result_name(run_report_result(report)))));
    put(arena, map, "interrupted", value_bool(report->interrupted));
    put(arena, map, "counts", run_report_counts_value(report, arena));
    put(arena, map, "owed", value_list(report->owed != NULL ? report->owed : list_new(arena, 0)));
    put(arena, map, "duration_ms", milliseconds(report->duration_us));
    List *steps = list_new(arena, report->steps->count);
    for (uint32_t i = 0; i < report->steps->count; i++) {
        list_push(arena, steps,
                  step_report_value(&report->steps->items[i], &report->items[i], arena));
    }
    put(arena, map, "steps", value_list(steps));
    return value_map(map);
}
