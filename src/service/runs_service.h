/* The service eden.v1.Runs: nodes upload the events of their runs. Loop thread only. */
#pragma once

#include "fleet/run_logs.h"
#include "fleet/runs.h"
#include "rpc/dispatch.h"
#include "service/node_budget.h"

typedef struct RunsService RunsService;

/* Also periodically deletes the logs of runs that no longer exist, and the oldest ones if all
 * together are larger than the setting `run_logs_mib` of Config. All must outlive the service. */
RunsService *runs_service_new(const ClusterStore *cluster_store, const FleetRuns *runs,
                              RunLogs *logs, NodeBudgets *budgets);
typedef struct RunLogUsage {
    int64_t bytes, limit; /* of all logs on the disk of this server */
    uint64_t removed;     /* logs removed to stay within the limit, since the service started */
} RunLogUsage;

RunLogUsage runs_service_log_usage(const RunsService *service);
/* Must be called after freeing the servers that use it and before closing the logs. NULL is
 * allowed. */
void runs_service_free(RunsService *service);
DEFINE_AUTO(RunsService, runs_service_free)

MethodBinding runs_service_binding(RunsService *service);
