/* Evaluates the conditions of a step, handles the outcome of its action, and fills in its
 * report. */
#include "base/vec.h"
#include "run/executor_report.h"
#include "run/reaction.h"
#include "run/run_core_inner.h"
#include "run/scope.h"

/* --- Turns: the record of decisions ---------------------------------------------------------- */

void core_turn_begin(RunCore *core, TurnKind kind, Work work)
{
    VEC_PUSH(core->arena, &core->turns.list,
             (Turn){ .kind = kind,
                     .work = work,
                     .first_evaluation = core->turns.evaluations.len,
                     .end = TURN_ACTS });
}

/* The current one. */
Turn *core_turn(RunCore *core)
{
    return &VEC_LAST(&core->turns.list);
}

/* --- Finishing ------------------------------------------------------------------------------- */

const Step *core_step(const RunCore *core, uint32_t step)
{
    return graph_step(core->settings.graph, step);
}

static Str core_scrub(RunCore *core, Str text)
{
    return executor_scrub(&core->settings.environment, core->arena, text);
}

/* A new list for each evaluation: thousands of steps may fail, and each keeps its error. */
Problems *core_fresh_problems(RunCore *core)
{
    problems_init(&core->problems, core->arena);
    return &core->problems;
}

/* The first problem becomes the step's error. */
void core_take_error(RunCore *core, uint32_t step)
{
    Problem *error = &core->problems.items[0];
    executor_scrub_problem(&core->settings.environment, core->arena, error);
    core->reports[step].error = error;
}

void core_add_error_at(RunCore *core, uint32_t step, Value place, const char *code,
                       const char *format, ...)
{
    Buf text = buf_make_in(core->arena, PROBLEM_MESSAGE_MAX);
    va_list args;
    va_start(args, format);
    buf_put_format_v(&text, format, args);
    va_end(args);
    problems_add(core_fresh_problems(core), code,
                 sources_get(core->settings.graph->sources, place.source), place.start, place.span,
                 "%" STR_FMT, STR_ARG(core_scrub(core, buf_str(&text))));
    core_take_error(core, step);
}

/* Where a condition is written; for a condition inherited from elsewhere, the step itself. */
static Value condition_place(const RunCore *core, uint32_t step, const Dynamic *test)
{
    Value place = test->value;
    return value_is_missing(place) || place.source == SOURCE_NONE || place.span == 0
               ? step_name_place(core_step(core, step)->spec)
               : place;
}

/* Reports the outcome of a work item to the schedule and the view. */
static void core_end(RunCore *core, Work work, const Value *params)
{
    StepReport *report = &core->reports[work.step];
    StepRun *run = &core->runs[work.step];
    report->status = run->status;
    run->stage = STAGE_START; /* for the next phase */
    run->evaluations = 0;
    core_turn(core)->end = TURN_ENDED;
    core_turn(core)->status = report->status;
    schedule_done(core->schedule, work, &report->status);
    const RunCoreSettings *settings = &core->settings;
    if (work.phase != PHASE_CHECK && settings->environment.ended != NULL) {
        settings->environment.ended(settings->environment.context, work, params);
    }
    if (settings->view.ended != NULL) {
        settings->view.ended(settings->view.context, work.step, work.phase);
    }
}

/* Finishes a work item without running its action. `reason` is in the run's arena. */
void core_end_without_action(RunCore *core, Work work, StepResult result, Str reason)
{
    conclude_not_run(&core->runs[work.step].status, work.phase, result);
    core->reports[work.step].reason = reason;
    core_end(core, work, NULL);
}

/* --- Waiting --------------------------------------------------------------------------------- */

void core_park(RunCore *core, Work work, Stage stage, int64_t interval_ms, Str why)
{
    core->runs[work.step].stage = stage;
    core->reports[work.step].reason = why;
    core_turn(core)->end = TURN_WAITS;
    schedule_park(core->schedule, work);
    VEC_PUSH(core->arena, &core->parked, (Parked){ work, interval_ms, why });
}

static Answer evaluate(RunCore *core, uint32_t step, const Dynamic *test, bool own)
{
    const RunCoreOps *environment = &core->settings.environment;
    Value value;
    switch (environment->evaluate(environment->context, step, test, own, core->arena, &value,
                                  core_fresh_problems(core))) {
    case DYNAMIC_OK: break;
    case DYNAMIC_UNKNOWN: return ANSWER_UNKNOWN;
    case DYNAMIC_FAILED: core_take_error(core, step); return ANSWER_FAILED;
    }
    if (scope_is_negative_text(value)) {
        core_add_error_at(core, step, test->value, "E0607",
                          "the condition evaluates to the string '%" STR_FMT
                          "', which counts as true",
                          STR_ARG(value_str(value)));
        return ANSWER_FAILED;
    }
    return value_is_true(value) ? ANSWER_YES : ANSWER_NO;
}

