#include "cli/runs_verbs.h"

#include "base/utc.h"
#include "cli/fleet_run.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "cli/table.h"
#include "lang/duration.h"
#include "sys/clock.h"

/* --- Parts ----------------------------------------------------------------------------------- */

static Value spec_of(Value run)
{
    return value_get_map(run, "spec");
}

static Str or_dash(Str text)
{
    return text.len > 0 ? text : STR("-");
}

/* "41s", "3m", "5h", "12d". */
static Str rounded(Arena *arena, int64_t ms)
{
    static const struct {
        int64_t from_ms, unit_ms; /* durations of at least `from_ms` are printed in this unit */
        char letter;
    } units[] = {
        { 48 * 3600 * 1000, 24 * 3600 * 1000, 'd' },
        { 120 * 60 * 1000, 3600 * 1000, 'h' },
        { 120 * 1000, 60 * 1000, 'm' },
        { 0, 1000, 's' },
    };
    size_t i = 0;
    ms = ms > 0 ? ms : 0;
    while (ms < units[i].from_ms) {
        i++;
    }
    return arena_format(arena, "%lld%c", (long long)(ms / units[i].unit_ms), units[i].letter);
}

/* The duration between two times; until now if the end is missing. Empty if the start is
 * missing. */
static Str duration_text(Arena *arena, Str from, Str to)
{
    int64_t from_ms, to_ms;
    if (!utc_parse(from, &from_ms)) {
        return STR_EMPTY;
    }
    return rounded(arena, (utc_parse(to, &to_ms) ? to_ms : clock_now_ms()) - from_ms);
}

static Str join(Arena *arena, const List *texts, const char *between)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < texts->len; i++) {
        buf_put_format(&out, "%s%" STR_FMT, i > 0 ? between : "",
                       STR_ARG(value_str(texts->items[i])));
    }
    return buf_str(&out);
}

/* "*", "role=web", "retry of 20261119T0355". */
static Str selection_text(Arena *arena, Value run)
{
    Str selector = value_get_text(spec_of(run), "selector"),
        retry_of = value_get_text(spec_of(run), "retry_of");
    return retry_of.len > 0   ? arena_format(arena, "retry of %" STR_FMT, STR_ARG(retry_of))
           : selector.len > 0 ? selector
                              : STR("*");
}

/* "3 changed, 1 failed of 4" */
static Str nodes_text(Arena *arena, Value run)
{
    return arena_format(arena, "%" STR_FMT " of %lld", STR_ARG(fleet_run_counts(arena, run)),
                        (long long)value_get_int(object_status(run), "targets"));
}

/* --- List ------------------------------------------------------------------------------------ */

void runs_print_table(const Invocation *invocation, const Kind *kind, const List *runs)
{
    static const char *const headings[] = { "RUN",     "KIND", "OUTCOME", "NODES",
                                            "VERSION", "AGE",  "BY",      NULL };
    static const char *const wide_headings[] = { "RUN",      "KIND",   "OUTCOME", "NODES",
                                                 "VERSION",  "AGE",    "BY",      "DURATION",
                                                 "SELECTOR", "REASON", NULL };
    Arena *arena = invocation->arena;
    bool is_wide = invocation_prints(invocation, "wide");
    Table table;
    table_init(&table, arena, is_wide ? wide_headings : headings);
    for (uint32_t i = 0; i < runs->len; i++) {
        Value run = runs->items[i], status = object_status(run);
        Str created = value_get_text(status, "created"), ended = value_get_text(status, "ended"),
            outcome = value_get_text(status, "outcome");
        table_add(&table, object_name(run));
        table_add(&table, or_dash(value_get_text(status, "kind")));
        bool is_canceling = str_eq_c(outcome, "running") && value_get_bool(status, "canceled");
        table_add(&table, outcome.len == 0 ? STR("unreadable")
                          : is_canceling   ? STR("canceling")
                                           : outcome);
        table_add(&table, outcome.len > 0 ? nodes_text(arena, run) : STR("-"));
        table_add(&table, or_dash(value_get_text(spec_of(run), "version")));
        table_add(&table, or_dash(duration_text(arena, created, STR_EMPTY)));
        table_add(&table, or_dash(value_get_text(status, "by")));
        if (is_wide) {
            table_add(&table,
                      or_dash(ended.len > 0 ? duration_text(arena, created, ended) : STR_EMPTY));
            table_add(&table, selection_text(arena, run));
            table_add(&table, or_dash(value_get_text(spec_of(run), "reason")));
        }
    }
    table_print(&table, invocation->out);
}

