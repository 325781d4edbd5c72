/* Private to run_core.c and run_core_step.c. */
#pragma once

#include "run/run_core.h"
#include "run/timers.h"

/* Where a parked step resumes. */
typedef enum Stage {
    STAGE_START,    /* at the start: evaluate `when` again */
    STAGE_ACT,      /* repeat the action (runOptions.retry) */
    STAGE_SUCCESS,  /* evaluate only `success` again */
    STAGE_CONTINUE, /* evaluate only `continue` again */
} Stage;

typedef struct StepRun {
    Stage stage;
    int64_t evaluations; /* number of times the condition of this stage was false */
    int64_t retried;     /* number of retries of the action */
    bool reacts;         /* as decided when it was handed out */
    StepStatus status;
    Value *params;        /* of the last attempt; in the run's arena only while it waits */
    Arena *attempt_arena; /* for the report of the last attempt; NULL: it is in the run's arena */
    Str held_key;         /* what it waited for last, outside of the run */
    int64_t held_since_us;
} StepRun;

/* A step that was parked during the current event: its time counts from the next one, because
 * evaluating its conditions may have taken a long time. */
typedef struct Parked {
    Work work;
    int64_t interval_ms;
    Str why;
} Parked;

struct RunCore {
    RunCoreSettings settings;
    Arena *arena;
    Problems problems; /* of the current evaluation; see fresh_problems() */
    Schedule *schedule;
    StepRun *runs;
    ChangeTime *change_times; /* indexed by step */
    StepReport *reports;
    Turns turns;
    Timers timers;
    VEC(Parked) parked;
    VEC(CoreHeld) held;
    VEC(int64_t)
    held_again; /* for each of these: when it is evaluated again; INT64_MAX: at no fixed time */
    SpareTasks spares;
    RunningTask *ready;    /* to be started; NULL: none */
    bool runs_inline;      /* the ready one */
    RunningTask *gathered; /* to be applied together, linked by `next_joined`; NULL: none */
    RunningTask *gathered_last;
    RunningTask *inline_task; /* is being run by the owner, within the turn that started it */
    Work *joining;            /* has JOIN_MAX entries */
    uint32_t ran;             /* number of started steps */
    int64_t now_us;           /* of the current event */
    int64_t deadline_us;      /* for waiting; negative: none */
    bool interrupted, timed_out;
    bool leaving; /* a step requested a reboot: no more steps are started */
    atomic_bool canceled;
};

/* --- run_core_step.c -------------------------------------------------------------------------- */

const Step *core_step(const RunCore *core, uint32_t step);
void core_turn_begin(RunCore *core, TurnKind kind, Work work);
/* The current one. */
Turn *core_turn(RunCore *core);

Problems *core_fresh_problems(RunCore *core);
/* The first problem becomes the step's error. */
void core_take_error(RunCore *core, uint32_t step);
PRINTF_LIKE(5, 6)
void core_add_error_at(RunCore *core, uint32_t step, Value place, const char *code,
                       const char *format, ...);
#define core_add_error(core, step, code, ...)                                                   \
    core_add_error_at((core), (step), step_name_place(core_step((core), (step))->spec), (code), \
                      __VA_ARGS__)

/* Ends a work item without running its action. `reason` is in the run's arena. */
void core_end_without_action(RunCore *core, Work work, StepResult result, Str reason);
/* `params` may be NULL. */
void core_end_succeeded(RunCore *core, Work work, const Value *params);
void core_end_failed(RunCore *core, Work work, const Value *params);
void core_park(RunCore *core, Work work, Stage stage, int64_t interval_ms, Str why);

/* `when` of the step, and of the paths that lead to its job; `*which` is the last one evaluated. */
Answer core_evaluate_when(RunCore *core, uint32_t step, const Condition **which);
/* `success` and `continue`; the work item is ended or parked then. */
void core_evaluate_result(RunCore *core, Work work, const Value *params);
/* Its action has ended. */
void core_finish(RunCore *core, RunningTask *running);