/* Evaluates a condition and records the result. All conditions except `when` can access the step's
 * own result. */
static Answer ask(RunCore *core, uint32_t step, ConditionName name, const Dynamic *test,
                  const Retry *retry)
{
    const RunCoreOps *environment = &core->settings.environment;
    const StepRun *run = &core->runs[step];
    bool again = environment->evaluate_again != NULL && (run->evaluations > 0 || run->retried > 0);
    if (again) {
        environment->evaluate_again(environment->context, true);
    }
    Answer answer = evaluate(core, step, test, name != CONDITION_WHEN);
    if (again) {
        environment->evaluate_again(environment->context, false);
    }
    VEC_PUSH(core->arena, &core->turns.evaluations,
             (ConditionEvaluation){ .condition = name,
                                    .answer = answer,
                                    .text = value_is_string(test->value) ? value_str(test->value)
                                                                         : STR_EMPTY,
                                    .retries = retry->is_set,
                                    .limit = retry->limit });
    core_turn(core)->evaluation_count++;
    return answer;
}

/* `when` of the step, and of the paths that lead to its job. */
Answer core_evaluate_when(RunCore *core, uint32_t step, const Condition **which)
{
    const StepSpec *spec = core_step(core, step)->spec;
    const Job *job = spec->job;
    Answer answer = job->gate_count == 0 ? ANSWER_YES : ANSWER_NO;
    for (uint32_t i = 0; i < job->gate_count && answer == ANSWER_NO; i++) {
        answer = ANSWER_YES;
        for (const JobGate *gate = job->gates[i]; gate != NULL && answer == ANSWER_YES;
             gate = gate->outer) {
            if (gate->when.is_set) {
                *which = &gate->when;
                answer = ask(core, step, CONDITION_WHEN, &gate->when.test, &gate->when.retry);
            }
        }
    }
    if (answer == ANSWER_YES && spec->when->is_set) {
        *which = spec->when;
        answer = ask(core, step, CONDITION_WHEN, &spec->when->test, &spec->when->retry);
    }
    return answer;
}

/* --- After the action ------------------------------------------------------------------------ */

void core_end_succeeded(RunCore *core, Work work, const Value *params)
{
    conclude_success(&core->runs[work.step].status, work.phase);
    core_end(core, work, params);
}

void core_end_failed(RunCore *core, Work work, const Value *params)
{
    conclude_failed(&core->runs[work.step].status, work.phase);
    core_end(core, work, params);
}

/* Parameters are in the task's memory; a waiting step keeps a copy. */
static const Value *keep_params(RunCore *core, uint32_t step, const Value *params)
{
    StepRun *run = &core->runs[step];
    if (run->params == NULL && params != NULL) {
        uint32_t count = action_param_count(core_step(core, step)->spec->action);
        run->params = ARENA_ARRAY(core->arena, Value, count + 1);
        for (uint32_t i = 0; i < count; i++) {
            run->params[i] = value_copy(core->arena, params[i]);
        }
    }
    return run->params;
}

/* Evaluates a condition about the result. Returns false if the work item finished or is parked. */
static bool passes(RunCore *core, Work work, const Condition *condition, Stage stage,
                   ConditionName name, const Value *params)
{
    StepRun *run = &core->runs[work.step];
    if (!condition->is_set) {
        return true;
    }
    if (run->stage != stage) {
        run->stage = stage;
        run->evaluations = 0;
    }
    Answer answer = ask(core, work.step, name, &condition->test, &condition->retry);
    run->evaluations += answer == ANSWER_NO;
    Str text = executor_test_text(&condition->test);
    switch (conclude_result(answer, &condition->retry, run->evaluations, core->settings.planning)) {
    case VERDICT_PARK:
        keep_params(core, work.step, params);
        core_park(core, work, stage, condition->retry.interval_ms,
                  arena_format(core->arena, "waiting until '%s' is true: %" STR_FMT,
                               condition_name(name), STR_ARG(text)));
        return false;
    case VERDICT_FAIL:
        if (answer == ANSWER_NO) {
            core_add_error_at(core, work.step, condition_place(core, work.step, &condition->test),
                              "E0603", "'%s' is false: %" STR_FMT, condition_name(name),
                              STR_ARG(text));
        } else if (answer == ANSWER_UNKNOWN) {
            core_add_error_at(core, work.step, condition_place(core, work.step, &condition->test),
                              "E0602", "cannot evaluate '%s': %" STR_FMT, condition_name(name),
                              STR_ARG(text));
        }
        core_end_failed(core, work, params);
        return false;
    default: return true;
    }
}

