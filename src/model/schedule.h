/* Which step may run now. A pure state machine: it is fed results and hands out work, knows no
 * time, never blocks, and decides the same for the same results in the same order.
 *
 *     Schedule *schedule = schedule_new(arena, graph, MODE_JUSTDOIT, workers);
 *     while (!schedule_is_finished(schedule)) {
 *         while (schedule_next(schedule, &work)) {
 *             Decision decision = decide(graph, work, schedule_statuses(schedule), ..);
 *             ... not DECIDE_RUN: schedule_done at once, with what follows from the decision
 *             ... DECIDE_RUN: start it; its end calls schedule_done
 *             ... its own condition says "not yet": schedule_park, and schedule_requeue later
 *         }
 *         ... wait for an end or a timer
 *     }
 *
 * What was handed out holds one of the workers until it is done or parked; actions whose row says
 * `waits` hold none. When nothing runs, nothing is parked and schedule_next answers false, the
 * schedule is finished. */
#pragma once

#include "model/decide.h"

typedef enum OrderMode {
    MODE_ANSIBLE,  /* one after another, in file order after requisites */
    MODE_JUSTDOIT, /* everything whose requisites allow it, at once */
    MODE_GENIUS,   /* the same, what others wait for longest first, and early stages before late */
} OrderMode;
const char *order_mode_name(OrderMode mode);
bool order_mode_from_name(Str name, OrderMode *out);

typedef struct Schedule Schedule;

/* `workers` is at least 1; mode `ansible` hands out one at a time whatever it is. */
Schedule *schedule_new(Arena *arena, const Graph *graph, OrderMode mode, uint32_t workers);

/* Says of a step, before the run, what it owes from an earlier one (StepStatus.owed). */
void schedule_set_owed(Schedule *schedule, uint32_t step, uint16_t owed);

/* The next work, or false when there is none now. Each run and each check is handed out once, all
 * that it depends on done before; reactions at the end only to steps that shall react. */
bool schedule_next(Schedule *schedule, Work *out);
enum {
    JOIN_MAX = 1000 /* works in one transaction, beside the first */
};
/* Further ready work that may join `first`, the last one handed out, in one transaction: same
 * action, with .merge, same phase. At most JOIN_MAX, the most urgent first; each takes no further
 * worker and is done by itself. Mode genius only. */
uint32_t schedule_join(Schedule *schedule, Work first, Work *out);

/* How it ended. PHASE_RUN: `result` is final. PHASE_CHECK: `pending` says what was found; with
 * RESULT_FAILED the step has failed and its run is not handed out. PHASE_REACT: the status as it
 * is then. `owed` is left as it was. */
void schedule_done(Schedule *schedule, Work work, const StepStatus *status);
/* It waits for something outside; its worker is free for others, who go on unless they depend on
 * it. It is later requeued, or done. */
void schedule_park(Schedule *schedule, Work work);
/* A parked work is ready again, and is handed out as soon as its place in the order allows. */
void schedule_requeue(Schedule *schedule, Work work);

bool schedule_is_finished(const Schedule *schedule);
const StepStatus *schedule_statuses(const Schedule *schedule); /* one for each step */
