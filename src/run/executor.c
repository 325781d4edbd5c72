/* The lifecycle of a step: the schedule hands it out; decide() and its own conditions determine
 * whether it runs; its parameters are resolved; a worker runs the task; `success` and `continue`
 * are evaluated; the report is filled in and the schedule is updated. A step that has to wait in
 * between is parked, and `stage` records where it resumes. */
#include "run/executor.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/vec.h"
#include "run/executor_report.h"
#include "run/reaction.h"
#include "run/scope.h"
#include "run/timers.h"
#include "run/waiting.h"
#include "sys/clock.h"
#include "sys/pool.h"
#include "sys/signals.h"

enum {
    THREADS_MAX = 256, /* including steps whose action only waits */
    LOOK_US = 5000,    /* how often to check for interrupts */
    TICK_US = 200000   /* how often the view is updated while nothing happens */
};

/* Where a parked step resumes. */
typedef enum Stage {
    STAGE_START,    /* at the start: evaluate `when` again */
    STAGE_ACT,      /* repeat the action (runOptions.retry) */
    STAGE_SUCCESS,  /* evaluate only `success` again */
    STAGE_CONTINUE, /* evaluate only `continue` again */
} Stage;

typedef struct StepRun {
    Stage stage;
    int64_t asked;   /* how often the condition of this stage was false */
    int64_t retried; /* number of retries of the action */
    bool reacts;     /* as decided when it was handed out */
    StepStatus status;
    Value *params; /* of the last attempt; in the run's arena only while it waits */
    Arena *tried;  /* for the report of the last attempt; NULL: it is in the run's arena */
} StepRun;

struct Executor {
    ExecutorSettings settings;
    Arena *arena;
    Problems problems; /* of the current evaluation; see fresh_problems() */
    Schedule *schedule;
    Pool *pool;
    StepRun *runs;
    ChangeTime *times; /* indexed by step */
    StepReport *reports;
    Turns turns;
    Timers timers;
    Spares spares;
    Running *gathered; /* to be applied together, linked by `joined`; NULL: none */
    Running *gathered_last;
    Work *joining; /* has JOIN_MAX entries */
    uint32_t ran;  /* number of started steps */
    int64_t start_us, end_us;
    int64_t looked_us; /* when interrupts were last checked */
    bool interrupted, timed_out;
    bool leaving; /* a step requested a reboot: no more steps are started */
    atomic_bool canceled;
};

/* --- Turns: the record of decisions ---------------------------------------------------------- */

static void turn_begin(Executor *executor, TurnKind kind, Work work)
{
    VEC_PUSH(executor->arena, &executor->turns.list,
             (Turn){ .kind = kind,
                     .work = work,
                     .first_asked = executor->turns.asked.len,
                     .end = TURN_ACTS });
}

/* The current one. */
static Turn *turn_now(Executor *executor)
{
    return &VEC_LAST(&executor->turns.list);
}

/* --- Finishing ------------------------------------------------------------------------------- */

static const Step *step_of(const Executor *executor, uint32_t step)
{
    return graph_step(executor->settings.graph, step);
}

static Str scrub(Executor *executor, Str text)
{
    return executor_scrub(&executor->settings.world, executor->arena, text);
}

/* A new list for each evaluation: thousands of steps may fail, and each keeps its error. */
static Problems *fresh_problems(Executor *executor)
{
    problems_init(&executor->problems, executor->arena);
    return &executor->problems;
}

/* The first problem becomes the step's error. */
static void take_error(Executor *executor, uint32_t step)
{
    Problem *error = &executor->problems.items[0];
    executor_scrub_problem(&executor->settings.world, executor->arena, error);
    executor->reports[step].error = error;
}

