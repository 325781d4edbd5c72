/* Reads and prints the records of runs, orders and results. Unknown fields are preserved, because
 * servers and nodes may run different versions. */
#include "fleet/records.h"

#include <stdlib.h>

#include "lang/record.h"

/* --- Orders ----------------------------------------------------------------------------------- */

DEFINE_ENUM_NAMES(
    RunKind,
    run_kind, [RUN_KIND_APPLY] = "apply", [RUN_KIND_PLAN] = "plan", [RUN_KIND_EXEC] = "exec")

bool run_id_check(Str id, Error *err)
{
    bool ok = id.len > 0 && id.len <= RUN_ID_MAX && id.data[0] != '.';
    for (size_t i = 0; ok && i < id.len; i++) {
        char c = id.data[i];
        ok = ascii_is_alpha(c) || ascii_is_digit(c) || c == '-' || c == '_' || c == '.';
    }
    return ok || error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a run ID", STR_ARG(id));
}

bool manifest_id_check(Str id, Error *err)
{
    bool ok = id.len == 0 || id.len == MANIFEST_ID_TEXT;
    for (size_t i = 0; ok && i < id.len; i++) {
        ok = ascii_is_digit(id.data[i]) || (id.data[i] >= 'a' && id.data[i] <= 'f');
    }
    return ok || error_set(err, ERROR_INVALID,
                           "must be a SHA-256 digest in lowercase hexadecimal digits");
}

static bool check_command(RunKind kind, uint32_t command_count, Error *err)
{
    bool is_exec = kind == RUN_KIND_EXEC;
    return is_exec == (command_count > 0) ||
           error_set(err, ERROR_INVALID,
                     is_exec ? "no command" : "a command is valid only for exec");
}

static bool check_order(const void *record, Error *err)
{
    const Order *order = record;
    if (!check_command(order->kind, order->command_count, err)) {
        return false;
    }
    return order->kind == RUN_KIND_EXEC || order->manifest[0] != '\0' ||
           error_set(err, ERROR_INVALID, "no manifest of a site version");
}

static const RecordField order_fields[] = {
    { "run", RECORD_TEXT, RECORD_CHARS_AT(Order, run), .is_required = true,
      .check_text = run_id_check, .help = "ID of the run" },
    { "kind", RECORD_CHOICE, RECORD_ENUM_AT(Order, kind, run_kind), .is_required = true,
      .choices = "apply|plan|exec", .help = "what to do" },
    { "version", RECORD_TEXT, RECORD_CHARS_AT(Order, version), .help = "version of the site" },
    { "manifest", RECORD_TEXT, RECORD_CHARS_AT(Order, manifest), .check_text = manifest_id_check,
      .help = "SHA-256 of the manifest of the version" },
    { "jobs", RECORD_TEXT, RECORD_POINTER_AT(Order, jobs, job_count, ORDER_JOBS_MAX, Str, NULL),
      .help = "only these jobs; default: the base jobs of the node" },
    { "order", RECORD_TEXT, RECORD_STR_AT(Order, mode), .help = "order of the steps" },
    { "defines", RECORD_TEXT,
      RECORD_POINTER_AT(Order, defines, define_count, ORDER_JOBS_MAX, Str, NULL),
      .help = "variables, as KEY=VALUE or KEY:=JSON" },
    { "command", RECORD_TEXT,
      RECORD_POINTER_AT(Order, command, command_count, ORDER_COMMAND_MAX, Str, NULL),
      .help = "program and arguments to execute" },
    { "timeout_ms", RECORD_INT, RECORD_INT_AT(Order, timeout_ms), .max = INT64_MAX,
      .help = "time limit on the node" },
    { "created_ms", RECORD_INT, RECORD_INT_AT(Order, created_ms), .is_required = true,
      .help = "when the run was created" },
    { "expires_ms", RECORD_INT, RECORD_INT_AT(Order, expires_ms),
      .help = "the order is not started after this time" },
    { "canceled", RECORD_BOOL, RECORD_BOOL_AT(Order, is_canceled),
      .help = "whether the run was canceled" },
    { "cancel_now", RECORD_BOOL, RECORD_BOOL_AT(Order, is_urgent),
      .help = "canceled: whether running steps are stopped at once" },
    { "by", RECORD_TEXT, RECORD_STR_AT(Order, requested_by), .help = "who requested the run" },
    { "reason", RECORD_TEXT, RECORD_STR_AT(Order, reason), .max = FLEET_REASON_MAX, .help = "why" },
    { "event", RECORD_ANY, RECORD_VALUE_AT(Order, event), .help = "event that caused the run" },
    { RECORD_UNKNOWN_AT(Order, unknown) },
    { 0 },
};

static const RecordFormat order_format = {
    .format = "eden.order/1",
    .what = "an order",
    .fields = order_fields,
    .size = sizeof(Order),
    .text_max = ORDER_TEXT_MAX,
    .check = check_order,
};

