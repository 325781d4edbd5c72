/* Executes a run: passes the events of this machine (ends of tasks, time, interrupts) to the
 * decisions in run_core.h, and starts the tasks that they ask for on worker threads.
 *
 * Everything except task_run() runs on the thread that calls executor_run(). */
#pragma once

#include "run/run_control.h"
#include "run/run_core.h"

typedef struct Executor Executor;

/* The reports are allocated in `arena`. */
Executor *executor_new(Arena *arena, const RunCoreSettings *settings);
void executor_free(Executor *executor);
DEFINE_AUTO(Executor, executor_free)

/* Runs until there is nothing left to do; the reports are complete then. `interrupts` is a
 * descriptor from signals_open(); negative: none. `control` may be NULL. */
void executor_run(Executor *executor, int interrupts, RunControl *control);
/* The state of the run: reports, record, whether it was interrupted. */
const RunCore *executor_core(const Executor *executor);
int64_t executor_duration_us(const Executor *executor);
