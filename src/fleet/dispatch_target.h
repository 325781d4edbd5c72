/* The state of a target as far as servers know it: from its result, its order and its session. Pure. */
#pragma once

#include "fleet/dispatch_plan.h"
#include "fleet/runs.h"
#include "membership/roster.h"

/* `node` is NULL if the target is not a node of the cluster any more. */
DispatchTarget dispatch_target(const RunEntry *run, uint32_t index, const RosterNode *node,
                               int64_t now_ms);
/* Until when a run in progress waits for a target without a session. */
int64_t dispatch_waits_until_ms(const RunEntry *run, const DispatchTarget *target, int64_t now_ms);