PRINTF_LIKE(5, 6)
static void add_error_at(Executor *executor, uint32_t step, Value place, const char *code,
                         const char *format, ...)
{
    Buf text = buf_make_in(executor->arena, PROBLEM_MESSAGE_MAX);
    va_list args;
    va_start(args, format);
    buf_put_format_v(&text, format, args);
    va_end(args);
    problems_add(fresh_problems(executor), code,
                 sources_get(executor->settings.graph->sources, place.source), place.start,
                 place.span, "%" STR_FMT, STR_ARG(scrub(executor, buf_str(&text))));
    take_error(executor, step);
}

#define add_error(executor, step, code, ...)                                                     \
    add_error_at((executor), (step), step_name_place(step_of((executor), (step))->spec), (code), \
                 __VA_ARGS__)

/* Where a condition is written; for a condition inherited from elsewhere, the step itself. */
static Value test_place(const Executor *executor, uint32_t step, const Dynamic *test)
{
    Value place = test->value;
    return value_is_missing(place) || place.source == SOURCE_NONE || place.span == 0
               ? step_name_place(step_of(executor, step)->spec)
               : place;
}

/* Reports the outcome of a work item to the schedule and the view. */
static void end_work(Executor *executor, Work work, const Value *params)
{
    StepReport *report = &executor->reports[work.step];
    StepRun *run = &executor->runs[work.step];
    report->status = run->status;
    run->stage = STAGE_START; /* for the next phase */
    run->asked = 0;
    turn_now(executor)->end = TURN_ENDED;
    turn_now(executor)->status = report->status;
    schedule_done(executor->schedule, work, &report->status);
    const ExecutorSettings *settings = &executor->settings;
    if (work.phase != PHASE_CHECK && settings->world.ended != NULL) {
        settings->world.ended(settings->world.context, work, params);
    }
    if (settings->view.ended != NULL) {
        settings->view.ended(settings->view.context, work.step, work.phase);
    }
}

/* Finishes a work item without running its action. `reason` is in the run's arena. */
static void end_without(Executor *executor, Work work, StepResult result, Str reason)
{
    conclude_without(&executor->runs[work.step].status, work.phase, result);
    executor->reports[work.step].reason = reason;
    end_work(executor, work, NULL);
}

/* --- Waiting --------------------------------------------------------------------------------- */

static void park(Executor *executor, Work work, Stage stage, int64_t interval_ms, Str why)
{
    int64_t due_us = clock_monotonic_us() + interval_ms * 1000;
    executor->runs[work.step].stage = stage;
    executor->reports[work.step].reason = why;
    turn_now(executor)->end = TURN_WAITS;
    schedule_park(executor->schedule, work);
    timers_add(&executor->timers, executor->arena, (Timer){ due_us, work });
    const RunView *view = &executor->settings.view;
    if (view->waits != NULL) {
        view->waits(view->context, work.step, why, due_us);
    }
}

static Answer evaluate(Executor *executor, uint32_t step, const Dynamic *test, bool own)
{
    const ExecutorWorld *world = &executor->settings.world;
    Value value;
    switch (world->evaluate(world->context, step, test, own, executor->arena, &value,
                            fresh_problems(executor))) {
    case DYNAMIC_OK: break;
    case DYNAMIC_UNKNOWN: return ANSWER_UNKNOWN;
    case DYNAMIC_FAILED: take_error(executor, step); return ANSWER_FAILED;
    }
    if (scope_says_no(value)) {
        add_error_at(executor, step, test->value, "E0607",
                     "the condition evaluates to the string '%" STR_FMT "', which counts as true",
                     STR_ARG(value_str(value)));
        return ANSWER_FAILED;
    }
    return value_is_true(value) ? ANSWER_YES : ANSWER_NO;
}

/* Evaluates a condition and records the result. All conditions except `when` can access the step's
 * own result. */
