/* Follows a run: streams its events, prints progress, and reports the result once the run has
 * ended. The exit code is that of the worst outcome. */
#include "cli/fleet_run.h"

#include "base/str_map.h"
#include "base/utc.h"
#include "cli/cluster_client.h"
#include "cli/fold_print.h"
#include "cli/kind_print.h"
#include "cli/matrix_fetch.h"
#include "cli/output.h"
#include "cli/run_names.h"
#include "cli/run_outputs.h"
#include "cli/selector_input.h"
#include "lang/duration.h"
#include "lang/json.h"

/* --- Targets that need attention -------------------------------------------------------------- */

/* The targets of a run that need attention. Nodes with the same outcome and reason share a line. */

enum {
    NAMES_SHOWN = 5,  /* maximum number of names of nodes with the same failure */
    EVENTS_SHOWN = 5, /* maximum number of nodes in progress whose last event is fetched */
    EVENTS_TIMEOUT_MS = 10 * 1000, /* timeout of fetching an event */
    LINE_MAX_BYTES = 1 << 20,
};

typedef struct NodeGroup {
    Str outcome, reason; /* step and error, or another reason */
    Str silent_since,
        /* when the first node became silent, and how long the run waits for the last one */
        waits_until;
    Str stops_until; /* how long the cancellation of the run stays valid for the last node */
    uint32_t count;
    Buf names;
} NodeGroup;

/* --- Groups ----------------------------------------------------------------------------------- */

static bool is_noteworthy(Str outcome)
{
    return !str_eq_c(outcome, "ok") && !str_eq_c(outcome, "changed");
}

/* Whether the failure is that of the command itself, which is printed with its output. */
static bool is_in_outputs(const RunOutputs *outputs, Value node)
{
    return str_map_has(&outputs->nodes, value_get_text(node, "node")) &&
           value_get_text(node, "error").len > 0;
}

static void add_to_group(NodeGroup *group, Value node)
{
    Str since = value_get_text(node, "silent_since"), until = value_get_text(node, "waits_until"),
        stops = value_get_text(node, "stops_until");
    if (group->count++ < NAMES_SHOWN) {
        buf_put_format(&group->names, "%s%" STR_FMT, group->count > 1 ? ", " : "",
                       STR_ARG(value_get_text(node, "node")));
    }
    /* Times in this format can be compared as strings. */
    if (since.len > 0 &&
        (group->silent_since.len == 0 || str_compare(since, group->silent_since) < 0)) {
        group->silent_since = since;
    }
    if (str_compare(until, group->waits_until) > 0) {
        group->waits_until = until;
    }
    if (str_compare(stops, group->stops_until) > 0) {
        group->stops_until = stops;
    }
}

static void print_group(const Invocation *invocation, const NodeGroup *group)
{
    Arena *arena = invocation->arena;
    Buf line = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_format(&line, "%" STR_FMT "  %" STR_FMT, STR_ARG(group->outcome),
                   STR_ARG(buf_str(&group->names)));
    if (group->count > NAMES_SHOWN) {
        buf_put_format(&line, " and %u more", group->count - NAMES_SHOWN);
    }
    if (group->reason.len > 0) {
        buf_put_format(&line, ": %" STR_FMT, STR_ARG(group->reason));
    }
    if (group->silent_since.len > 0) {
        buf_put_format(&line, "; silent since %" STR_FMT, STR_ARG(group->silent_since));
    }
    if (group->waits_until.len > 0) {
        buf_put_format(&line, "; waiting for it until %" STR_FMT, STR_ARG(group->waits_until));
    } else if (group->stops_until.len > 0) {
        buf_put_format(&line, "; the cancellation is valid until %" STR_FMT,
                       STR_ARG(group->stops_until));
    }
    output_line(invocation->out, "%" STR_FMT, STR_ARG(buf_str(&line)));
}

/* --- Last events ------------------------------------------------------------------------------ */

typedef struct LastLine {
    Buf line, last;
} LastLine;

static bool on_chunk(void *context, Str bytes)
{
    LastLine *lines = context;
    size_t end;
    while ((end = str_find(bytes, STR("\n"), 0)) != STR_NOT_FOUND) {
        buf_put(&lines->line, str_slice(bytes, 0, end));
        buf_reset(&lines->last);
        buf_put(&lines->last, buf_str(&lines->line));
        buf_reset(&lines->line);
        bytes = str_from_offset(bytes, end + 1);
    }
    buf_put(&lines->line, bytes);
    return !lines->line.overflow;
}

