/* Makes the decisions of a run. A state machine: the owner reports events, and it returns the next
 * action. It takes work from the schedule, evaluates conditions, resolves parameters, and records
 * the outcome of every step. It uses no clock, threads, signals or files: time is an argument, and
 * the owner (executor.h, or a simulation) starts the tasks and reports when they have ended.
 *
 *     for (;;) {
 *         CoreAction action = run_core_next(core, now);
 *         CORE_START: start action.task; when it has ended: run_core_ended(core, it, now)
 *         CORE_AGAIN: call it again
 *         CORE_WAIT:  until something ends or happens; at action.until_us: run_core_due(core, now)
 *         CORE_END:   the reports are complete
 *     }
 *
 * Its environment is passed in as a table of functions, so that a run can be tested without a site.
 * `now` never decreases. */
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

/* What a step waits for outside of this run: a barrier, a slot of a batch, a gate, a remote
 * result. */
typedef struct Hold {
    Str key;          /* passed to run_core_wake() */
    Str why;          /* "waiting for ..." */
    int64_t limit_ms; /* the step fails after this long; 0: no limit */
    int64_t
        recheck_ms; /* checked again after this long even if it was not woken; 0: only when woken */
} Hold;

typedef struct RunCoreOps {
    void *context;
    /* Evaluates a value in the scope of the step. With `own`, its result is available as `step`. */
    DynamicOutcome (*evaluate)(void *context, uint32_t step, const Dynamic *dynamic, bool own,
                               Arena *arena, Value *out, Problems *problems);
    /* Whether the next evaluation must query the machine again, or may use cached answers: for
     * conditions that are evaluated repeatedly. NULL: it makes no difference. */
    void (*evaluate_again)(void *context, bool again);
    /* The parameters of a step, evaluated and converted, in the order of the row. Adds problems for
     * invalid ones. */
    DynamicOutcome (*params)(void *context, uint32_t step, Arena *arena, Value *out,
                             Problems *problems);
    /* Whether runOptions.target includes this node. NULL: it does. */
    bool (*targeted)(void *context, uint32_t step);
    /* Whether the step must wait for something outside of this run before its conditions are
     * evaluated. Called again each time it is woken, so that repeated, late and unnecessary
     * wakeups are harmless. Not called in a plan. NULL: it never has to wait. */
    bool (*held)(void *context, uint32_t step, Hold *out);
    /* Why the step would change something, given its parameters. NULL: CAUSE_NONE. */
    Cause (*cause)(void *context, uint32_t step, const Value *params);
    /* The step has a result, or its reaction finished: see the reports. `params` may be NULL. */
    void (*ended)(void *context, Work work, const Value *params);
    /* Registers the secrets in a value returned by a module. NULL: none. */
    void (*learn)(void *context, Value value);
    /* Removes secrets from a text; the result is in `arena`. NULL: there are none. */
    Str (*scrub)(void *context, Str text, Arena *arena);
} RunCoreOps;

typedef struct RunCoreSettings {
    const Graph *graph;
    OrderMode order;
    uint32_t workers;
    bool planning;
    int64_t max_wait_us; /* how long parked steps may keep a run alive; negative: no limit */
    Host *host;
    const CallServices *services;
    const TaskJournal *journal;
    RunCoreOps environment;
    RunView view;
    const uint16_t *owed; /* indexed by step, as in StepStatus.owed; NULL: nothing is owed */
} RunCoreSettings;

typedef struct RunCore RunCore;

typedef enum CoreActionKind {
    CORE_START,
    CORE_AGAIN, /* something was decided, and nothing has to be done for it */
    CORE_WAIT,
    CORE_END,
} CoreActionKind;

typedef struct CoreAction {
    CoreActionKind kind;
    RunningTask *start; /* CORE_START: run its task (and those joined to it) on a worker */
    bool runs_inline;   /* it is run at once instead, and its end is the next event */
    int64_t until_us;   /* CORE_WAIT: negative: nothing is due */
} CoreAction;

/* A step that waits for something outside; see Hold. */
typedef struct CoreHeld {
    Work work;
    Str key, why;
    int64_t since_us, until_us; /* until_us 0: no limit */
} CoreHeld;

/* The reports are allocated in `arena`. The run starts now. */
RunCore *run_core_new(Arena *arena, const RunCoreSettings *settings, int64_t now_us);
void run_core_free(RunCore *core); /* NULL is allowed */
DEFINE_AUTO(RunCore, run_core_free)

CoreAction run_core_next(RunCore *core, int64_t now_us);
/* The task, and those joined to it, have ended. They belong to the core again. */
void run_core_ended(RunCore *core, RunningTask *running, int64_t now_us);
/* Time has passed. */
void run_core_due(RunCore *core, int64_t now_us);
/* Something outside has happened. Returns the number of steps that were waiting for it. */
uint32_t run_core_wake(RunCore *core, Str key, int64_t now_us);
/* No more steps are started; running steps finish, and waiting ones end. */
void run_core_interrupt(RunCore *core);
/* The same, and running steps are asked to stop. */
void run_core_cancel(RunCore *core);

/* One per step; reports of finished steps can be read during the run. */
const StepReport *run_core_reports(const RunCore *core);
/* The recorded decisions, in order. */
const Turns *run_core_turns(const RunCore *core);
/* The steps that wait for something outside now, in no particular order. */
const CoreHeld *run_core_held(const RunCore *core, uint32_t *count);
bool run_core_was_interrupted(const RunCore *core);
bool run_core_timed_out(const RunCore *core);
