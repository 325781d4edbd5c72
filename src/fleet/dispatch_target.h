/* The state of a target as far as servers know it: from its result, its order and its session. */
#pragma once

#include "fleet/dispatch_plan.h"
#include "fleet/runs.h"
#include "membership/roster.h"

/* `node` is NULL if the target is no longer a node of the cluster. */
DispatchTarget dispatch_target(const RunEntry *run, uint32_t index, const RosterNode *node,
                               int64_t now_ms);
/* The setting `lost_node_timeout` of Config, as of the state. */
int64_t dispatch_lost_ms(const ClusterStore *cluster_store);
/* Until when a run in progress waits for a target without a session; `lost_ms` is that setting. */
int64_t dispatch_waits_until_ms(const RunEntry *run, const DispatchTarget *target, int64_t lost_ms,
                                int64_t now_ms);
/* Until when the order of a silent target of a canceled run is kept, in case the target
 * reconnects. */
int64_t dispatch_stops_until_ms(const DispatchTarget *target, int64_t lost_ms, int64_t now_ms);