void order_print(const Order *order, Buf *out)
{
    record_print(&order_format, order, out);
}

bool order_read(Arena *arena, Str text, Order *out, Error *err)
{
    return record_read(&order_format, arena, text, RECORD_STORED, out, err);
}

/* --- Results ---------------------------------------------------------------------------------- */

DEFINE_ENUM_NAMES(NodeOutcome, node_outcome, [NODE_WAITING] = "waiting", [NODE_RUNNING] = "running",
                  [NODE_OK] = "ok", [NODE_CHANGED] = "changed", [NODE_FAILED] = "failed",
                  [NODE_SKIPPED] = "skipped", [NODE_CANCELED] = "canceled")

bool node_outcome_is_final(NodeOutcome outcome)
{
    return outcome != NODE_WAITING && outcome != NODE_RUNNING;
}

#define COUNT_FIELD(member, text)                                                               \
    {                                                                                           \
#member, RECORD_INT, RECORD_INT_AT(StepCounts, member), .max = UINT32_MAX,              \
                                                                .help = "number of steps " text \
    }
static const RecordField count_fields[] = {
    COUNT_FIELD(ok, "that were already correct"),
    COUNT_FIELD(changed, "that changed something"),
    COUNT_FIELD(failed, "that failed"),
    COUNT_FIELD(skipped, "that were skipped"),
    COUNT_FIELD(blocked, "that require a failed one"),
    COUNT_FIELD(waiting, "that were still waiting"),
    COUNT_FIELD(unknown, "whose result a plan cannot know"),
    { 0 },
};

static const RecordField result_fields[] = {
    { "outcome", RECORD_CHOICE, RECORD_ENUM_AT(NodeResult, outcome, node_outcome),
      .is_required = true, .choices = "waiting|running|ok|changed|failed|skipped|canceled",
      .help = "outcome on this node" },
    { "reason", RECORD_TEXT, RECORD_STR_AT(NodeResult, reason), .max = FLEET_REASON_MAX,
      .help = "why" },
    { "counts", RECORD_OBJECT, RECORD_STRUCT_AT(NodeResult, counts, StepCounts, count_fields),
      .help = "steps by result" },
    { "step", RECORD_TEXT, RECORD_STR_AT(NodeResult, step), .max = NODE_ERROR_MAX,
      .help = "first failed step" },
    { "code", RECORD_TEXT, RECORD_STR_AT(NodeResult, code), .max = NODE_DIGEST_TEXT,
      .help = "code of its error" },
    { "error", RECORD_TEXT, RECORD_STR_AT(NodeResult, error), .max = NODE_ERROR_MAX,
      .help = "its error message" },
    { "since_ms", RECORD_INT, RECORD_INT_AT(NodeResult, since_ms), .is_required = true,
      .help = "when this outcome was reported" },
    { "started_ms", RECORD_INT, RECORD_INT_AT(NodeResult, started_ms), .help = "start of the run" },
    { "ended_ms", RECORD_INT, RECORD_INT_AT(NodeResult, ended_ms), .help = "end of the run" },
    { "attempts", RECORD_INT, RECORD_INT_AT(NodeResult, attempts), .max = UINT32_MAX,
      .help = "number of times the run was started on this node" },
    { "logged", RECORD_INT, RECORD_INT_AT(NodeResult, logged), .help = "number of log events" },
    { "digest", RECORD_TEXT, RECORD_CHARS_AT(NodeResult, digest),
      .help = "equal for equal changes" },
    { RECORD_UNKNOWN_AT(NodeResult, unknown) },
    { 0 },
};

static const RecordFormat result_format = {
    .format = "eden.node-result/1",
    .what = "the result of a run on a node",
    .fields = result_fields,
    .size = sizeof(NodeResult),
    .text_max = NODE_RESULT_MAX,
};

void node_result_print(const NodeResult *result, Buf *out)
{
    record_print(&result_format, result, out);
}

bool node_result_read(Arena *arena, Str text, NodeResult *out, Error *err)
{
    return record_read(&result_format, arena, text, RECORD_STORED, out, err);
}

/* --- Runs ------------------------------------------------------------------------------------- */

DEFINE_ENUM_NAMES(
    FleetRunState,
    fleet_run_state, [RUN_PENDING] = "pending", [RUN_RUNNING] = "running", [RUN_ENDED] = "ended")
DEFINE_ENUM_NAMES(RunCause, run_cause, [RUN_BY_CALLER] = "caller", [RUN_BY_VERSION] = "version")

static bool check_run(const void *record, Error *err)
{
    const FleetRun *run = record;
    for (uint32_t i = 1; i < run->target_count; i++) {
        if (str_compare(run->targets[i - 1], run->targets[i]) >= 0) {
            return error_set(err, ERROR_INVALID, "its targets are not sorted");
        }
    }
    return check_command(run->kind, run->command_count, err); /* or nodes reject its order */
}