static Answer ask(Executor *executor, uint32_t step, ConditionName name, const Dynamic *test,
                  const Retry *retry)
{
    const ExecutorWorld *world = &executor->settings.world;
    const StepRun *run = &executor->runs[step];
    bool anew = world->ask_anew != NULL && (run->asked > 0 || run->retried > 0);
    if (anew) {
        world->ask_anew(world->context, true);
    }
    Answer answer = evaluate(executor, step, test, name != CONDITION_WHEN);
    if (anew) {
        world->ask_anew(world->context, false);
    }
    VEC_PUSH(executor->arena, &executor->turns.asked,
             (Asked){ .condition = name,
                      .answer = answer,
                      .text = value_is_string(test->value) ? value_str(test->value) : STR_EMPTY,
                      .retries = retry->given,
                      .limit = retry->limit });
    turn_now(executor)->asked_count++;
    return answer;
}

/* `when` of the step, and of the paths that lead to its job. */
static Answer ask_when(Executor *executor, uint32_t step, const Condition **which)
{
    const StepSpec *spec = step_of(executor, step)->spec;
    const Job *job = spec->job;
    Answer answer = job->gate_count == 0 ? ANSWER_YES : ANSWER_NO;
    for (uint32_t i = 0; i < job->gate_count && answer == ANSWER_NO; i++) {
        answer = ANSWER_YES;
        for (const JobGate *gate = job->gates[i]; gate != NULL && answer == ANSWER_YES;
             gate = gate->outer) {
            if (gate->when.given) {
                *which = &gate->when;
                answer = ask(executor, step, CONDITION_WHEN, &gate->when.test, &gate->when.retry);
            }
        }
    }
    if (answer == ANSWER_YES && spec->when->given) {
        *which = spec->when;
        answer = ask(executor, step, CONDITION_WHEN, &spec->when->test, &spec->when->retry);
    }
    return answer;
}

/* --- After the action ------------------------------------------------------------------------ */

static void end_well(Executor *executor, Work work, const Value *params)
{
    conclude_well(&executor->runs[work.step].status, work.phase);
    end_work(executor, work, params);
}

static void end_failed(Executor *executor, Work work, const Value *params)
{
    conclude_failed(&executor->runs[work.step].status, work.phase);
    end_work(executor, work, params);
}

/* Parameters are in the task's memory; a waiting step keeps a copy. */
static const Value *keep_params(Executor *executor, uint32_t step, const Value *params)
{
    StepRun *run = &executor->runs[step];
    if (run->params == NULL && params != NULL) {
        uint32_t count = action_param_count(step_of(executor, step)->spec->action);
        run->params = ARENA_ARRAY(executor->arena, Value, count + 1);
        for (uint32_t i = 0; i < count; i++) {
            run->params[i] = value_copy(executor->arena, params[i]);
        }
    }
    return run->params;
}

/* Evaluates a condition about the result. Returns false if the work item finished or is parked. */
static bool passes(Executor *executor, Work work, const Condition *condition, Stage stage,
                   ConditionName name, const Value *params)
{
    StepRun *run = &executor->runs[work.step];
    if (!condition->given) {
        return true;
    }
    if (run->stage != stage) {
        run->stage = stage;
        run->asked = 0;
    }
    Answer answer = ask(executor, work.step, name, &condition->test, &condition->retry);
    run->asked += answer == ANSWER_NO;
    Str text = executor_test_text(&condition->test);
    switch (conclude_result(answer, &condition->retry, run->asked, executor->settings.planning)) {
    case VERDICT_PARK:
        keep_params(executor, work.step, params);
        park(executor, work, stage, condition->retry.interval_ms,
             arena_format(executor->arena, "waiting until '%s' is true: %" STR_FMT,
                          condition_name(name), STR_ARG(text)));
        return false;
    case VERDICT_FAIL:
        if (answer == ANSWER_NO) {
            add_error_at(executor, work.step, test_place(executor, work.step, &condition->test),
                         "E0603", "'%s' is false: %" STR_FMT, condition_name(name), STR_ARG(text));
        } else if (answer == ANSWER_UNKNOWN) {
            add_error_at(executor, work.step, test_place(executor, work.step, &condition->test),
                         "E0602", "cannot evaluate '%s': %" STR_FMT, condition_name(name),
                         STR_ARG(text));
        }
        end_failed(executor, work, params);
        return false;
    default: return true;
    }
}