/* "step 'web#install' started", "step 'web#install' ended: changed" */
static Str describe(Arena *arena, Value event)
{
    Str kind = value_get_text(event, "event"), step = value_get_text(event, "step");
    if (step.len == 0) {
        return arena_format(arena, "'%" STR_FMT "'", STR_ARG(kind));
    }
    return str_eq_c(kind, "step")
               ? arena_format(arena, "step '%" STR_FMT "' ended: %" STR_FMT, STR_ARG(step),
                              STR_ARG(value_get_text(event, "result")))
           : str_eq_c(kind, "start")
               ? arena_format(arena, "step '%" STR_FMT "' started", STR_ARG(step))
               : arena_format(arena, "'%" STR_FMT "' of step '%" STR_FMT "'", STR_ARG(kind),
                              STR_ARG(step));
}

/* Best effort: a failure to fetch the event is not reported. */
static void print_last_event(const Invocation *invocation, Value run, Str node)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    LastLine lines = { .line = buf_make_in(&arena, LINE_MAX_BYTES),
                       .last = buf_make_in(&arena, LINE_MAX_BYTES) };
    Str logs = cluster_target_with(&arena, "/v1/runs/", object_name(run), "/logs?node=");
    ClusterRequest request = { .method = "GET",
                               .target = cluster_target(&arena, arena_copy_c(&arena, logs), node),
                               .timeout_ms = EVENTS_TIMEOUT_MS };
    ClusterStreamHandler handler = { .on_chunk = on_chunk,
                                     .context = &lines,
                                     .idle_timeout_ms = EVENTS_TIMEOUT_MS };
    ClusterRefusal refusal = { .target = request.target };
    Invocation request_invocation = *invocation;
    Value event;
    Error ignored;
    request_invocation.arena = &arena;
    if (cluster_stream(&request_invocation, &request, &handler, &refusal, &ignored) &&
        lines.last.len > 0 &&
        json_parse_text(&arena, buf_str(&lines.last), &json_options_default, &event, &ignored)) {
        output_line(invocation->out,
                    "        last event from %" STR_FMT ": %" STR_FMT ", at %" STR_FMT,
                    STR_ARG(node), STR_ARG(describe(&arena, event)),
                    STR_ARG(utc_text(&arena, value_get_int(event, "at_ms"))));
    }
}

/* Nodes that have started and not ended, except those that are canceling, whose reason already
 * shows what they are waiting for. */
static bool is_in_progress(Value node)
{
    Str outcome = value_get_text(node, "outcome");
    bool is_running = str_eq_c(outcome, "running") && value_get_text(node, "reason").len == 0;
    return (is_running || str_eq_c(outcome, "silent")) && value_get_text(node, "started").len > 0;
}

static void print_last_events(const Invocation *invocation, Value run, const List *nodes)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < nodes->len && shown < EVENTS_SHOWN; i++) {
        Value node = nodes->items[i];
        if (is_in_progress(node)) {
            print_last_event(invocation, run, value_get_text(node, "node"));
            shown++;
        }
    }
}

static void print_hint(const Invocation *invocation, Value run, const List *nodes)
{
    for (uint32_t i = 0; i < nodes->len; i++) {
        Value node = nodes->items[i];
        if (str_eq_c(value_get_text(node, "outcome"), "failed")) {
            output_line(invocation->err,
                        "'eden logs %" STR_FMT " %" STR_FMT "' shows the locations and the output",
                        STR_ARG(object_name(run)), STR_ARG(value_get_text(node, "node")));
            return;
        }
    }
}

/* --- Report ----------------------------------------------------------------------------------- */

/* Prints the nodes of GET /v1/runs/<id>/nodes that need attention, except those whose failure is
 * printed with the outputs. Also prints the last event of nodes in progress. */
