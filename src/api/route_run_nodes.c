/* GET /v1/runs/<name>/nodes: the targets of a run with their outcomes, page by page. */
#include "api/call.h"
#include "api/handlers.h"
#include "base/json_out.h"
#include "fleet/dispatch_target.h"

enum {
    NODES_PAGE_DEFAULT = 500,
    NODES_PAGE_MAX = 1000,
};

/* Appends nothing if the value is unknown. */
static void put_time(Buf *json, const char *name, int64_t ms)
{
    if (ms > 0) {
        json_out_time(json, name, ms);
    }
}

/* `silence` replaces the reported reason; may be NULL. Returns when the result was reported; 0:
 * unknown. */
static int64_t put_result(Buf *json, Arena *arena, const RunTarget *target, const char *silence)
{
    NodeResult result;
    Error err;
    if (!node_result_read(arena, target->result->value, &result, &err)) {
        json_out_text(json, "error", str_from_c(err.text));
        return 0;
    }
    const StepCounts *counts = &result.counts;
    /* the node is rebooting */
    bool knows_better = result.outcome == NODE_RUNNING && result.reason.len > 0;
    json_out_text(json, "reason",
                  silence != NULL && !knows_better ? str_from_c(silence) : result.reason);
    json_out_open(json, "counts", '{');
    json_out_int(json, "ok", counts->ok);
    json_out_int(json, "changed", counts->changed);
    json_out_int(json, "failed", counts->failed);
    json_out_int(json, "skipped", counts->skipped);
    json_out_int(json, "blocked", counts->blocked);
    json_out_int(json, "waiting", counts->waiting);
    json_out_int(json, "unknown", counts->unknown);
    json_out_close(json, '}');
    json_out_text(json, "step", result.step);
    json_out_text(json, "code", result.code);
    json_out_text(json, "error", result.error);
    json_out_text(json, "digest", str_from_c(result.digest));
    json_out_int(json, "attempts", result.attempts);
    put_time(json, "since", result.since_ms);
    put_time(json, "started", result.started_ms);
    put_time(json, "ended", result.ended_ms);
    return result.since_ms;
}

/* Why a target without a session does not report more. */
static const char *lost_reason(const RunEntry *run, uint32_t target)
{
    bool has_ended = run->record.state == RUN_ENDED;
    return !run->targets[target].has_result
               ? (has_ended ? "it had no session" : "it has no session")
           : run->targets[target].outcome == NODE_RUNNING
               ? "its session ended while it executed the run"
               : "its session ended before it started the run";
}

/* The reason why a target does not report, as far as the server knows; NULL: a report is
 * expected. */
static const char *silence_reason(const RunEntry *run, uint32_t target, const RosterNode *node)
{
    bool may_run = run->targets[target].outcome == NODE_RUNNING &&
                   run->targets[target].order_revision > 0; /* it stops when it gets the order */
    if (run->record.state == RUN_ENDED && run->record.is_canceled) {
        return !run->targets[target].has_result || node == NULL ? NULL
               : may_run
                   ? "it was silent and may still be executing the run; it stops when it reconnects"
               : run->targets[target].outcome == NODE_RUNNING
                   ? "it was silent and did not reconnect, so its state is unknown"
                   : NULL;
    }
    return node == NULL ? "it is no longer a node of the cluster"
           : run->record.state == RUN_ENDED || !node->is_alive ? lost_reason(run, target)
           : run->targets[target].has_result                   ? NULL
           : run->targets[target].order_revision > 0           ? "it has not accepted its order yet"
                                                     : "its order has not been written yet";
}

/* Since when the node has had no session, and how long the run waits for it. `reported_ms` is the
 * time of its last report, which may be later than the last confirmation of its session. */
static void put_silence(Buf *json, const ApiSettings *settings, const RunEntry *run, uint32_t index,
                        const RosterNode *node, int64_t reported_ms)
{
    int64_t now_ms = loop_wall_ms(settings->cluster_store.loop);
    int64_t lost_ms = dispatch_lost_ms(&settings->cluster_store);
    DispatchTarget target = dispatch_target(run, index, node, now_ms);
    bool is_alive = target.silent_ms < 0;
    json_out_bool(json, "session", is_alive);
    if (node == NULL || is_alive) {
        return;
    }
    bool was_later = reported_ms > node->since_ms && reported_ms <= now_ms;
    put_time(json, "silent_since", was_later ? reported_ms : node->since_ms);
    if (run->record.state != RUN_ENDED) {
        put_time(json, "waits_until", dispatch_waits_until_ms(run, &target, lost_ms, now_ms));
    } else if (run->record.is_canceled && target.order_revision > 0) {
        put_time(json, "stops_until", dispatch_stops_until_ms(&target, lost_ms, now_ms));
    }
}

/* Writes what a target has reported, and why it does not report more. */
static void put_target(Buf *json, Arena *arena, const ApiSettings *settings, const RunEntry *run,
                       uint32_t index)
{
    const RunTarget *target = &run->targets[index];
    const RosterNode *node =
        roster_find(settings->cluster_store.roster, run->record.targets[index]);
    bool is_final = target->has_result && node_outcome_is_final(target->outcome);
    const char *silence = is_final ? NULL : silence_reason(run, index, node);
    int64_t reported_ms = 0;
    if (target->has_result) {
        reported_ms = put_result(json, arena, target, silence);
    } else if (silence != NULL) {
        json_out_text(json, "reason", str_from_c(silence));
        put_time(json, "since", node != NULL && !node->is_alive ? node->since_ms : 0);
    }
    if (silence != NULL) {
        put_silence(json, settings, run, index, node, reported_ms);
    }
}

static const char *outcome_name(const ApiSettings *settings, const RunEntry *run, uint32_t index)
{
    const RunTarget *target = &run->targets[index];
    bool is_final = target->has_result && node_outcome_is_final(target->outcome);
    bool has_ended = run->record.state == RUN_ENDED;
    return is_final                                     ? node_outcome_name(target->outcome)
           : has_ended && run->record.is_canceled       ? "canceled"
           : run_target_is_silent(settings, run, index) ? "silent"
           : target->has_result                         ? node_outcome_name(target->outcome)
                                                        : "pending";
}

void run_nodes_get(ApiCall *call)
{
    const RunEntry *run = run_of_call(call);
    uint32_t limit, shown = 0;
    if (run == NULL ||
        !call_parameter_count(call, "limit", NODES_PAGE_DEFAULT, NODES_PAGE_MAX, &limit)) {
        return;
    }
    const ApiSettings *settings = call_settings(call);
    Str after = call_parameter(call, "after"), wanted = call_parameter(call, "outcome"),
        next = STR_EMPTY;
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.run-nodes/1");
    json_out_text(&json, "run", run->id);
    json_out_open(&json, "nodes", '[');
    for (uint32_t i = 0; i < run->record.target_count; i++) {
        Str node = run->record.targets[i];
        const char *outcome = outcome_name(settings, run, i);
        if (str_compare(node, after) <= 0 || (wanted.len > 0 && !str_eq_c(wanted, outcome))) {
            continue;
        }
        if (shown == limit) {
            break;
        }
        json_out_open(&json, NULL, '{');
        json_out_text(&json, "node", node);
        json_out_text(&json, "outcome", str_from_c(outcome));
        put_target(&json, &call->arena, settings, run, i);
        json_out_close(&json, '}');
        next = ++shown == limit ? node : STR_EMPTY;
    }
    json_out_close(&json, ']');
    if (next.len > 0) {
        json_out_text(&json, "next", next);
    } else {
        json_out_null(&json, "next");
    }
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}
