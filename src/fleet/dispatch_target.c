#include "fleet/dispatch_target.h"

DispatchTarget dispatch_target(const RunEntry *run, uint32_t index, const RosterNode *node,
                               int64_t now_ms)
{
    const RunTarget *target = &run->targets[index];
    /* A node whose silence has no known start is given time from the creation of the run. */
    int64_t since_ms = node != NULL && node->since_ms > 0 ? node->since_ms : run->record.created_ms;
    return (DispatchTarget){ .has_result = target->has_result,
                             .outcome = target->outcome,
                             .order_revision = target->order_revision,
                             .is_member = node != NULL,
                             .silent_ms = node != NULL && node->is_alive ? -1
                                          : now_ms > since_ms            ? now_ms - since_ms
                                                                         : 0 };
}

int64_t dispatch_waits_until_ms(const RunEntry *run, const DispatchTarget *target, int64_t now_ms)
{
    DispatchRun planned = { .canceled_revision = run->record.is_canceled ? run->revision : 0 };
    return now_ms - target->silent_ms + dispatch_patience_ms(&planned, target);
}
