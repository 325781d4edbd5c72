#include "modules/puppet/report.h"

#include "lang/yaml.h"

enum {
    FAILURES_SHOWN = 5,
    DIFF_MAX = 1 << 20
};

static Value value_at(Value map, const char *key)
{
    const Value *found = value_get(map, str_from_c(key));
    return found == NULL || found->kind == VALUE_NULL ? value_missing() : *found;
}

/* Containers only repeat what is in them, and a message changes nothing. */
static bool counts(Str type)
{
    static const char *const others[] = { "Class", "Notify", "Schedule", "Stage", "Whit" };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (str_eq_c(type, others[i])) {
            return false;
        }
    }
    return true;
}

static void put_change(Call *call, Outcome *outcome, Str resource, Value event)
{
    Str property = value_get_text(event, "property");
    Value before = value_at(event, "previous_value"), after = value_at(event, "desired_value");
    const char *what = arena_copy_c(
        call->arena, arena_format(call->arena, "%" STR_FMT "/%" STR_FMT, STR_ARG(resource),
                                  STR_ARG(property.len > 0 ? property : STR("refresh"))));
    if (value_get_bool(event, "redacted")) {
        before = value_missing();
        after = value_string(STR("(secret)"));
    }
    if (value_is_missing(before) && value_is_missing(after)) {
        after = value_at(event, "message");
    }
    outcome_change(call, outcome, what, before, after);
}

static void put_failure(Buf *failures, PuppetReport *out, Str resource, Value status, Str message)
{
    if (out->failed++ >= FAILURES_SHOWN) {
        return;
    }
    Value line = value_at(status, "line");
    buf_put_format(failures, "%s%" STR_FMT ": %" STR_FMT, out->failed > 1 ? "; " : "",
                   STR_ARG(resource), STR_ARG(message.len > 0 ? message : STR("failed")));
    if (line.kind == VALUE_INT) {
        buf_put_format(failures, " (line %lld)", (long long)line.integer);
    }
}

/* What the log says of a resource that failed without an event, as when its provider did. */
static Str find_message(Value report, Str resource)
{
    const List *logs = value_get_list(report, "logs");
    for (uint32_t i = 0; i < logs->len; i++) {
        if (str_eq_c(value_get_text(logs->items[i], "level"), "err") &&
            str_find(value_get_text(logs->items[i], "source"), resource, 0) != STR_NOT_FOUND) {
            return value_get_text(logs->items[i], "message");
        }
    }
    return STR_EMPTY;
}

static void read_status(Call *call, Value report, Str resource, Value status, Outcome *outcome,
                        Buf *failures, PuppetReport *out)
{
    const List *events = value_get_list(status, "events");
    bool changed = false, failed = false;
    Str message = STR_EMPTY;
    for (uint32_t i = 0; i < events->len; i++) {
        Str how = value_get_text(events->items[i], "status");
        if (str_eq_c(how, "failure")) {
            failed = true;
            message = value_get_text(events->items[i], "message");
        } else if (str_eq_c(how, "success") || str_eq_c(how, "noop")) {
            changed = true;
            put_change(call, outcome, resource, events->items[i]);
        }
    }
    if (failed || value_get_bool(status, "failed") || value_get_bool(status, "failed_to_restart")) {
        put_failure(failures, out, resource, status,
                    message.len > 0 ? message : find_message(report, resource));
    }
    out->changed += changed;
    out->skipped += value_get_bool(status, "skipped");
}

/* With show_diff the log holds the differences of files, each as a message. */
static void read_diffs(Call *call, Value report, Outcome *outcome)
{
    const List *logs = value_get_list(report, "logs");
    Buf diff = buf_make_in(call->arena, DIFF_MAX);
    for (uint32_t i = 0; i < logs->len; i++) {
        Str message = value_get_text(logs->items[i], "message");
        Str start = str_starts(message, STR("\n")) ? str_from_offset(message, 1) : message;
        if (str_starts(start, STR("--- ")) && str_find(start, STR("\n+++ "), 0) != STR_NOT_FOUND) {
            buf_put_format(&diff, "%" STR_FMT "%s", STR_ARG(start),
                           str_ends(start, STR("\n")) ? "" : "\n");
        }
    }
    outcome->diff = buf_str(&diff);
}

bool puppet_report_read(Call *call, Str text, Outcome *outcome, PuppetReport *out, Error *err)
{
    Sources sources;
    Problems problems;
    Value report;
    *out = (PuppetReport){ 0 };
    sources_init(&sources, call->arena);
    problems_init(&problems, call->arena);
    uint16_t source = sources_add(&sources, STR("report of Puppet"), text);
    if (!yaml_load(call->arena, &sources, source, NULL, &report, &problems)) {
        return error_set(err, ERROR_INVALID, "the report of Puppet cannot be read: %" STR_FMT,
                         STR_ARG(problems.items[0].message));
    }
    const Value *statuses = value_get(report, STR("resource_statuses"));
    if (statuses == NULL || statuses->kind != VALUE_MAP) {
        return error_set(err, ERROR_INVALID, "the report of Puppet has no 'resource_statuses'");
    }
    Buf failures = buf_make_in(call->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < statuses->map->len; i++) {
        const MapEntry *entry = &statuses->map->entries[i];
        if (value_is_string(entry->key) && counts(value_get_text(entry->value, "resource_type"))) {
            read_status(call, report, value_str(entry->key), entry->value, outcome, &failures, out);
        }
    }
    if (out->failed > FAILURES_SHOWN) {
        buf_put_format(&failures, "; and %u more", out->failed - FAILURES_SHOWN);
    }
    out->failures = buf_str(&failures);
    read_diffs(call, report, outcome);
    return true;
}
