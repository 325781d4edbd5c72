/* Carries a run out: takes work from the schedule, asks conditions, resolves parameters, lets
 * workers check and apply, and keeps what became of every step.
 *
 * All of it but task_run() happens in the thread that calls executor_run. What it needs from
 * outside comes as a table of functions, so that a run without a site can be tested. */
#pragma once

#include "model/turn.h"
#include "run/report.h"
#include "run/task.h"

/* Told while the run goes on; each may be NULL. */
typedef struct RunView {
    void *context;
    void (*started)(void *context, uint32_t step, WorkPhase phase);
    /* Until `until_us` at the latest; 0: until something outside happens. With an empty `why` it
     * waits no longer. */
    void (*waits)(void *context, uint32_t step, Str why, int64_t until_us);
    /* How far it is, in its own words; the last of several. Borrowed. */
    void (*progress)(void *context, uint32_t step, Str words);
    void (*ended)(void *context, uint32_t step, WorkPhase phase);
    /* Asked to stop; a second time, also what runs. */
    void (*interrupted)(void *context, bool again);
    void (*tick)(void *context); /* now and then while nothing else happens */
} RunView;

typedef struct ExecutorWorld {
    void *context;
    /* A value of the step, in its scope. With `own`, its result is there as `step`. */
    DynamicOutcome (*evaluate)(void *context, uint32_t step, const Dynamic *dynamic, bool own,
                               Arena *arena, Value *out, Problems *problems);
    /* Whether what the next evaluation asks the world is asked anew, or may have been answered
     * before: for conditions that are asked again. NULL: it makes no difference. */
    void (*ask_anew)(void *context, bool anew);
    /* The parameters of a step, evaluated and converted, in the order of the row. Problems are
     * added for what is wrong. */
    DynamicOutcome (*params)(void *context, uint32_t step, Arena *arena, Value *out,
                             Problems *problems);
    /* Whether runOptions.target lets this node run the step. NULL: it does. */
    bool (*targeted)(void *context, uint32_t step);
    /* Why the step would change something, given its parameters. NULL: CAUSE_NONE. */
    Cause (*cause)(void *context, uint32_t step, const Value *params);
    /* The step has a result, or its reaction ended: it is in the reports. `params` may be NULL. */
    void (*ended)(void *context, Work work, const Value *params);
    /* A value that came back from a module: its secrets are to be hidden too. NULL: as it may be. */
    void (*learn)(void *context, Value value);
    /* Takes secrets out of what is told; the result is in `arena`. NULL: there are none. */
    Str (*scrub)(void *context, Str text, Arena *arena);
} ExecutorWorld;

typedef struct ExecutorSettings {
    const Graph *graph;
    OrderMode order;
    uint32_t workers;
    bool planning;
    int64_t max_wait_us; /* how long parked steps may keep a run going; negative: for ever */
    Host *host;
    const CallServices *services;
    const TaskJournal *journal;
    ExecutorWorld world;
    RunView view;
    int interrupts;       /* descriptor of signals_open; negative: none */
    const uint16_t *owed; /* by step, as StepStatus.owed; NULL: nothing is owed */
} ExecutorSettings;

typedef struct Executor Executor;

/* `arena` holds the reports. */
Executor *executor_new(Arena *arena, const ExecutorSettings *settings);
void executor_free(Executor *executor);
DEFINE_AUTO(Executor, executor_free)

/* Until nothing is left to do. The reports are complete then. */
void executor_run(Executor *executor);
/* One for each step; those of steps that have ended may be read while it runs. */
const StepReport *executor_reports(const Executor *executor);
/* What it did turn by turn, for the record. */
const Turns *executor_turns(const Executor *executor);
bool executor_was_interrupted(const Executor *executor);
bool executor_timed_out(const Executor *executor);
int64_t executor_duration_us(const Executor *executor);