static void ask_about_result(Executor *executor, Work work, const Value *params)
{
    const StepSpec *spec = step_of(executor, work.step)->spec;
    if (executor->runs[work.step].stage != STAGE_CONTINUE &&
        !passes(executor, work, spec->success, STAGE_SUCCESS, CONDITION_SUCCESS, params)) {
        return;
    }
    if (passes(executor, work, spec->proceed, STAGE_CONTINUE, CONDITION_CONTINUE, params)) {
        end_well(executor, work, params);
    }
}

/* Whether to repeat the action (runOptions.retry): it failed, or `until` is false. */
static Verdict repeats(Executor *executor, Work work, bool failed)
{
    const Retry *retry = &step_of(executor, work.step)->spec->run->retry;
    StepRun *run = &executor->runs[work.step];
    if (!retry->given || executor->settings.planning || work.phase != PHASE_RUN) {
        return failed ? VERDICT_FAIL : VERDICT_GO_ON;
    }
    executor->reports[work.step].error = NULL; /* from an earlier attempt */
    bool asks = !failed && retry->until.value.kind != VALUE_NULL;
    Answer until =
        asks ? ask(executor, work.step, CONDITION_UNTIL, &retry->until, retry) : ANSWER_YES;
    run->retried += failed || until != ANSWER_YES;
    return conclude_repeat(failed, until, retry, run->retried);
}

static void finish(Executor *executor, Running *running)
{
    Work work = running->work;
    StepRun *run = &executor->runs[work.step];
    StepReport *report = &executor->reports[work.step];
    Task *task = &running->task;
    const Outcome *outcome = &task->outcome;
    const Value *params = task->call.params;
    /* A reaction is caused by a change of another step: it is neither drift nor intent of its
     * own. */
    bool differed = task->applied || (outcome->changed && !task->reacted);
    /* The report of a reaction is added to the existing report. */
    bool is_retried =
        step_of(executor, work.step)->spec->run->retry.given && work.phase != PHASE_REACT;
    change_time_note(&executor->times[work.step], task);
    if (executor->settings.planning && run->reacts) {
        reaction_plan(executor->arena, executor->settings.graph,
                      schedule_statuses(executor->schedule), work.step, task);
    }
    if (step_of(executor, work.step)->spec->secret) {
        executor_report_conceal(&executor->settings.world, task);
    }
    report->duration_us += task->duration_us;
    executor_report_fill(report, outcome, work.phase == PHASE_REACT, &executor->settings.world,
                         executor_report_arena(&run->tried, executor->arena, is_retried));
    Observed seen = { outcome->changed, outcome->unknown, task->failed, task->reacted,
                      outcome->leave != NULL };
    turn_now(executor)->acted = true;
    turn_now(executor)->seen = seen;
    conclude_observed(&run->status, work.phase, seen, executor->settings.planning);
    report->status.changed = run->status.changed; /* for conditions about its own result */
    if (differed && report->cause == CAUSE_NONE && executor->settings.world.cause != NULL) {
        report->cause =
            executor->settings.world.cause(executor->settings.world.context, work.step, params);
    }
    if (work.phase == PHASE_CHECK && !task->failed) {
        end_work(executor, work, params);
        return;
    }
    if (outcome->leave != NULL && !task->failed) {
        executor->leaving = true;
        end_without(executor, work, RESULT_WAITING, STR("waiting for the machine to reboot"));
        return;
    }
    Verdict verdict = repeats(executor, work, task->failed);
    if (verdict == VERDICT_PARK) {
        run->params = NULL; /* resolved again, because the values may have changed */
        park(executor, work, STAGE_ACT, step_of(executor, work.step)->spec->run->retry.interval_ms,
             task->failed ? arena_format(executor->arena, "failed, will retry: %" STR_FMT,
                                         STR_ARG(scrub(executor, str_from_c(task->error.text))))
                          : STR("will retry: 'until' is false"));
        return;
    }
    report->reason = STR_EMPTY; /* from an earlier attempt */
    if (task->failed) {
        Str text = str_from_c(task->error.text);
        add_error_at(
            executor, work.step,
            step_error_place(step_of(executor, work.step)->spec, params, task->call.blamed, text),
            "E0601", "%s", task->error.text);
        end_failed(executor, work, params);
        return;
    }
    if (verdict == VERDICT_FAIL) {
        if (report->error == NULL) {
            const Retry *retry = &step_of(executor, work.step)->spec->run->retry;
            add_error_at(executor, work.step, test_place(executor, work.step, &retry->until),
                         "E0603", "'until' is still false after %lld attempts",
                         (long long)run->retried);
        }
        end_failed(executor, work, params);
        return;
    }
    report->reason = scrub(executor, task->call.comes); /* rather than why it waited earlier */
    if (work.phase == PHASE_REACT) {
        end_well(executor, work, params);
        return;
    }
    ask_about_result(executor, work, params);
}

