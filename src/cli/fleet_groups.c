#include "cli/fleet_groups.h"

#include "base/str_map.h"
#include "base/utc.h"
#include "cli/fleet_run.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "lang/json.h"

enum {
    NAMES_SHOWN = 5,       /* of nodes with the same failure */
    EVENTS_SHOWN = 5,      /* nodes in progress whose last event is fetched */
    EVENTS_MS = 10 * 1000, /* time limit of that */
    LINE_LONGEST = 1 << 20,
};

typedef struct NodeGroup {
    Str outcome, what; /* what: step and error, or the reason */
    Str since,
        until; /* when the first one became silent, and how long the last one is waited for */
    Str stops; /* until when the last one stops a canceled run on return */
    uint32_t count;
    Buf names;
} NodeGroup;

/* --- Groups ------------------------------------------------------------------------------------ */

static bool is_noteworthy(Str outcome)
{
    return !str_eq_c(outcome, "ok") && !str_eq_c(outcome, "changed");
}

/* Whether the failure of the command itself, which is in its group. */
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
    /* Times in this format are sorted as texts. */
    if (since.len > 0 && (group->since.len == 0 || str_compare(since, group->since) < 0)) {
        group->since = since;
    }
    if (str_compare(until, group->until) > 0) {
        group->until = until;
    }
    if (str_compare(stops, group->stops) > 0) {
        group->stops = stops;
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
    if (group->what.len > 0) {
        buf_put_format(&line, ": %" STR_FMT, STR_ARG(group->what));
    }
    if (group->since.len > 0) {
        buf_put_format(&line, "; silent since %" STR_FMT, STR_ARG(group->since));
    }
    if (group->until.len > 0) {
        buf_put_format(&line, "; waited for until %" STR_FMT, STR_ARG(group->until));
    } else if (group->stops.len > 0) {
        buf_put_format(&line, "; its order is kept until %" STR_FMT, STR_ARG(group->stops));
    }
    output_line(invocation->out, "%" STR_FMT, STR_ARG(buf_str(&line)));
}

/* --- Last events ------------------------------------------------------------------------------- */

typedef struct LastLine {
    Buf line, last;
} LastLine;

static bool take(void *context, Str bytes)
{
    LastLine *of = context;
    size_t end;
    while ((end = str_find(bytes, STR("\n"), 0)) != STR_NOT_FOUND) {
        buf_put(&of->line, str_slice(bytes, 0, end));
        buf_reset(&of->last);
        buf_put(&of->last, buf_str(&of->line));
        buf_reset(&of->line);
        bytes = str_from_offset(bytes, end + 1);
    }
    buf_put(&of->line, bytes);
    return !of->line.overflow;
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

/* Only helps to understand the rest, so failures are not reported. */
static void print_last_event(const Invocation *invocation, Value run, Str node)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    LastLine of = { .line = buf_make_in(&arena, LINE_LONGEST),
                    .last = buf_make_in(&arena, LINE_LONGEST) };
    Str logs = cluster_target_with(&arena, "/v1/runs/", object_name(run), "/logs?node=");
    ClusterRequest request = { .method = "GET",
                               .target = cluster_target(&arena, arena_copy_c(&arena, logs), node),
                               .timeout_ms = EVENTS_MS };
    ClusterStreamHandler handler = { .on_chunk = take,
                                     .context = &of,
                                     .idle_timeout_ms = EVENTS_MS };
    ClusterRefusal refusal = { .target = request.target };
    Invocation asking = *invocation;
    Value event;
    Error ignored;
    asking.arena = &arena;
    if (cluster_stream(&asking, &request, &handler, &refusal, &ignored) && of.last.len > 0 &&
        json_parse_text(&arena, buf_str(&of.last), &json_options_default, &event, &ignored)) {
        output_line(invocation->out,
                    "        last event of %" STR_FMT ": %" STR_FMT ", at %" STR_FMT, STR_ARG(node),
                    STR_ARG(describe(&arena, event)),
                    STR_ARG(utc_text(&arena, value_get_int(event, "at_ms"))));
    }
}

/* Nodes that have started and not ended; those that are canceling say what they wait for. */
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

/* ----------------------------------------------------------------------------------------------- */

void fleet_groups_print(const Invocation *invocation, Value run, const List *nodes,
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
                                .what = what,
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