/* --- One run --------------------------------------------------------------------------------- */

static void put_field(const Invocation *invocation, const char *name, Str text)
{
    if (text.len > 0) {
        output_line(invocation->out, "%-9s%" STR_FMT, name, STR_ARG(text));
    }
}

/* "apply of version 3f2a", "command: uname -r". */
static Str description(Arena *arena, Value run)
{
    Value spec = spec_of(run);
    const List *command = value_get_list(spec, "command"), *jobs = value_get_list(spec, "jobs");
    if (command->len > 0) {
        return arena_format(arena, "command: %" STR_FMT, STR_ARG(join(arena, command, " ")));
    }
    return arena_format(arena, "%" STR_FMT " of version %" STR_FMT "%s%" STR_FMT,
                        STR_ARG(value_get_text(object_status(run), "kind")),
                        STR_ARG(or_dash(value_get_text(spec, "version"))),
                        jobs->len > 0 ? ", jobs " : "", STR_ARG(join(arena, jobs, ", ")));
}

static Str state_text(Arena *arena, Value run)
{
    Value status = object_status(run);
    Str created = value_get_text(status, "created"), ended = value_get_text(status, "ended");
    Str duration = duration_text(arena, created, ended);
    bool is_canceled = value_get_bool(status, "canceled");
    if (ended.len > 0) {
        return arena_format(arena, "%" STR_FMT ", ended after %" STR_FMT,
                            STR_ARG(value_get_text(status, "outcome")), STR_ARG(duration));
    }
    return arena_format(arena, "%s for %" STR_FMT, is_canceled ? "being canceled" : "in progress",
                        STR_ARG(duration));
}

void runs_print_summary(const Invocation *invocation, Value run)
{
    Arena *arena = invocation->arena;
    Value status = object_status(run), spec = spec_of(run);
    Str error = value_get_text(status, "error");
    put_field(invocation, "run", object_name(run));
    if (error.len > 0) {
        put_field(invocation, "error", error);
        return;
    }
    put_field(invocation, "what", description(arena, run));
    put_field(invocation, "where", selection_text(arena, run));
    put_field(invocation, "by",
              arena_format(arena, "%" STR_FMT "%s at %" STR_FMT,
                           STR_ARG(or_dash(value_get_text(status, "by"))),
                           str_eq_c(value_get_text(status, "cause"), "version")
                               ? ", who made the version current,"
                               : "",
                           STR_ARG(value_get_text(status, "created"))));
    put_field(invocation, "reason", value_get_text(spec, "reason"));
    put_field(invocation, "limit", value_get_text(spec, "timeout"));
    put_field(invocation, "state", state_text(arena, run));
}

void runs_print_nodes(const Invocation *invocation, const List *nodes)
{
    static const char *const headings[] = { "NODE",  "OUTCOME",  "SINCE",  "DURATION",
                                            "STEPS", "ATTEMPTS", "REASON", NULL };
    Arena *arena = invocation->arena;
    Table table;
    table_init(&table, arena, headings);
    for (uint32_t i = 0; i < nodes->len; i++) {
        Value node = nodes->items[i];
        Str started = value_get_text(node, "started"), ended = value_get_text(node, "ended");
        int64_t attempts = value_get_int(node, "attempts");
        table_add(&table, value_get_text(node, "node"));
        table_add(&table, value_get_text(node, "outcome"));
        table_add(&table, or_dash(value_get_text(node, "since")));
        table_add(&table, or_dash(duration_text(arena, started, ended)));
        table_add(&table, or_dash(fleet_run_step_counts(arena, node)));
        table_add(&table,
                  attempts > 0 ? arena_format(arena, "%lld", (long long)attempts) : STR("-"));
        table_add(&table, or_dash(fleet_run_node_result(arena, node)));
    }
    table_print(&table, invocation->out);
}