/* --- Starting -------------------------------------------------------------------------------- */

/* Whether it can share a transaction with other ready steps. */
static bool can_join(const Executor *executor, Work work, const Action *action)
{
    const ExecutorSettings *settings = &executor->settings;
    return settings->order == MODE_GENIUS && action->merge != NULL && work.phase == PHASE_RUN &&
           !settings->planning;
}

static void gather(Executor *executor, Running *running)
{
    if (executor->gathered == NULL) {
        executor->gathered = running;
    } else {
        executor->gathered_last->task.joined = &running->task;
    }
    executor->gathered_last = running;
}

static void start_action(Executor *executor, Work work)
{
    const ExecutorSettings *settings = &executor->settings;
    const StepSpec *spec = step_of(executor, work.step)->spec;
    const Action *action = spec->action;
    StepRun *run = &executor->runs[work.step];
    Running *running = running_new(executor->arena, &executor->spares, work);
    Task *task = &running->task;
    Value *params = ARENA_ARRAY(&task->arena, Value, action_param_count(action) + 1);
    switch (settings->world.params(settings->world.context, work.step, &task->arena, params,
                                   fresh_problems(executor))) {
    case DYNAMIC_OK: break;
    case DYNAMIC_UNKNOWN:
        turn_now(executor)->params = PARAMS_UNKNOWN;
        if (settings->planning) {
            running_end(executor->arena, &executor->spares, running);
            end_without(executor, work, RESULT_UNKNOWN,
                        STR("a parameter is not known before the run"));
            return;
        }
        add_error(executor, work.step, "E0602",
                  "a parameter requires a result that this run does not have");
        running_end(executor->arena, &executor->spares, running);
        end_failed(executor, work, NULL);
        return;
    case DYNAMIC_FAILED:
        turn_now(executor)->params = PARAMS_FAILED;
        take_error(executor, work.step);
        running_end(executor->arena, &executor->spares, running);
        end_failed(executor, work, NULL);
        return;
    }
    task->kind = work.phase == PHASE_REACT                         ? TASK_REACT
                 : settings->planning || work.phase == PHASE_CHECK ? TASK_CHECK
                                                                   : TASK_RUN;
    task->react = run->reacts && task->kind == TASK_RUN;
    task->journal = settings->journal;
    task->outcome.value = value_null();
    task->call = (Call){ .action = action,
                         .params = params,
                         .arena = &task->arena,
                         .host = settings->host,
                         .step = work.step,
                         .services = settings->services,
                         .timeout_ms = spec->run->timeout_ms,
                         .canceled = &executor->canceled,
                         .planning = task->kind == TASK_CHECK,
                         .first_look = work.phase == PHASE_CHECK };
    if (task->react || task->kind == TASK_REACT) {
        change_time_tell(settings->graph, executor->times, work, &task->call);
    }
    StepReport *report = &executor->reports[work.step];
    report->tries++;
    if (report->run_order == 0 && work.phase != PHASE_CHECK) {
        report->run_order = ++executor->ran;
    }
    if (settings->view.started != NULL) {
        settings->view.started(settings->view.context, work.step, work.phase);
    }
    if (can_join(executor, work, action)) {
        gather(executor, running);
    } else if (settings->order == MODE_ANSIBLE && action_is_brief(action, params)) {
        /* Sequential execution needs no other thread. */
        task_run(task);
        finish(executor, running);
        running_end(executor->arena, &executor->spares, running);
    } else {
        pool_submit(executor->pool, task_run, task);
    }
}

