#include "service/runs_service.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/stored_object.h"
#include "fleet/run_logs_limit.h"
#include "rpc/run_append.h"

enum {
    SWEEP_FIRST_MS = 60 * 1000,
    SWEEP_MS = 5 * 60 * 1000,
    MIB = 1 << 20,
    OPEN_COST = 1 << 20, /* in bytes of events: a log that is not in memory has to be read first */
};

struct RunsService {
    ClusterStore cluster_store;
    const FleetRuns *runs;
    RunLogs *logs;
    NodeBudgets *budgets;
    LoopTimer sweep;
    uint64_t removed; /* logs that were removed because all together were too large */
};

/* A call that waits until its events are durable; it may end before that. */
typedef struct AppendCall {
    GrpcCall *call; /* NULL once the call has ended */
} AppendCall;

static void on_appended(void *context, uint64_t next, const Error *err)
{
    AppendCall *append = context;
    GrpcCall *call = append->call;
    AUTO_CLEAR(Buf) reply = buf_make(BUF_UNLIMITED);
    Error failure;
    free(append);
    if (call == NULL) {
        return;
    }
    grpc_call_set_data(call, NULL);
    run_append_reply_encode(next, &reply);
    if (err == NULL) {
        err = grpc_call_send(call, buf_str(&reply), &failure) ? NULL : &failure;
    }
    if (err == NULL) {
        grpc_call_finish(call, GRPC_OK, STR_EMPTY);
    } else {
        grpc_call_fail(call, err);
    }
}

/* A node may only write to the logs of runs that it is a target of, and until it has reported the
 * final result, which it does when all events are stored. */
static bool check_target(const RunsService *service, const RunAppend *request, Str node, Error *err)
{
    uint32_t index;
    const RunEntry *run = fleet_runs_find(service->runs, request->run);
    if (run == NULL || !run_entry_target(run, node, &index)) {
        return error_set(err, ERROR_NOT_FOUND,
                         "run '%" STR_FMT "' not found, or '%" STR_FMT
                         "' is not one of its targets",
                         STR_ARG(request->run), STR_ARG(node));
    }
    const RunTarget *target = &run->targets[index];
    return !target->has_result || !node_outcome_is_final(target->outcome) ||
           error_set(err, ERROR_CONFLICT,
                     "'%" STR_FMT "' has already reported the result of the run", STR_ARG(node));
}

static bool check_budget(const RunsService *service, const RunAppend *request, Str node, Error *err)
{
    NodeBudget *budget = node_budget_of(service->budgets, node);
    int64_t cost = (int64_t)request->lines.len + NODE_RECORD_COST +
                   (run_logs_is_open(service->logs, request->run) ? 0 : OPEN_COST);
    if (node_budget_allows_events(budget, cost)) {
        return true;
    }
    if (node_budget_allows_log(budget)) {
        log_warning("a node exceeds its rate of run events", LOG_STR("node", node));
    }
    return error_set(err, ERROR_LIMIT, "node '%" STR_FMT "' exceeds its rate of run events",
                     STR_ARG(node));
}

static void on_append(GrpcCall *call, Str message)
{
    const RunsService *service = dispatch_data(call);
    Str node = str_from_c(grpc_call_peer(call)->tls.identity.node);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    RunAppend request;
    Error err;
    if (!run_append_decode(&arena, message, &request, &err) ||
        !check_target(service, &request, node, &err) ||
        !check_budget(service, &request, node, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    AppendCall *append = memory_new(sizeof *append);
    append->call = call;
    RunLogLines lines = { request.run, node, request.from, request.lines };
    if (!run_logs_append(service->logs, &lines, on_appended, append, &err)) {
        free(append);
        grpc_call_fail(call, &err);
        return;
    }
    grpc_call_set_data(call, append);
}

static void append_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    AppendCall *append = grpc_call_data(call);
    if (append != NULL) {
        append->call = NULL;
    }
}

static const GrpcHandler append_handler = { .message = on_append, .ended = append_ended };

/* --- Lifecycle ------------------------------------------------------------------------------- */

static bool run_exists(void *context, Str run)
{
    const RunsService *service = context;
    return fleet_runs_find(service->runs, run) != NULL;
}

static bool has_ended(void *context, Str run)
{
    const RunsService *service = context;
    const RunEntry *entry = fleet_runs_find(service->runs, run);
    return entry == NULL || entry->record.state == RUN_ENDED;
}

/* Maximum size of all logs in bytes. */
static int64_t log_limit(const RunsService *service)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    int64_t mib = value_get_int(cluster_settings(&arena, &service->cluster_store), "run_logs_mib");
    return mib > 0 ? mib * MIB : run_logs_limit_default(service->logs);
}

static void on_sweep(void *context)
{
    RunsService *service = context;
    bool is_current = fleet_runs_are_current(service->runs);
    if (is_current) { /* an outdated state is no reason to delete a log */
        run_logs_sweep(service->logs, run_exists, service);
        service->removed +=
            run_logs_limit(service->logs, log_limit(service),
                           loop_wall_ms(service->cluster_store.loop), has_ended, service);
    }
    loop_timer_start(&service->sweep, is_current ? SWEEP_MS : SWEEP_FIRST_MS);
}

RunLogUsage runs_service_log_usage(const RunsService *service)
{
    return (RunLogUsage){ .bytes = run_logs_bytes(service->logs),
                          .limit = log_limit(service),
                          .removed = service->removed };
}

RunsService *runs_service_new(const ClusterStore *cluster_store, const FleetRuns *runs,
                              RunLogs *logs, NodeBudgets *budgets)
{
    RunsService *service = memory_new(sizeof *service);
    *service = (RunsService){
        .cluster_store = *cluster_store, .runs = runs, .logs = logs, .budgets = budgets
    };
    loop_timer_init(&service->sweep, cluster_store->loop, on_sweep, service);
    loop_timer_start(&service->sweep, SWEEP_FIRST_MS);
    return service;
}

void runs_service_free(RunsService *service)
{
    if (service != NULL) {
        loop_timer_stop(&service->sweep);
        free(service);
    }
}

MethodBinding runs_service_binding(RunsService *service)
{
    return (MethodBinding){ METHOD_RUNS_APPEND, &append_handler, service };
}
