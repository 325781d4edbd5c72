/* Both parsers are tolerant: a missing field or one of another type counts as empty, since the
 * formats change between versions. They fail only if the input is not a report at all. */
#include "modules/foreign_report.h"

#include "base/buf.h"
#include "lang/json.h"
#include "lang/yaml.h"

enum {
    FAILURES_SHOWN = 5,
    DIFF_MAX = 1 << 20
};

typedef struct ReportReader {
    Call *call;
    Outcome *outcome;
    ForeignReport *out;
    Buf failures;
    Buf diff;
} ReportReader;

static ReportReader reader_init(Call *call, Outcome *outcome, ForeignReport *out)
{
    *out = (ForeignReport){ 0 };
    return (ReportReader){ call, outcome, out, buf_make_in(call->arena, BUF_UNLIMITED),
                           buf_make_in(call->arena, DIFF_MAX) };
}

/* Counts a failure. Returns true if its message should be added to `failures`. */
static bool reader_fail(ReportReader *reader)
{
    if (reader->out->failed++ >= FAILURES_SHOWN) {
        return false;
    }
    buf_put_c(&reader->failures, reader->out->failed > 1 ? "; " : "");
    return true;
}

static void reader_end(ReportReader *reader)
{
    if (reader->out->failed > FAILURES_SHOWN) {
        buf_put_format(&reader->failures, "; and %u more", reader->out->failed - FAILURES_SHOWN);
    }
    reader->out->failures = buf_str(&reader->failures);
    reader->outcome->diff = buf_str(&reader->diff);
}

/* --- Ansible --------------------------------------------------------------------------------- */

/* Prefixed with the host unless it is this machine; a repeated name gets a number. */
static Str task_name(Call *call, const Outcome *outcome, Value line)
{
    Str task = value_get_text(line, "task"), host = value_get_text(line, "host");
    Str name =
        str_eq_c(host, "localhost") || host.len == 0
            ? task
            : arena_format(call->arena, "%" STR_FMT ": %" STR_FMT, STR_ARG(host), STR_ARG(task));
    Str again = name;
    for (uint32_t i = 2; outcome->changes != NULL && map_find_str(outcome->changes, again) != NULL;
         i++) {
        again = arena_format(call->arena, "%" STR_FMT " (%u)", STR_ARG(name), i);
    }
    return again;
}

static void read_task(ReportReader *reader, Value line)
{
    Call *call = reader->call;
    Str status = value_get_text(line, "status"), name = task_name(call, reader->outcome, line);
    bool failed = str_eq_c(status, "failed");
    if ((failed || str_eq_c(status, "unreachable")) && reader_fail(reader)) {
        buf_put_format(&reader->failures, "task '%" STR_FMT "' %s: %" STR_FMT " (%" STR_FMT ")",
                       STR_ARG(name), failed ? "failed" : "failed because its host is unreachable",
                       STR_ARG(value_get_text(line, "message")),
                       STR_ARG(value_get_text(line, "place")));
    }
    bool unasked = value_get_bool(line, "unasked") && str_eq_c(status, "skipped");
    if (!value_get_bool(line, "changed") && !unasked) {
        return;
    }
    reader->out->changed++;
    outcome_change(call, reader->outcome, arena_copy_c(call->arena, name), value_missing(),
                   value_string(value_get_text(line, "action")));
    buf_put(&reader->diff, value_get_text(line, "diff"));
}

bool ansible_report_read(Call *call, Str text, Outcome *outcome, ForeignReport *out, Error *err)
{
    ReportReader reader = reader_init(call, outcome, out);
    for (size_t end; (end = str_find(text, STR("\n"), 0)) != STR_NOT_FOUND;
         text = str_from_offset(text, end + 1)) {
        Value line;
        if (!json_parse_text(call->arena, str_slice(text, 0, end), NULL, &line, err)) {
            return error_wrap(err, "cannot read Ansible's report");
        }
        if (line.kind != VALUE_MAP) {
            return error_set(err, ERROR_INVALID,
                             "Ansible's report contains something other than results");
        }
        read_task(&reader, line);
    }
    reader_end(&reader);
    return true;
}

/* --- Puppet ---------------------------------------------------------------------------------- */

static Value value_at(Value map, const char *key)
{
    const Value *found = value_get(map, str_from_c(key));
    return found == NULL || found->kind == VALUE_NULL ? value_missing() : *found;
}

/* Containers only repeat the events of their content, and messages do not change anything. */
static bool counts_as_change(Str type)
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

static void put_failure(ReportReader *reader, Str resource, Value status, Str message)
{
    if (!reader_fail(reader)) {
        return;
    }
    Value line = value_at(status, "line");
    buf_put_format(&reader->failures, "%" STR_FMT ": %" STR_FMT, STR_ARG(resource),
                   STR_ARG(message.len > 0 ? message : STR("failed")));
    if (line.kind == VALUE_INT) {
        buf_put_format(&reader->failures, " (line %lld)", (long long)line.integer);
    }
}

/* Finds the log message of a resource that failed without an event, for instance because its
 * provider failed. */
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

static void read_status(ReportReader *reader, Value report, Str resource, Value status)
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
            put_change(reader->call, reader->outcome, resource, events->items[i]);
        }
    }
    if (failed || value_get_bool(status, "failed") || value_get_bool(status, "failed_to_restart")) {
        put_failure(reader, resource, status,
                    message.len > 0 ? message : find_message(report, resource));
    }
    reader->out->changed += changed;
    reader->out->skipped += value_get_bool(status, "skipped");
}

/* With show_diff, each diff of a file is a message in the log. */
static void read_diffs(ReportReader *reader, Value report)
{
    const List *logs = value_get_list(report, "logs");
    for (uint32_t i = 0; i < logs->len; i++) {
        Str message = value_get_text(logs->items[i], "message");
        Str start = str_starts(message, STR("\n")) ? str_from_offset(message, 1) : message;
        if (str_starts(start, STR("--- ")) && str_find(start, STR("\n+++ "), 0) != STR_NOT_FOUND) {
            buf_put_format(&reader->diff, "%" STR_FMT "%s", STR_ARG(start),
                           str_ends(start, STR("\n")) ? "" : "\n");
        }
    }
}

bool puppet_report_read(Call *call, Str text, Outcome *outcome, ForeignReport *out, Error *err)
{
    Sources sources;
    Problems problems;
    Value report;
    ReportReader reader = reader_init(call, outcome, out);
    sources_init(&sources, call->arena);
    problems_init(&problems, call->arena);
    uint16_t source = sources_add(&sources, STR("Puppet's report"), text);
    if (!yaml_load(call->arena, &sources, source, NULL, &report, &problems)) {
        return error_set(err, ERROR_INVALID, "cannot read Puppet's report: %" STR_FMT,
                         STR_ARG(problems.items[0].message));
    }
    const Value *statuses = value_get(report, STR("resource_statuses"));
    if (statuses == NULL || statuses->kind != VALUE_MAP) {
        return error_set(err, ERROR_INVALID, "Puppet's report has no 'resource_statuses'");
    }
    for (uint32_t i = 0; i < statuses->map->len; i++) {
        const MapEntry *entry = &statuses->map->entries[i];
        if (value_is_string(entry->key) &&
            counts_as_change(value_get_text(entry->value, "resource_type"))) {
            read_status(&reader, report, value_str(entry->key), entry->value);
        }
    }
    read_diffs(&reader, report);
    reader_end(&reader);
    return true;
}