/* Evaluates the step's own conditions, then starts it. */
static void start_step(Executor *executor, Work work)
{
    StepRun *run = &executor->runs[work.step];
    const ExecutorWorld *world = &executor->settings.world;
    if (world->targeted != NULL && !world->targeted(world->context, work.step)) {
        executor->reports[work.step].declined = true;
        turn_now(executor)->bar = BAR_TARGET;
        end_without(executor, work, RESULT_SKIPPED, STR("its target does not include this node"));
        return;
    }
    static const Retry no_retry = { .given = false };
    const Condition *which = NULL;
    Answer answer = run->stage == STAGE_ACT ? ANSWER_YES : ask_when(executor, work.step, &which);
    const Retry *retry = which == NULL ? &no_retry : &which->retry;
    Str text = which == NULL ? STR_EMPTY : executor_test_text(&which->test);
    run->asked = answer == ANSWER_YES ? 0 : run->asked + (answer == ANSWER_NO);
    switch (conclude_when(answer, retry, run->asked, executor->settings.planning)) {
    case VERDICT_GO_ON: start_action(executor, work); return;
    case VERDICT_SKIP:
        executor->reports[work.step].declined = true;
        end_without(executor, work, RESULT_SKIPPED,
                    arena_format(executor->arena, "condition is false: %" STR_FMT, STR_ARG(text)));
        return;
    case VERDICT_UNKNOWN:
        end_without(executor, work, RESULT_UNKNOWN,
                    STR("its condition is not known before the run"));
        return;
    case VERDICT_WAIT:
        end_without(executor, work, RESULT_WAITING,
                    arena_format(executor->arena, "waiting for: %" STR_FMT, STR_ARG(text)));
        return;
    case VERDICT_PARK:
        park(executor, work, STAGE_START, retry->interval_ms,
             arena_format(executor->arena, "waiting for: %" STR_FMT, STR_ARG(text)));
        return;
    case VERDICT_FAIL: break;
    }
    if (answer == ANSWER_NO) {
        add_error(executor, work.step, "E0604", "gave up after %lld attempts: %" STR_FMT,
                  (long long)run->asked, STR_ARG(text));
    } else if (answer == ANSWER_UNKNOWN) {
        add_error(executor, work.step, "E0602",
                  "its condition requires a result that this run does not have");
    }
    end_failed(executor, work, NULL);
}

/* Finishes a step that is not started because the run was interrupted or the machine will
 * reboot. */
static void leave(Executor *executor, Work work)
{
    if (!executor->interrupted) {
        end_without(executor, work, RESULT_WAITING, STR("waiting for the machine to reboot"));
    } else if (work.phase == PHASE_REACT) {
        end_without(executor, work, RESULT_SKIPPED, STR("interrupted before it reacted"));
    } else if (executor->runs[work.step].stage != STAGE_START) {
        end_without(executor, work, RESULT_WAITING, STR("interrupted while waiting"));
    } else {
        executor->reports[work.step].left = true;
        end_without(executor, work, RESULT_SKIPPED, STR("interrupted before it started"));
    }
}