static const RecordField run_fields[] = {
    { "id", RECORD_TEXT, RECORD_CHARS_AT(FleetRun, id), .is_required = true,
      .check_text = run_id_check, .help = "ID of the run" },
    { "kind", RECORD_CHOICE, RECORD_ENUM_AT(FleetRun, kind, run_kind), .is_required = true,
      .choices = "apply|plan|exec", .help = "what its targets execute" },
    { "cause", RECORD_CHOICE, RECORD_ENUM_AT(FleetRun, cause, run_cause), .is_required = true,
      .choices = "caller|version", .help = "what started it" },
    { "state", RECORD_CHOICE, RECORD_ENUM_AT(FleetRun, state, fleet_run_state), .is_required = true,
      .choices = "pending|running|ended", .help = "its state" },
    { "by", RECORD_TEXT, RECORD_STR_AT(FleetRun, requested_by), .is_required = true,
      .help = "who requested it" },
    { "reason", RECORD_TEXT, RECORD_STR_AT(FleetRun, reason), .max = FLEET_REASON_MAX,
      .help = "why" },
    { "selector", RECORD_TEXT, RECORD_STR_AT(FleetRun, selector),
      .help = "selector that the targets matched when the run was created" },
    { "targets", RECORD_TEXT,
      RECORD_POINTER_AT(FleetRun, targets, target_count, FLEET_TARGETS_MAX, Str, NULL),
      .is_printed = true, .help = "its nodes, sorted by name" },
    { "version", RECORD_TEXT, RECORD_CHARS_AT(FleetRun, version), .help = "version of the site" },
    { "manifest", RECORD_TEXT, RECORD_CHARS_AT(FleetRun, manifest), .check_text = manifest_id_check,
      .help = "SHA-256 of the manifest of the version" },
    { "jobs", RECORD_TEXT, RECORD_POINTER_AT(FleetRun, jobs, job_count, ORDER_JOBS_MAX, Str, NULL),
      .help = "only these jobs" },
    { "order", RECORD_TEXT, RECORD_STR_AT(FleetRun, mode), .help = "order of the steps" },
    { "defines", RECORD_TEXT,
      RECORD_POINTER_AT(FleetRun, defines, define_count, ORDER_JOBS_MAX, Str, NULL),
      .help = "variables, as KEY=VALUE or KEY:=JSON" },
    { "command", RECORD_TEXT,
      RECORD_POINTER_AT(FleetRun, command, command_count, ORDER_COMMAND_MAX, Str, NULL),
      .help = "program and arguments" },
    { "retry_of", RECORD_TEXT, RECORD_CHARS_AT(FleetRun, retry_of),
      .help = "the run whose failed targets it repeats" },
    { "timeout_ms", RECORD_INT, RECORD_INT_AT(FleetRun, timeout_ms),
      .help = "time limit per node" },
    { "event", RECORD_ANY, RECORD_VALUE_AT(FleetRun, event), .help = "event that caused it" },
    { "created_ms", RECORD_INT, RECORD_INT_AT(FleetRun, created_ms), .is_required = true,
      .help = "when it was created" },
    { "ended_ms", RECORD_INT, RECORD_INT_AT(FleetRun, ended_ms), .help = "when it ended" },
    { "canceled", RECORD_BOOL, RECORD_BOOL_AT(FleetRun, is_canceled),
      .help = "whether it was canceled" },
    { "cancel_now", RECORD_BOOL, RECORD_BOOL_AT(FleetRun, is_urgent),
      .help = "whether running steps are stopped at once" },
    { RECORD_UNKNOWN_AT(FleetRun, unknown) },
    { 0 },
};

static const RecordFormat run_format = {
    .format = "eden.fleet-run/1",
    .what = "the record of a run",
    .fields = run_fields,
    .size = sizeof(FleetRun),
    .text_max = FLEET_RUN_MAX,
    .check = check_run,
};

Order fleet_run_order(const FleetRun *run)
{
    Order order = { .kind = run->kind,
                    .jobs = run->jobs,
                    .job_count = run->job_count,
                    .mode = run->mode,
                    .defines = run->defines,
                    .define_count = run->define_count,
                    .command = run->command,
                    .command_count = run->command_count,
                    .timeout_ms = run->timeout_ms,
                    .created_ms = run->created_ms,
                    .is_canceled = run->is_canceled,
                    .is_urgent = run->is_urgent,
                    .requested_by = run->requested_by,
                    .reason = run->reason,
                    .event = run->event };
    memcpy(order.run, run->id, sizeof order.run);
    memcpy(order.version, run->version, sizeof order.version);
    memcpy(order.manifest, run->manifest, sizeof order.manifest);
    return order;
}

void fleet_run_print(const FleetRun *run, Buf *out)
{
    record_print(&run_format, run, out);
}

bool fleet_run_read(Arena *arena, Str text, FleetRun *out, Error *err)
{
    return record_read(&run_format, arena, text, RECORD_STORED, out, err);
}