static void fleet_groups_print(const Invocation *invocation, Value run, const List *nodes,
                               const RunOutputs *outputs)
{
    Arena *arena = invocation->arena;
    VEC(NodeGroup) groups = { 0 };
    StrMap indexes;
    str_map_init(&indexes, arena);
    for (uint32_t i = 0; i < nodes->len; i++) {
        Value node = nodes->items[i];
        Str outcome = value_get_text(node, "outcome"), what = fleet_run_node_result(arena, node);
        if (!is_noteworthy(outcome) || is_in_outputs(outputs, node)) {
            continue;
        }
        Str key = arena_format(arena, "%" STR_FMT "\n%" STR_FMT, STR_ARG(outcome), STR_ARG(what));
        uintptr_t index = (uintptr_t)str_map_find(&indexes, key);
        if (index == 0) {
            NodeGroup group = { .outcome = outcome,
                                .reason = what,
                                .names = buf_make_in(arena, BUF_UNLIMITED) };
            VEC_PUSH(arena, &groups, group);
            index = groups.len;
            str_map_put(&indexes, key, (void *)index);
        }
        add_to_group(&groups.items[index - 1], node);
    }
    for (uint32_t i = 0; i < groups.len; i++) {
        print_group(invocation, &groups.items[i]);
    }
    print_last_events(invocation, run, nodes);
    if (!str_eq_c(value_get_text(object_status(run), "kind"), "exec")) {
        print_hint(invocation, run, nodes);
    }
}

/* --- Creating --------------------------------------------------------------------------------- */

bool fleet_spec_read(Invocation *invocation, const char *time_option, Map *spec)
{
    Arena *arena = invocation->arena;
    const char *limit = invocation_text(invocation, "limit"),
               *time = invocation_text(invocation, time_option),
               *reason = invocation_text(invocation, "reason");
    SelectorInput selector;
    int64_t count, time_ms;
    if (selector_input_read(invocation, true, &selector) != EXIT_OK) {
        return false;
    }
    if (selector.is_given) {
        map_set_str(arena, spec, STR("selector"), value_string(selector.text));
    }
    if (limit != NULL && (!str_to_i64(str_from_c(limit), &count) || count < 1)) {
        usage_error(invocation, "--limit must be a number of nodes, not '%s'", limit);
        return false;
    }
    if (limit != NULL) {
        map_set_str(arena, spec, STR("limit"), value_int(count));
    }
    if (time != NULL && !duration_parse(str_from_c(time), &time_ms)) {
        usage_error(invocation, "--%s must be a duration, such as '30s' or '5m', not '%s'",
                    time_option, time);
        return false;
    }
    if (time != NULL) {
        map_set_str(arena, spec, STR("timeout"), value_string(str_from_c(time)));
    }
    if (reason != NULL) {
        map_set_str(arena, spec, STR("reason"), value_string(str_from_c(reason)));
    }
    return true;
}

/* A selector that matches no node has a separate exit code. */
static int create(Invocation *invocation, const char *target, Map *spec, Value *run)
{
    Arena *arena = invocation->arena;
    Map *body = map_new(arena, 1);
    map_set_str(arena, body, STR("spec"), value_map(spec));
    ClusterRequest request = { .method = "POST",
                               .target = str_from_c(target),
                               .body = cluster_body(arena, value_map(body)) };
    ClusterRefusal refusal = { .target = request.target };
    Error err;
    if (cluster_send(invocation, &request, run, &refusal.responded, &err)) {
        return EXIT_OK;
    }
    refusal.response = *run;
    if (refusal.responded && str_starts(str_from_c(err.text), STR("no node matches"))) {
        Str selector = value_get_text(value_map(spec), "selector");
        return run_names_no_node(invocation, arena_copy(arena, str_from_c(err.text)),
                                 selector.len > 0 ? selector : STR("*"));
    }
    if (refusal.responded && err.kind == ERROR_NOT_FOUND) {
        refusal.target =
            /* the error is not about a run, so the hint about the list of runs does not apply */
            STR_EMPTY;
    }
    int code = cluster_report_refusal(invocation, &refusal, &err);
    return refusal.responded && err.kind == ERROR_NOT_FOUND ? EXIT_NOT_MATCHED : code;
}

int fleet_run_start(Invocation *invocation, const char *target, Map *spec)
{
    Value run;
    int code = create(invocation, target, spec, &run);
    if (code != EXIT_OK) {
        return code;
    }
    if (!invocation_flag(invocation, "detach")) {
        return fleet_run_watch(invocation, run);
    }
    if (!kind_print_value(invocation, run, &code)) {
        output_line(invocation->out, "%" STR_FMT, STR_ARG(object_name(run)));
    }
    return code;
}