/* The final reaction to the steps it listens to. Its parameters may need results of this run. */
static void plan_late_reaction(Executor *executor, Work work)
{
    const ExecutorWorld *world = &executor->settings.world;
    uint32_t count = action_param_count(step_of(executor, work.step)->spec->action);
    Value *params = ARENA_ARRAY(executor->arena, Value, count + 1);
    (void)world->params(world->context, work.step, executor->arena, params,
                        fresh_problems(executor));
    Str words = reaction_forecast(executor->arena, executor->settings.graph,
                                  schedule_statuses(executor->schedule), work.step,
                                  REQUISITE_LISTEN, params);
    if (words.len > 0) {
        executor->runs[work.step].status.changed = true;
        executor->reports[work.step].reason = words;
    }
    end_well(executor, work, NULL);
}

static void start(Executor *executor, TurnKind kind, Work work)
{
    StepRun *run = &executor->runs[work.step];
    turn_begin(executor, kind, work);
    if (executor->interrupted || executor->leaving) {
        turn_now(executor)->bar = executor->interrupted ? BAR_INTERRUPTED : BAR_LEAVING;
        leave(executor, work);
        return;
    }
    if (run->stage == STAGE_SUCCESS || run->stage == STAGE_CONTINUE) {
        ask_about_result(executor, work, run->params);
        return;
    }
    Decision decision =
        decide(executor->settings.graph, work, schedule_statuses(executor->schedule),
               executor->settings.planning, executor->arena);
    turn_now(executor)->decided = true;
    turn_now(executor)->decision = decision;
    if (work.phase != PHASE_REACT) {
        executor->reports[work.step].declined = decision.kind == DECIDE_SKIP && decision.owes == 0;
    }
    if (decision.kind != DECIDE_RUN) {
        if (work.phase == PHASE_RUN) { /* the change found by its check is not going to happen */
            executor_report_empty(&executor->reports[work.step]);
            executor->reports[work.step].cause = CAUSE_NONE;
        }
        end_without(executor, work, conclude_decision(decision.kind), decision.reason);
        return;
    }
    run->reacts = decision.react;
    if (work.phase != PHASE_REACT) {
        start_step(executor, work);
    } else if (executor->settings.planning) {
        plan_late_reaction(executor, work);
    } else {
        start_action(executor, work);
    }
}

/* Starts a work item together with those that can share its transaction. */
static void start_together(Executor *executor, Work work)
{
    start(executor, TURN_START, work);
    if (executor->gathered == NULL) {
        return;
    }
    uint32_t count = schedule_join(executor->schedule, work, executor->joining);
    for (uint32_t i = 0; i < count; i++) {
        start(executor, TURN_JOIN, executor->joining[i]);
    }
    pool_submit(executor->pool, task_run, TAKE(executor->gathered));
}

/* --- Main loop ------------------------------------------------------------------------------- */

/* Checks for interrupts, unless it did so recently: thousands of steps may take less time than
 * that. */
static void take_interrupts(Executor *executor)
{
    int number;
    int64_t now = clock_monotonic_us();
    if (executor->settings.interrupts < 0 || now < executor->looked_us + LOOK_US) {
        return;
    }
    executor->looked_us = now;
    const RunView *view = &executor->settings.view;
    for (uint32_t count = signals_take(executor->settings.interrupts, &number); count > 0;
         count--) {
        if (view->interrupted != NULL) {
            view->interrupted(view->context, executor->interrupted);
        }
        if (executor->interrupted) {
            /* interrupted twice: running steps must stop too */
            atomic_store(&executor->canceled, true);
        }
        executor->interrupted = true;
    }
}

/* Puts work items that are due back into the schedule; all of them if nothing is started
 * anymore. */
static void wake(Executor *executor, int64_t now)
{
    while (!timers_are_empty(&executor->timers) && (executor->interrupted || executor->leaving ||
                                                    timers_due_us(&executor->timers) <= now)) {
        Work work = timers_take(&executor->timers).work;
        turn_begin(executor, TURN_WAKE, work);
        turn_now(executor)->end = TURN_WAITS;
        schedule_requeue(executor->schedule, work);
    }
}

