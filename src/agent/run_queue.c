#include "agent/run_queue.h"

enum {
    LANE_SITES,
    LANE_COMMANDS,
    QUEUE_KIND_COUNT,
};

static unsigned queue_of(const QueueRun *run)
{
    return run->order->kind == RUN_KIND_EXEC ? LANE_COMMANDS : LANE_SITES;
}

static QueueAction wait_until(int64_t ms)
{
    return (QueueAction){ .kind = QUEUE_WAIT, .check_ms = ms };
}

static QueueAction finish_with(NodeOutcome outcome, const char *reason)
{
    return (QueueAction){ .kind = QUEUE_STORE_RESULT, .outcome = outcome, .reason = reason };
}

static QueueAction requeue(bool counts)
{
    return (QueueAction){ .kind = QUEUE_REQUEUE, .counts = counts };
}

/* For a command, the runner enforces the limit (local_run.h). */
static int64_t timeout_at(const QueueRun *run)
{
    int64_t more_ms = run->order->kind == RUN_KIND_EXEC ? QUEUE_CANCEL_MS : 0;
    return run->order->timeout_ms > 0 &&
                   run->order->timeout_ms < INT64_MAX - run->started_ms - more_ms
               ? run->started_ms + run->order->timeout_ms + more_ms
               : INT64_MAX;
}

static bool is_timed_out(const QueueRun *run, int64_t now_ms)
{
    return now_ms >= timeout_at(run);
}

static QueueAction decide_running(const QueueRun *run, int64_t now_ms)
{
    bool is_late = is_timed_out(run, now_ms);
    bool is_urgent = is_late || run->order->is_urgent;
    int64_t grace_ms = run->signals > 1 ? QUEUE_STOP_MS : is_urgent ? 0 : QUEUE_CANCEL_MS;
    if (!run->order->is_canceled && !is_late) {
        return wait_until(timeout_at(run));
    }
    if (run->signals > 0 && now_ms < run->signaled_ms + grace_ms) {
        return wait_until(run->signaled_ms + grace_ms);
    }
    return (QueueAction){ .kind = run->signals > 1                 ? QUEUE_KILL
                                  : run->signals == 1 || is_urgent ? QUEUE_STOP
                                                                   : QUEUE_INTERRUPT };
}

/* The runner has exited without the last event. If this agent was watching it, the machine and the
 * agent were not the cause, and it would happen again. A command is never repeated: it may be the
 * one that restarts the machine. */
static QueueAction decide_lost(const QueueRun *run, int64_t now_ms)
{
    if (run->order->is_canceled) {
        return finish_with(NODE_CANCELED, "");
    }
    if (run->was_watched && is_timed_out(run, now_ms)) {
        return finish_with(NODE_FAILED, "it exceeded its time limit");
    }
    if (run->was_watched) {
        return finish_with(NODE_FAILED, "");
    }
    if (run->order->kind == RUN_KIND_EXEC && run->tail != TAIL_NONE) {
        return finish_with(NODE_FAILED, "it was interrupted, and commands are not repeated");
    }
    if (run->interruptions + 1 >= QUEUE_ATTEMPTS_MAX) {
        return finish_with(NODE_FAILED, "it was interrupted too often");
    }
    return requeue(true);
}

static QueueAction decide_exited(const QueueRun *run, int64_t now_ms)
{
    QueueAction end = { .kind = QUEUE_STORE_LAST_RESULT, .outcome = NODE_OK };
    if (run->tail == TAIL_INTERRUPTED && run->order->is_canceled) {
        end.outcome = NODE_CANCELED;
    } else if (run->tail == TAIL_INTERRUPTED && is_timed_out(run, now_ms)) {
        end.reason = "it exceeded its time limit";
    }
    switch (run->tail) {
    case TAIL_ENDED: return end;
    case TAIL_INTERRUPTED:
        return run->was_watched || run->signals > 0 || run->order->is_canceled
                   ? end
                   : decide_lost(run, now_ms);
    case TAIL_REBOOTING:
        if (run->order->is_canceled) {
            return finish_with(NODE_CANCELED, "");
        }
        return run->is_same_boot && now_ms < run->reboot_ms + QUEUE_REBOOT_MS
                   ? wait_until(run->reboot_ms + QUEUE_REBOOT_MS)
                   : requeue(false);
    case TAIL_NONE:
    case TAIL_OPEN: break;
    }
    return run->is_locked && run->tail == TAIL_NONE ? requeue(false) : decide_lost(run, now_ms);
}