/* --- Fetching --------------------------------------------------------------------------------- */

/* The newest run. */
static int get_latest(Invocation *invocation, Value *out)
{
    Value list;
    int code = cluster_call(
        invocation, &(ClusterRequest){ .method = "GET", .target = STR("/v1/runs?limit=1") }, &list);
    if (code != EXIT_OK) {
        return code;
    }
    if (object_items(list)->len == 0) {
        output_line(invocation->err, "no runs yet; 'eden run' applies the site to nodes");
        return EXIT_NOT_MATCHED;
    }
    *out = object_items(list)->items[0];
    return EXIT_OK;
}

int fleet_run_get(Invocation *invocation, Str id, Value *out)
{
    if (str_eq_c(id, "latest")) {
        return get_latest(invocation, out);
    }
    ClusterRequest request = { .method = "GET",
                               .target = cluster_target(invocation->arena, "/v1/runs/", id) };
    ClusterRefusal refusal = { .target = request.target };
    Error err;
    if (cluster_send(invocation, &request, out, &refusal.responded, &err)) {
        return EXIT_OK;
    }
    refusal.response = *out;
    bool is_ambiguous = err.kind == ERROR_CONFLICT;
    return refusal.responded && (err.kind == ERROR_NOT_FOUND || is_ambiguous)
               ? run_names_no_run(invocation, id, is_ambiguous)
               : cluster_report_refusal(invocation, &refusal, &err);
}

bool fleet_run_has_ended(Value run)
{
    return str_eq_c(value_get_text(object_status(run), "state"), "ended");
}

/* --- Reporting -------------------------------------------------------------------------------- */

int fleet_run_nodes(Invocation *invocation, Str id, List **out)
{
    Arena *arena = invocation->arena;
    Str after = STR_EMPTY;
    *out = list_new(arena, 16);
    do {
        Value page;
        Str target = cluster_target_with(arena, "/v1/runs/", id, "/nodes");
        if (after.len > 0) {
            target = cluster_target(
                arena, arena_format(arena, "%" STR_FMT "?after=%c", STR_ARG(target), '\0').data,
                after);
        }
        int code =
            cluster_call(invocation, &(ClusterRequest){ .method = "GET", .target = target }, &page);
        if (code != EXIT_OK) {
            return code;
        }
        const List *nodes = value_get_list(page, "nodes");
        for (uint32_t i = 0; i < nodes->len; i++) {
            list_push(arena, *out, nodes->items[i]);
        }
        after = value_get_text(page, "next");
    } while (after.len > 0);
    return EXIT_OK;
}

static int outcome_code(const Invocation *invocation, Value run)
{
    Value counts = value_get_map(object_status(run), "counts");
    bool is_detailed = invocation_flag(invocation, "detailed-exitcode");
    bool has_changed = value_get_int(counts, "changed") > 0;
    bool has_failed = value_get_int(counts, "failed") > 0;
    Str outcome = value_get_text(object_status(run), "outcome");
    if (has_failed) {
        return is_detailed && has_changed ? EXIT_CHANGES_AND_FAILURES : EXIT_FAILED;
    }
    if (str_eq_c(outcome, "canceled")) {
        return EXIT_FAILED;
    }
    if (value_get_int(counts, "silent") > 0) {
        return EXIT_NOT_MATCHED;
    }
    return is_detailed && has_changed ? EXIT_CHANGES : EXIT_OK;
}

/* "3 changed, 1 failed" */
static Str counts_of(Arena *arena, Value counts, const char *const *names, size_t name_count)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t i = 0; i < name_count; i++) {
        int64_t count = value_get_int(counts, names[i]);
        if (count > 0) {
            buf_put_format(&text, "%s%lld %s", text.len > 0 ? ", " : "", (long long)count,
                           names[i]);
        }
    }
    return buf_str(&text);
}

Str fleet_run_counts(Arena *arena, Value run)
{
    static const char *const order[] = { "failed",  "silent",  "canceled", "changed", "ok",
                                         "skipped", "running", "waiting",  "pending" };
    return counts_of(arena, value_get_map(object_status(run), "counts"), order, COUNT_OF(order));
}

