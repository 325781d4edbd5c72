/* Determines which step may run now. A pure state machine: it receives results and hands out work,
 * has no clock, never blocks, and gives the same answers for the same results in the same order.
 *
 *     Schedule *schedule = schedule_new(arena, graph, MODE_JUSTDOIT, workers);
 *     while (!schedule_is_finished(schedule)) {
 *         while (schedule_next(schedule, &work)) {
 *             Decision decision = decide(graph, work, schedule_statuses(schedule), ..);
 *             ... not DECIDE_RUN: schedule_done immediately, with the result of the decision
 *             ... DECIDE_RUN: start it; its completion calls schedule_done
 *             ... its own condition says "not yet": schedule_park, and schedule_requeue later
 *         }
 *         ... wait for a completion or a timer
 *     }
 *
 * Work that was handed out occupies a worker until it is done or parked; actions whose row has
  * `may_sleep` occupy none. When nothing runs, nothing is parked and schedule_next returns false, the
 * schedule is finished. */
#pragma once

#include "model/decide.h"

typedef enum OrderMode {
    MODE_ANSIBLE,  /* sequentially, in file order after requisites */
    MODE_JUSTDOIT, /* everything whose requisites allow it, in parallel */
    MODE_GENIUS,   /* the same, longest chains first, and early stages before late ones */
} OrderMode;
const char *order_mode_name(OrderMode mode);
bool order_mode_from_name(Str name, OrderMode *out);

typedef struct Schedule Schedule;

/* `workers` is at least 1; mode `ansible` always hands out one at a time. */
Schedule *schedule_new(Arena *arena, const Graph *graph, OrderMode mode, uint32_t workers);

/* Sets, before the run, what a step owes from an earlier one (StepStatus.owed). */
void schedule_set_owed(Schedule *schedule, uint32_t step, uint16_t owed);

/* Hands out the next work; returns false if nothing is ready now. Each run and each check is handed out once, after
 * all its dependencies are done; reactions at the end only for steps that react. */
bool schedule_next(Schedule *schedule, Work *out);
enum {
    JOIN_MAX = 1000 /* work items in one transaction, in addition to the first */
};
/* Other ready work that can join `first`, the last one handed out, in one transaction: same action,
 * with .merge, same phase. At most JOIN_MAX, the most urgent first; they occupy no further worker,
 * and each is done separately. Mode genius only. */
uint32_t schedule_join(Schedule *schedule, Work first, Work *out);

/* Records the completion of work. PHASE_RUN: `result` is final. PHASE_CHECK: `pending` is the result of the
 * check; with RESULT_FAILED the step has failed and its run is not handed out. PHASE_REACT: the
 * resulting status. `owed` is unchanged. */
void schedule_done(Schedule *schedule, Work work, const StepStatus *status);
/* The work waits for an external condition and frees its worker. Everything that does not depend
 * on it continues. It is requeued or completed later. */
void schedule_park(Schedule *schedule, Work work);
/* Makes parked work ready again; it is handed out when the order allows it. */
void schedule_requeue(Schedule *schedule, Work work);

bool schedule_is_finished(const Schedule *schedule);
const StepStatus *schedule_statuses(const Schedule *schedule); /* one for each step */
