/* Executes a run: takes work from the schedule, evaluates conditions, resolves parameters, lets
 * workers check and apply, and keeps the outcome of every step.
 *
 * Everything except task_run() runs on the thread that calls executor_run(). Its environment is
 * passed in as a table of functions, so that a run can be tested without a site. */
#pragma once

#include "model/turn.h"
#include "run/report.h"
#include "run/task.h"

/* Callbacks during the run; each may be NULL. */
typedef struct RunView {
    void *context;
    /* Everything is ready, and no step has started; an apply holds its lock. If it fails, so does
     * the run. */
    bool (*begun)(void *context, Error *err);
    void (*started)(void *context, uint32_t step, WorkPhase phase);
    /* Until `until_us` at the latest; 0: until an external event. An empty `why` means that it no
     * longer waits. */
    void (*waits)(void *context, uint32_t step, Str why, int64_t until_us);
    /* Progress reported by the step; only the latest counts. Borrowed. */
    void (*progress)(void *context, uint32_t step, Str words);
    void (*ended)(void *context, uint32_t step, WorkPhase phase);
    /* The run was interrupted; with `again`, running steps are stopped too. */
    void (*interrupted)(void *context, bool again);
    void (*tick)(void *context); /* called periodically while nothing else happens */
} RunView;

typedef struct ExecutorWorld {
    void *context;
    /* Evaluates a value in the scope of the step. With `own`, its result is available as `step`. */
    DynamicOutcome (*evaluate)(void *context, uint32_t step, const Dynamic *dynamic, bool own,
                               Arena *arena, Value *out, Problems *problems);
    /* Whether the next evaluation must query the machine again, or may use cached answers: for
     * conditions that are evaluated repeatedly. NULL: it makes no difference. */
    void (*ask_anew)(void *context, bool anew);
    /* The parameters of a step, evaluated and converted, in the order of the row. Adds problems for
     * invalid ones. */
    DynamicOutcome (*params)(void *context, uint32_t step, Arena *arena, Value *out,
                             Problems *problems);
    /* Whether runOptions.target includes this node. NULL: it does. */
    bool (*targeted)(void *context, uint32_t step);
    /* Why the step would change something, given its parameters. NULL: CAUSE_NONE. */
    Cause (*cause)(void *context, uint32_t step, const Value *params);
    /* The step has a result, or its reaction finished: see the reports. `params` may be NULL. */
    void (*ended)(void *context, Work work, const Value *params);
    /* Registers the secrets in a value returned by a module. NULL: none. */
    void (*learn)(void *context, Value value);
    /* Removes secrets from a text; the result is in `arena`. NULL: there are none. */
    Str (*scrub)(void *context, Str text, Arena *arena);
} ExecutorWorld;

typedef struct ExecutorSettings {
    const Graph *graph;
    OrderMode order;
    uint32_t workers;
    bool planning;
    int64_t max_wait_us; /* how long parked steps may keep a run alive; negative: no limit */
    Host *host;
    const CallServices *services;
    const TaskJournal *journal;
    ExecutorWorld world;
    RunView view;
    int interrupts;       /* descriptor from signals_open(); negative: none */
    const uint16_t *owed; /* indexed by step, as in StepStatus.owed; NULL: nothing is owed */
} ExecutorSettings;

typedef struct Executor Executor;

/* The reports are allocated in `arena`. */
Executor *executor_new(Arena *arena, const ExecutorSettings *settings);
void executor_free(Executor *executor);
DEFINE_AUTO(Executor, executor_free)

/* Runs until there is nothing left to do; the reports are complete then. */
void executor_run(Executor *executor);
/* One per step; reports of finished steps can be read while it runs. */
const StepReport *executor_reports(const Executor *executor);
/* The recorded decisions, in order. */
const Turns *executor_turns(const Executor *executor);
bool executor_was_interrupted(const Executor *executor);
bool executor_timed_out(const Executor *executor);
int64_t executor_duration_us(const Executor *executor);