Str fleet_run_step_counts(Arena *arena, Value node)
{
    static const char *const order[] = { "failed",  "blocked", "changed", "ok",
                                         "skipped", "waiting", "unknown" };
    return counts_of(arena, value_get_map(node, "counts"), order, COUNT_OF(order));
}

Str fleet_run_node_result(Arena *arena, Value node)
{
    Str step = value_get_text(node, "step"), error = value_get_text(node, "error"),
        code = value_get_text(node, "code"), reason = value_get_text(node, "reason");
    Buf what = buf_make_in(arena, BUF_UNLIMITED);
    if (error.len == 0) {
        return reason;
    }
    if (reason.len > 0) {
        buf_put_format(&what, "%" STR_FMT ": ",
                       STR_ARG(reason)); /* a reason such as a time limit */
    }
    buf_put_format(&what, "%" STR_FMT "%s%" STR_FMT, STR_ARG(step), step.len > 0 ? ": " : "",
                   STR_ARG(error));
    if (code.len > 0) {
        buf_put_format(&what, " [%" STR_FMT "]", STR_ARG(code));
    }
    return buf_str(&what);
}

static bool is_exec(Value run)
{
    return str_eq_c(value_get_text(object_status(run), "kind"), "exec");
}

static int print_value(Invocation *invocation, Value run, List *nodes, const RunOutputs *outputs)
{
    Map *map = map_new(invocation->arena, 4);
    map_set_str(invocation->arena, map, STR("format"), value_string(STR("eden.run-report/1")));
    map_set_str(invocation->arena, map, STR("run"), run);
    map_set_str(invocation->arena, map, STR("nodes"), value_list(nodes));
    if (is_exec(run)) {
        map_set_str(invocation->arena, map, STR("outputs"), run_outputs_value(outputs));
    }
    return output_response(invocation, value_map(map));
}

/* Prints each distinct change once, with its nodes. */
static int print_changes(Invocation *invocation, Value run, const List *nodes)
{
    AUTO_CLEAR(RunFold) fold = { 0 };
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    int code = fold_fetch(invocation, run, nodes, &fold);
    if (code != EXIT_OK) {
        return code;
    }
    if (invocation_prints(invocation, "markdown")) {
        fold_print_markdown(&fold, run, nodes, &text);
    } else {
        fold_print_text(&fold, invocation->color_out, &text);
    }
    stream_put(invocation->out, buf_str(&text));
    return EXIT_OK;
}

static bool is_plan(Value run)
{
    return str_eq_c(value_get_text(object_status(run), "kind"), "plan");
}

int fleet_run_report(Invocation *invocation, Value run)
{
    List *nodes;
    RunOutputs outputs;
    Value status = object_status(run);
    if (invocation_prints(invocation, "name")) {
        output_line(invocation->out, "%" STR_FMT, STR_ARG(object_name(run)));
        return outcome_code(invocation, run);
    }
    int code = fleet_run_nodes(invocation, object_name(run), &nodes);
    run_outputs_init(&outputs, invocation->arena);
    if (code == EXIT_OK && is_exec(run)) {
        code = run_outputs_fetch(invocation, object_name(run), &outputs);
    }
    if (code != EXIT_OK) {
        return code;
    }
    if (output_wants_value(invocation)) {
        code = print_value(invocation, run, nodes, &outputs);
        return code == EXIT_OK ? outcome_code(invocation, run) : code;
    }
    bool is_markdown = invocation_prints(invocation, "markdown");
    code = is_markdown || is_plan(run) ? print_changes(invocation, run, nodes) : EXIT_OK;
    if (code != EXIT_OK || is_markdown) {
        return code == EXIT_OK ? outcome_code(invocation, run) : code;
    }
    run_outputs_print(&outputs, invocation->out);
    fleet_groups_print(invocation, run, nodes, &outputs);
    output_line(invocation->out, "run %" STR_FMT "%s: %" STR_FMT " of %" STR_FMT,
                STR_ARG(object_name(run)), fleet_run_has_ended(run) ? "" : " in progress",
                STR_ARG(fleet_run_counts(invocation->arena, run)),
                STR_ARG(output_count(invocation->arena, value_get_int(status, "targets"), "node",
                                     "nodes")));
    return outcome_code(invocation, run);
}