/* --max-wait has expired. */
static void give_up_waiting(Executor *executor)
{
    executor->timed_out = true;
    while (!timers_are_empty(&executor->timers)) {
        Work work = timers_take(&executor->timers).work;
        turn_begin(executor, TURN_GIVE_UP, work);
        end_without(executor, work, RESULT_WAITING, executor->reports[work.step].reason);
    }
}

static void finish_together(Executor *executor, Running *running)
{
    while (running != NULL) {
        Running *joined = (Running *)running->task.joined;
        turn_begin(executor, TURN_FINISH, running->work);
        finish(executor, running);
        running_end(executor->arena, &executor->spares, running);
        running = joined;
    }
}

void executor_run(Executor *executor)
{
    const ExecutorSettings *settings = &executor->settings;
    executor->start_us = clock_monotonic_us();
    int64_t deadline = settings->max_wait_us < 0 ? -1 : executor->start_us + settings->max_wait_us;
    while (!schedule_is_finished(executor->schedule)) {
        take_interrupts(executor);
        for (Work work; schedule_next(executor->schedule, &work);) {
            start_together(executor, work);
            take_interrupts(executor);
        }
        if (schedule_is_finished(executor->schedule)) {
            break;
        }
        int64_t now = clock_monotonic_us();
        int64_t wait_ms = timers_wait_ms(&executor->timers, now, TICK_US, deadline);
        Running *running = pool_wait(executor->pool, wait_ms, settings->interrupts);
        executor->looked_us = 0; /* the wait may have been ended by an interrupt */
        if (running != NULL) {
            finish_together(executor, running);
            continue;
        }
        now = clock_monotonic_us();
        wake(executor, now);
        if (deadline >= 0 && now >= deadline && !timers_are_empty(&executor->timers)) {
            give_up_waiting(executor);
        }
        waiting_tick(settings, executor->arena);
    }
    executor->end_us = clock_monotonic_us();
}

Executor *executor_new(Arena *arena, const ExecutorSettings *settings)
{
    uint32_t count = settings->graph->steps.count;
    Executor *executor = ARENA_NEW(arena, Executor);
    executor->settings = *settings;
    executor->arena = arena;
    executor->schedule = schedule_new(arena, settings->graph, settings->order, settings->workers);
    executor->pool = pool_new(THREADS_MAX);
    executor->joining = ARENA_ARRAY(arena, Work, JOIN_MAX);
    executor->runs = arena_alloc_zero(arena, (count + 1) * sizeof(StepRun));
    executor->times = arena_alloc_zero(arena, (count + 1) * sizeof(ChangeTime));
    executor->reports = arena_alloc_zero(arena, (count + 1) * sizeof(StepReport));
    VEC_RESERVE(arena, &executor->turns.list, count);
    for (uint32_t i = 0; i < count; i++) {
        executor->reports[i].value = value_null();
        if (settings->owed != NULL && settings->owed[i] != 0) {
            executor->runs[i].status.owed = settings->owed[i];
            schedule_set_owed(executor->schedule, i, settings->owed[i]);
        }
    }
    return executor;
}

void executor_free(Executor *executor)
{
    if (executor != NULL) {
        pool_free(executor->pool);
        for (uint32_t i = 0; i < executor->settings.graph->steps.count; i++) {
            executor_report_arena_clear(executor->runs[i].tried);
        }
        spares_clear(&executor->spares);
    }
}

const StepReport *executor_reports(const Executor *executor)
{
    return executor->reports;
}

const Turns *executor_turns(const Executor *executor)
{
    return &executor->turns;
}

bool executor_was_interrupted(const Executor *executor)
{
    return executor->interrupted;
}

bool executor_timed_out(const Executor *executor)
{
    return executor->timed_out;
}

int64_t executor_duration_us(const Executor *executor)
{
    return executor->end_us - executor->start_us;
}
