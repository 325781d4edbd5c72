#include "fleet/dispatch_plan.h"

static bool is_final(const DispatchTarget *target)
{
    return target->has_result && node_outcome_is_final(target->outcome);
}

bool dispatch_is_silent(const DispatchTarget *target)
{
    return !is_final(target) && (!target->is_member || target->silent_ms >= DISPATCH_SILENT_MS);
}

static int64_t lost_ms(const DispatchRun *run)
{
    return run->lost_ms > 0 ? run->lost_ms : DISPATCH_LOST_MS;
}

int64_t dispatch_wait_ms(const DispatchRun *run, const DispatchTarget *target)
{
    bool may_return = target->has_result && run->canceled_revision == 0;
    return !target->is_member ? 0 : may_return ? lost_ms(run) : DISPATCH_SILENT_MS;
}

/* The target will not report a result: the run was canceled before its order was written, or the
 * order was withdrawn, possibly during delivery. A node does not start a run whose order was
 * withdrawn. Only valid after all orders have been written. */
static bool will_not_report(const DispatchTarget *target)
{
    return target->order_revision == 0 && (!target->has_result || target->outcome == NODE_WAITING);
}

static bool is_given_up(const DispatchRun *run, const DispatchTarget *target)
{
    return !is_final(target) &&
           (!target->is_member || target->silent_ms >= dispatch_wait_ms(run, target));
}

/* Collects the targets for which `needs` is true. Returns whether there are any. */
static bool collect(const DispatchRun *run, const DispatchTarget *targets, uint32_t count,
                    bool (*needs)(const DispatchRun *run, const DispatchTarget *target),
                    DispatchStep *out)
{
    out->target_count = 0;
    for (uint32_t i = 0; i < count && out->target_count < DISPATCH_BATCH_MAX; i++) {
        if (needs(run, &targets[i])) {
            out->targets[out->target_count++] = i;
        }
    }
    return out->target_count > 0;
}

static bool needs_order(const DispatchRun *run, const DispatchTarget *target)
{
    return target->is_member && !target->has_result && target->order_revision == 0;
}

static bool needs_cancel(const DispatchRun *run, const DispatchTarget *target)
{
    return !is_final(target) && target->order_revision > 0 &&
           target->order_revision < run->canceled_revision;
}

/* A final result deletes the order, but an order that was written at the same time may remain. */
static bool has_leftover_order(const DispatchRun *run, const DispatchTarget *target)
{
    return target->order_revision > 0 && is_final(target);
}

/* How long the order of a silent target is kept. The order of a canceled run is kept longer than
 * the run: the node may be executing the run without a session, and the order stops it when the
 * node reconnects. */
static int64_t order_timeout_ms(const DispatchRun *run, const DispatchTarget *target)
{
    return target->is_member && run->canceled_revision > 0 ? lost_ms(run)
                                                           : dispatch_wait_ms(run, target);
}

static bool is_abandoned(const DispatchRun *run, const DispatchTarget *target)
{
    return target->order_revision > 0 && !is_final(target) &&
           (!target->is_member || target->silent_ms >= order_timeout_ms(run, target));
}

static void set_earliest(int64_t delay_ms, int64_t *next_ms)
{
    *next_ms = *next_ms == 0 || delay_ms < *next_ms ? delay_ms : *next_ms;
}

/* Time until the next silent target is given up; 0: no target is silent. */
static int64_t next_silence_ms(const DispatchRun *run, const DispatchTarget *targets,
                               uint32_t count)
{
    int64_t next_ms = 0;
    for (uint32_t i = 0; i < count; i++) {
        const DispatchTarget *target = &targets[i];
        if (!is_final(target) && !will_not_report(target) && !is_given_up(run, target) &&
            target->silent_ms >= 0) {
            set_earliest(dispatch_wait_ms(run, target) - target->silent_ms, &next_ms);
        }
    }
    return next_ms;
}

/* Time until the next order of a silent target is withdrawn; 0: there is none. */
static int64_t next_withdrawal_ms(const DispatchRun *run, const DispatchTarget *targets,
                                  uint32_t count)
{
    int64_t next_ms = 0;
    for (uint32_t i = 0; i < count; i++) {
        const DispatchTarget *target = &targets[i];
        if (!is_final(target) && target->order_revision > 0 && target->silent_ms >= 0) {
            set_earliest(order_timeout_ms(run, target) - target->silent_ms, &next_ms);
        }
    }
    return next_ms;
}

static bool has_ended(const DispatchRun *run, const DispatchTarget *targets, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!is_final(&targets[i]) && !will_not_report(&targets[i]) &&
            !is_given_up(run, &targets[i])) {
            return false;
        }
    }
    return true;
}

void dispatch_plan(const DispatchRun *run, const DispatchTarget *targets, uint32_t count,
                   DispatchStep *out)
{
    *out = (DispatchStep){ .action = DISPATCH_WAIT };
    bool is_canceled = run->canceled_revision > 0;
    if (collect(run, targets, count, has_leftover_order, out)) {
        out->action = DISPATCH_WITHDRAW;
    } else if (run->state == RUN_PENDING && !is_canceled &&
               collect(run, targets, count, needs_order, out)) {
        out->action = DISPATCH_ORDER;
    } else if (run->state == RUN_PENDING) {
        out->action = DISPATCH_RUNNING;
    } else if (is_canceled && collect(run, targets, count, needs_cancel, out)) {
        out->action = DISPATCH_ORDER;
    } else if (run->state == RUN_RUNNING && !has_ended(run, targets, count)) {
        out->wait_ms = next_silence_ms(run, targets, count);
    } else if ((run->cause == RUN_BY_CALLER || run->is_superseded || is_canceled) &&
               collect(run, targets, count, is_abandoned, out)) {
        out->action = DISPATCH_WITHDRAW;
    } else if (run->state == RUN_RUNNING) {
        out->action = DISPATCH_END;
    } else if (is_canceled) {
        out->wait_ms = next_withdrawal_ms(run, targets, count);
    }
}