void core_evaluate_result(RunCore *core, Work work, const Value *params)
{
    const StepSpec *spec = core_step(core, work.step)->spec;
    if (core->runs[work.step].stage != STAGE_CONTINUE &&
        !passes(core, work, spec->success, STAGE_SUCCESS, CONDITION_SUCCESS, params)) {
        return;
    }
    if (passes(core, work, spec->proceed, STAGE_CONTINUE, CONDITION_CONTINUE, params)) {
        core_end_succeeded(core, work, params);
    }
}

/* Whether to repeat the action (runOptions.retry): it failed, or `until` is false. */
static Verdict repeats(RunCore *core, Work work, bool failed)
{
    const Retry *retry = &core_step(core, work.step)->spec->run->retry;
    StepRun *run = &core->runs[work.step];
    if (!retry->is_set || core->settings.planning || work.phase != PHASE_RUN) {
        return failed ? VERDICT_FAIL : VERDICT_PROCEED;
    }
    core->reports[work.step].error = NULL; /* from an earlier attempt */
    bool asks = !failed && retry->until.value.kind != VALUE_NULL;
    Answer until = asks ? ask(core, work.step, CONDITION_UNTIL, &retry->until, retry) : ANSWER_YES;
    run->retried += failed || until != ANSWER_YES;
    return conclude_repeat(failed, until, retry, run->retried);
}

void core_finish(RunCore *core, RunningTask *running)
{
    Work work = running->work;
    StepRun *run = &core->runs[work.step];
    StepReport *report = &core->reports[work.step];
    Task *task = &running->task;
    const Outcome *outcome = &task->outcome;
    const Value *params = task->call.params;
    /* A reaction is caused by a change of another step: it is neither drift nor intent of its
     * own. */
    bool differed = task->applied || (outcome->changed && !task->reacted);
    /* The report of a reaction is added to the existing report. */
    bool is_retried =
        core_step(core, work.step)->spec->run->retry.is_set && work.phase != PHASE_REACT;
    change_time_note(&core->change_times[work.step], task);
    if (core->settings.planning && run->reacts) {
        reaction_plan(core->arena, core->settings.graph, schedule_statuses(core->schedule),
                      work.step, task);
    }
    if (core_step(core, work.step)->spec->secret) {
        executor_report_redact(&core->settings.environment, task);
    }
    report->duration_us += task->duration_us;
    executor_report_fill(report, outcome, work.phase == PHASE_REACT, &core->settings.environment,
                         executor_report_arena(&run->attempt_arena, core->arena, is_retried));
    Observation seen = { outcome->changed, outcome->unknown, task->failed, task->reacted,
                         outcome->shutdown != NULL };
    core_turn(core)->has_observation = true;
    core_turn(core)->observation = seen;
    conclude_observation(&run->status, work.phase, seen, core->settings.planning);
    report->status.changed = run->status.changed; /* for conditions about its own result */
    if (differed && report->cause == CAUSE_NONE && core->settings.environment.cause != NULL) {
        report->cause =
            core->settings.environment.cause(core->settings.environment.context, work.step, params);
    }
    if (work.phase == PHASE_CHECK && !task->failed) {
        core_end(core, work, params);
        return;
    }
    if (outcome->shutdown != NULL && !task->failed) {
        core->leaving = true;
        core_end_without_action(core, work, RESULT_WAITING,
                                STR("waiting for the machine to reboot"));
        return;
    }
    Verdict verdict = repeats(core, work, task->failed);
    if (verdict == VERDICT_PARK) {
        run->params = NULL; /* resolved again, because the values may have changed */
        core_park(core, work, STAGE_ACT, core_step(core, work.step)->spec->run->retry.interval_ms,
                  task->failed
                      ? arena_format(core->arena, "failed, will retry: %" STR_FMT,
                                     STR_ARG(core_scrub(core, str_from_c(task->error.text))))
                      : STR("will retry: 'until' is false"));
        return;
    }
    report->reason = STR_EMPTY; /* from an earlier attempt */
    if (task->failed) {
        Str text = str_from_c(task->error.text);
        core_add_error_at(
            core, work.step,
            step_error_place(core_step(core, work.step)->spec, params, task->call.blamed, text),
            "E0601", "%s", task->error.text);
        core_end_failed(core, work, params);
        return;
    }
    if (verdict == VERDICT_FAIL) {
        if (report->error == NULL) {
            const Retry *retry = &core_step(core, work.step)->spec->run->retry;
            core_add_error_at(core, work.step, condition_place(core, work.step, &retry->until),
                              "E0603", "'until' is still false after %lld attempts",
                              (long long)run->retried);
        }
        core_end_failed(core, work, params);
        return;
    }
    report->reason =
        core_scrub(core, task->call.provided_by); /* rather than why it waited earlier */
    if (work.phase == PHASE_REACT) {
        core_end_succeeded(core, work, params);
        return;
    }
    core_evaluate_result(core, work, params);
}