/* Whether the run is the first of its queue. */
static QueueAction decide_first(const QueueView *view, const QueueRun *run)
{
    switch (run->site) {
    case SITE_MISSING: return (QueueAction){ .kind = QUEUE_FETCH };
    case SITE_FETCHING: return wait_until(INT64_MAX);
    case SITE_FAILED:
        return view->now_ms >= run->fetched_ms + QUEUE_FETCH_MS
                   ? (QueueAction){ .kind = QUEUE_FETCH }
                   : wait_until(run->fetched_ms + QUEUE_FETCH_MS);
    case SITE_UNNEEDED:
    case SITE_READY: break;
    }
    return run->order->kind == RUN_KIND_APPLY && view->is_locked
               ? wait_until(view->now_ms + QUEUE_LOCK_MS)
               : (QueueAction){ .kind = QUEUE_START };
}

static QueueAction decide_accepted(const QueueView *view, const QueueRun *run, bool is_first)
{
    const Order *order = run->order;
    if (run->is_withdrawn && run->attempts == 0) {
        return (QueueAction){ .kind = QUEUE_FORGET };
    }
    if (order->is_canceled) {
        return finish_with(NODE_CANCELED, "it was canceled before it started");
    }
    if (order->expires_ms > 0 && run->attempts == 0) {
        if (view->now_ms >= order->expires_ms) {
            return finish_with(NODE_SKIPPED, "the order expired before it could start");
        }
        QueueAction action = is_first ? decide_first(view, run) : wait_until(INT64_MAX);
        if (action.kind == QUEUE_WAIT && action.check_ms > order->expires_ms) {
            action.check_ms = order->expires_ms;
        }
        return action;
    }
    return is_first ? decide_first(view, run) : wait_until(INT64_MAX);
}

static QueueAction decide_one(const QueueView *view, const QueueRun *run, bool is_first)
{
    switch (run->phase) {
    case QUEUE_ACCEPTED: return decide_accepted(view, run, is_first);
    case QUEUE_STARTED:
        return run->has_runner ? decide_running(run, view->now_ms)
                               : decide_exited(run, view->now_ms);
    case QUEUE_ENDED: break;
    }
    return wait_until(INT64_MAX);
}

/* The current run of a queue: the one that has started, otherwise the oldest. */
static uint32_t first_of(const QueueView *view, unsigned queue)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t i = 0; i < view->count; i++) {
        const QueueRun *run = &view->runs[i];
        if (queue_of(run) != queue) {
            continue;
        }
        if (run->phase == QUEUE_STARTED) {
            return i;
        }
        first = run->phase == QUEUE_ACCEPTED && first == UINT32_MAX ? i : first;
    }
    return first;
}

QueueAction queue_decide(const QueueView *view)
{
    uint32_t first[QUEUE_KIND_COUNT];
    QueueAction rest = wait_until(INT64_MAX);
    for (unsigned queue = 0; queue < QUEUE_KIND_COUNT; queue++) {
        first[queue] = first_of(view, queue);
    }
    for (uint32_t i = 0; i < view->count; i++) {
        const QueueRun *run = &view->runs[i];
        QueueAction action = decide_one(view, run, first[queue_of(run)] == i);
        action.run = i;
        if (action.kind != QUEUE_WAIT) {
            return action;
        }
        rest.check_ms = action.check_ms < rest.check_ms ? action.check_ms : rest.check_ms;
    }
    return rest;
}

QueueWait queue_wait(const QueueView *view, uint32_t run, uint32_t *blocking_run)
{
    const QueueRun *it = &view->runs[run];
    uint32_t first = first_of(view, queue_of(it));
    *blocking_run = UINT32_MAX;
    if (first != run) {
        *blocking_run = first;
        return WAIT_RUN;
    }
    if (it->site != SITE_UNNEEDED && it->site != SITE_READY) {
        return WAIT_SITE;
    }
    return it->order->kind == RUN_KIND_APPLY && view->is_locked ? WAIT_LOCK : WAIT_NONE;
}
