#include "fleet/dispatch_target.h"

#include "cluster/stored_object.h"
#include "lang/duration.h"

DispatchTarget dispatch_target(const RunEntry *run, uint32_t index, const RosterNode *node,
                               int64_t now_ms)
{
    const RunTarget *target = &run->targets[index];
    /* If the start of the silence is unknown, time counts from the creation of the run. */
    int64_t since_ms = node != NULL && node->since_ms > 0 ? node->since_ms : run->record.created_ms;
    return (DispatchTarget){ .has_result = target->has_result,
                             .outcome = target->outcome,
                             .order_revision = target->order_revision,
                             .is_member = node != NULL,
                             .silent_ms = node != NULL && node->is_alive ? -1
                                          : now_ms > since_ms            ? now_ms - since_ms
                                                                         : 0 };
}

int64_t dispatch_lost_ms(const ClusterStore *cluster_store)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    int64_t lost_ms;
    Str text = value_get_text(cluster_settings(&arena, cluster_store), "lost_node_timeout");
    return duration_parse(text, &lost_ms) && lost_ms >= DISPATCH_SILENT_MS &&
                   lost_ms <= DISPATCH_LOST_MAX_MS
               ? lost_ms
               : DISPATCH_LOST_MS;
}

int64_t dispatch_waits_until_ms(const RunEntry *run, const DispatchTarget *target, int64_t lost_ms,
                                int64_t now_ms)
{
    DispatchRun planned = { .canceled_revision = run->record.is_canceled ? run->revision : 0,
                            .lost_ms = lost_ms };
    return now_ms - target->silent_ms + dispatch_wait_ms(&planned, target);
}

int64_t dispatch_stops_until_ms(const DispatchTarget *target, int64_t lost_ms, int64_t now_ms)
{
    return now_ms - target->silent_ms + lost_ms;
}
