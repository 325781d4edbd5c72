/* The lifecycle of a step: the schedule hands it out; decide() and its own conditions determine
 * whether it runs; its parameters are resolved; its task is run by the owner; `success` and
 * `continue` are evaluated; the report is filled in and the schedule is updated. A step that has to
 * wait in between is parked, and `stage` records where it resumes. */
#include "run/run_core.h"

#include "base/bug.h"
#include "base/vec.h"
#include "run/executor_report.h"
#include "run/reaction.h"
#include "run/run_core_inner.h"

/* --- Starting -------------------------------------------------------------------------------- */

/* Whether it can share a transaction with other ready steps. */
static bool can_join(const RunCore *core, Work work, const Action *action)
{
    const RunCoreSettings *settings = &core->settings;
    return settings->order == MODE_GENIUS && action->merge != NULL && work.phase == PHASE_RUN &&
           !settings->planning;
}

static void gather(RunCore *core, RunningTask *running)
{
    if (core->gathered == NULL) {
        core->gathered = running;
    } else {
        core->gathered_last->task.next_joined = &running->task;
    }
    core->gathered_last = running;
}

static void start_action(RunCore *core, Work work)
{
    const RunCoreSettings *settings = &core->settings;
    const StepSpec *spec = core_step(core, work.step)->spec;
    const Action *action = spec->action;
    StepRun *run = &core->runs[work.step];
    RunningTask *running = running_task_new(core->arena, &core->spares, work);
    Task *task = &running->task;
    Value *params = ARENA_ARRAY(&task->arena, Value, action_param_count(action) + 1);
    switch (settings->environment.params(settings->environment.context, work.step, &task->arena,
                                         params, core_fresh_problems(core))) {
    case DYNAMIC_OK: break;
    case DYNAMIC_UNKNOWN:
        core_turn(core)->params = PARAMS_UNKNOWN;
        if (settings->planning) {
            running_task_recycle(core->arena, &core->spares, running);
            core_end_without_action(core, work, RESULT_UNKNOWN,
                                    STR("a parameter is not known before the run"));
            return;
        }
        core_add_error(core, work.step, "E0602",
                       "a parameter requires a result that this run does not have");
        running_task_recycle(core->arena, &core->spares, running);
        core_end_failed(core, work, NULL);
        return;
    case DYNAMIC_FAILED:
        core_turn(core)->params = PARAMS_FAILED;
        core_take_error(core, work.step);
        running_task_recycle(core->arena, &core->spares, running);
        core_end_failed(core, work, NULL);
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
                         .canceled = &core->canceled,
                         .planning = task->kind == TASK_CHECK,
                         .is_prereq_check = work.phase == PHASE_CHECK };
    if (task->react || task->kind == TASK_REACT) {
        change_time_fill_call(settings->graph, core->change_times, work, &task->call);
    }
    StepReport *report = &core->reports[work.step];
    report->attempts++;
    if (report->run_order == 0 && work.phase != PHASE_CHECK) {
        report->run_order = ++core->ran;
    }
    if (settings->view.started != NULL) {
        settings->view.started(settings->view.context, work.step, work.phase);
    }
    if (can_join(core, work, action)) {
        gather(core, running);
    } else {
        core->ready = running;
        /* Sequential execution needs no other thread. */
        core->runs_inline = settings->order == MODE_ANSIBLE && action_is_quick(action, params);
    }
}

/* Whether the step waits for something outside of this run, or has waited for too long. */
static bool is_held(RunCore *core, Work work)
{
    const RunCoreOps *environment = &core->settings.environment;
    StepRun *run = &core->runs[work.step];
    Hold hold = { 0 };
    if (run->stage == STAGE_ACT || core->settings.planning || environment->held == NULL ||
        !environment->held(environment->context, work.step, &hold)) {
        return false;
    }
    core_turn(core)->override = OVERRIDE_WAIT;
    if (!str_eq(run->held_key, hold.key)) {
        run->held_key = arena_copy(core->arena, hold.key);
        run->held_since_us = core->now_us;
    }
    int64_t until_us = hold.limit_ms > 0 ? run->held_since_us + hold.limit_ms * 1000 : 0;
    if (until_us > 0 && core->now_us >= until_us) {
        core_add_error(core, work.step, "E0608", "gave up after %lld s: %" STR_FMT,
                       (long long)(hold.limit_ms / 1000), STR_ARG(hold.why));
        core_end_failed(core, work, NULL);
        return true;
    }
    int64_t again_us = hold.recheck_ms > 0 ? core->now_us + hold.recheck_ms * 1000 : INT64_MAX;
    CoreHeld held = { work, run->held_key, arena_copy(core->arena, hold.why), run->held_since_us,
                      until_us };
    core->reports[work.step].reason = held.why;
    core_turn(core)->end = TURN_WAITS;
    schedule_park(core->schedule, work);
    VEC_PUSH(core->arena, &core->held, held);
    VEC_PUSH(core->arena, &core->held_again, again_us);
    const RunView *view = &core->settings.view;
    if (view->waits != NULL) {
        view->waits(view->context, work.step, held.why, until_us);
    }
    return true;
}

/* Evaluates the step's own conditions, then starts it. */
static void start_step(RunCore *core, Work work)
{
    StepRun *run = &core->runs[work.step];
    const RunCoreOps *environment = &core->settings.environment;
    if (environment->targeted != NULL && !environment->targeted(environment->context, work.step)) {
        core->reports[work.step].declined = true;
        core_turn(core)->override = OVERRIDE_TARGET;
        core_end_without_action(core, work, RESULT_SKIPPED,
                                STR("its target does not include this node"));
        return;
    }
    if (is_held(core, work)) {
        return;
    }
    static const Retry no_retry = { .is_set = false };
    const Condition *which = NULL;
    Answer answer =
        run->stage == STAGE_ACT ? ANSWER_YES : core_evaluate_when(core, work.step, &which);
    const Retry *retry = which == NULL ? &no_retry : &which->retry;
    Str text = which == NULL ? STR_EMPTY : executor_test_text(&which->test);
    run->evaluations = answer == ANSWER_YES ? 0 : run->evaluations + (answer == ANSWER_NO);
    switch (conclude_when(answer, retry, run->evaluations, core->settings.planning)) {
    case VERDICT_PROCEED: start_action(core, work); return;
    case VERDICT_SKIP:
        core->reports[work.step].declined = true;
        core_end_without_action(
            core, work, RESULT_SKIPPED,
            arena_format(core->arena, "condition is false: %" STR_FMT, STR_ARG(text)));
        return;
    case VERDICT_UNKNOWN:
        core_end_without_action(core, work, RESULT_UNKNOWN,
                                STR("its condition is not known before the run"));
        return;
    case VERDICT_WAIT:
        core_end_without_action(core, work, RESULT_WAITING,
                                arena_format(core->arena, "waiting for: %" STR_FMT, STR_ARG(text)));
        return;
    case VERDICT_PARK:
        core_park(core, work, STAGE_START, retry->interval_ms,
                  arena_format(core->arena, "waiting for: %" STR_FMT, STR_ARG(text)));
        return;
    case VERDICT_FAIL: break;
    }
    if (answer == ANSWER_NO) {
        core_add_error(core, work.step, "E0604", "gave up after %lld attempts: %" STR_FMT,
                       (long long)run->evaluations, STR_ARG(text));
    } else if (answer == ANSWER_UNKNOWN) {
        core_add_error(core, work.step, "E0602",
                       "its condition requires a result that this run does not have");
    }
    core_end_failed(core, work, NULL);
}

/* Finishes a step that is not started because the run was interrupted or the machine will
 * reboot. */
static void end_unstarted(RunCore *core, Work work)
{
    if (!core->interrupted) {
        core_end_without_action(core, work, RESULT_WAITING,
                                STR("waiting for the machine to reboot"));
    } else if (work.phase == PHASE_REACT) {
        core_end_without_action(core, work, RESULT_SKIPPED, STR("interrupted before it reacted"));
    } else if (core->runs[work.step].stage != STAGE_START) {
        core_end_without_action(core, work, RESULT_WAITING, STR("interrupted while waiting"));
    } else {
        core->reports[work.step].left = true;
        core_end_without_action(core, work, RESULT_SKIPPED, STR("interrupted before it started"));
    }
}

/* The final reaction to the steps it listens to. Its parameters may need results of this run. */
static void plan_late_reaction(RunCore *core, Work work)
{
    const RunCoreOps *environment = &core->settings.environment;
    uint32_t count = action_param_count(core_step(core, work.step)->spec->action);
    Value *params = ARENA_ARRAY(core->arena, Value, count + 1);
    (void)environment->params(environment->context, work.step, core->arena, params,
                              core_fresh_problems(core));
    Str words =
        reaction_forecast(core->arena, core->settings.graph, schedule_statuses(core->schedule),
                          work.step, REQUISITE_LISTEN, params);
    if (words.len > 0) {
        core->runs[work.step].status.changed = true;
        core->reports[work.step].reason = words;
    }
    core_end_succeeded(core, work, NULL);
}

static void start(RunCore *core, TurnKind kind, Work work)
{
    StepRun *run = &core->runs[work.step];
    core_turn_begin(core, kind, work);
    if (core->interrupted || core->leaving) {
        core_turn(core)->override = core->interrupted ? OVERRIDE_INTERRUPTED : OVERRIDE_REBOOT;
        end_unstarted(core, work);
        return;
    }
    if (run->stage == STAGE_SUCCESS || run->stage == STAGE_CONTINUE) {
        core_evaluate_result(core, work, run->params);
        return;
    }
    Decision decision = decide(core->settings.graph, work, schedule_statuses(core->schedule),
                               core->settings.planning, core->arena);
    core_turn(core)->decided = true;
    core_turn(core)->decision = decision;
    if (work.phase != PHASE_REACT) {
        core->reports[work.step].declined = decision.kind == DECIDE_SKIP && decision.owes == 0;
    }
    if (decision.kind != DECIDE_RUN) {
        if (work.phase == PHASE_RUN) { /* the change found by its check is not going to happen */
            executor_report_empty(&core->reports[work.step]);
            core->reports[work.step].cause = CAUSE_NONE;
        }
        core_end_without_action(core, work, conclude_decision(decision.kind), decision.reason);
        return;
    }
    run->reacts = decision.react;
    if (work.phase != PHASE_REACT) {
        start_step(core, work);
    } else if (core->settings.planning) {
        plan_late_reaction(core, work);
    } else {
        start_action(core, work);
    }
}

/* Starts a work item together with those that can share its transaction. */
static void start_together(RunCore *core, Work work)
{
    start(core, TURN_START, work);
    if (core->gathered == NULL) {
        return;
    }
    uint32_t count = schedule_join(core->schedule, work, core->joining);
    for (uint32_t i = 0; i < count; i++) {
        start(core, TURN_JOIN, core->joining[i]);
    }
    core->ready = TAKE(core->gathered);
    core->runs_inline = false;
}

/* --- Waiting ---------------------------------------------------------------------------------- */

/* The waits that began during the last event. */
static void begin_event(RunCore *core, int64_t now_us)
{
    const RunView *view = &core->settings.view;
    core->now_us = now_us;
    for (uint32_t i = 0; i < core->parked.len; i++) {
        const Parked *parked = &core->parked.items[i];
        int64_t due_us = now_us + parked->interval_ms * 1000;
        timers_add(&core->timers, core->arena, (Timer){ due_us, parked->work });
        if (view->waits != NULL) {
            view->waits(view->context, parked->work.step, parked->why, due_us);
        }
    }
    core->parked.len = 0;
}

static bool is_waiting(const RunCore *core)
{
    return !timers_are_empty(&core->timers) || core->held.len > 0;
}

static bool is_ending(const RunCore *core)
{
    return core->interrupted || core->leaving;
}

static int64_t held_due_us(const RunCore *core, uint32_t at)
{
    int64_t until_us = core->held.items[at].until_us, again_us = core->held_again.items[at];
    return until_us > 0 && until_us < again_us ? until_us : again_us;
}

/* When run_core_due() has something to do. */
static int64_t due_us(const RunCore *core)
{
    int64_t due = timers_are_empty(&core->timers) ? INT64_MAX : timers_due_us(&core->timers);
    if (!is_waiting(core)) {
        return -1;
    }
    if (is_ending(core)) {
        return core->now_us;
    }
    for (uint32_t i = 0; i < core->held.len; i++) {
        int64_t held = held_due_us(core, i);
        due = held < due ? held : due;
    }
    if (core->deadline_us >= 0 && core->deadline_us < due) {
        due = core->deadline_us;
    }
    return due == INT64_MAX ? -1 : due;
}

static void requeue(RunCore *core, Work work)
{
    core_turn_begin(core, TURN_WAKE, work);
    core_turn(core)->end = TURN_WAITS;
    schedule_requeue(core->schedule, work);
}

/* Returns its work. The order of the others is kept, so that steps are woken in the order in which
 * they began to wait. */
static Work take_held(RunCore *core, uint32_t at)
{
    Work work = core->held.items[at].work;
    uint32_t behind = core->held.len - at - 1;
    memmove(&core->held.items[at], &core->held.items[at + 1], behind * sizeof(CoreHeld));
    memmove(&core->held_again.items[at], &core->held_again.items[at + 1], behind * sizeof(int64_t));
    core->held.len--;
    core->held_again.len--;
    return work;
}

/* Puts work items that are due back into the schedule; all of them if nothing is started
 * anymore. */
static void wake_due(RunCore *core)
{
    while (!timers_are_empty(&core->timers) &&
           (is_ending(core) || timers_due_us(&core->timers) <= core->now_us)) {
        requeue(core, timers_take(&core->timers).work);
    }
    for (uint32_t i = 0; i < core->held.len;) {
        if (is_ending(core) || held_due_us(core, i) <= core->now_us) {
            requeue(core, take_held(core, i));
        } else {
            i++;
        }
    }
}

/* The time for waiting is over. */
static void give_up_waiting(RunCore *core)
{
    core->timed_out = true;
    while (is_waiting(core)) {
        Work work =
            timers_are_empty(&core->timers) ? take_held(core, 0) : timers_take(&core->timers).work;
        core_turn_begin(core, TURN_GIVE_UP, work);
        core_end_without_action(core, work, RESULT_WAITING, core->reports[work.step].reason);
    }
}

/* --- Events ----------------------------------------------------------------------------------- */

CoreAction run_core_next(RunCore *core, int64_t now_us)
{
    Work work;
    begin_event(core, now_us);
    if (!schedule_next(core->schedule, &work)) {
        return schedule_is_finished(core->schedule)
                   ? (CoreAction){ .kind = CORE_END }
                   : (CoreAction){ .kind = CORE_WAIT, .until_us = due_us(core) };
    }
    start_together(core, work);
    if (core->ready == NULL) {
        return (CoreAction){ .kind = CORE_AGAIN };
    }
    if (core->runs_inline) {
        core->inline_task = core->ready;
    }
    return (CoreAction){ .kind = CORE_START,
                         .start = TAKE(core->ready),
                         .runs_inline = core->runs_inline };
}

void run_core_ended(RunCore *core, RunningTask *running, int64_t now_us)
{
    bool runs_inline = running == core->inline_task;
    BUG_IF(!runs_inline && core->inline_task != NULL);
    core->inline_task = NULL;
    begin_event(core, now_us);
    while (running != NULL) {
        RunningTask *joined = (RunningTask *)running->task.next_joined;
        if (!runs_inline) {
            core_turn_begin(core, TURN_FINISH, running->work);
        }
        core_finish(core, running);
        running_task_recycle(core->arena, &core->spares, running);
        running = joined;
    }
}

void run_core_due(RunCore *core, int64_t now_us)
{
    begin_event(core, now_us);
    wake_due(core);
    if (core->deadline_us >= 0 && now_us >= core->deadline_us && is_waiting(core)) {
        give_up_waiting(core);
    }
}

uint32_t run_core_wake(RunCore *core, Str key, int64_t now_us)
{
    uint32_t count = 0;
    begin_event(core, now_us);
    for (uint32_t i = 0; i < core->held.len;) {
        if (str_eq(core->held.items[i].key, key)) {
            requeue(core, take_held(core, i));
            count++;
        } else {
            i++;
        }
    }
    return count;
}

static void report_interrupted(const RunCore *core, bool again)
{
    const RunView *view = &core->settings.view;
    if (view->interrupted != NULL) {
        view->interrupted(view->context, again);
    }
}

void run_core_interrupt(RunCore *core)
{
    if (!core->interrupted) {
        report_interrupted(core, false);
        core->interrupted = true;
    }
}

void run_core_cancel(RunCore *core)
{
    run_core_interrupt(core);
    report_interrupted(core, true);
    atomic_store(&core->canceled, true);
}

/* --- Lifecycle -------------------------------------------------------------------------------- */

RunCore *run_core_new(Arena *arena, const RunCoreSettings *settings, int64_t now_us)
{
    uint32_t count = settings->graph->steps.count;
    RunCore *core = ARENA_NEW(arena, RunCore);
    core->settings = *settings;
    core->arena = arena;
    core->now_us = now_us;
    core->deadline_us = settings->max_wait_us < 0 ? -1 : now_us + settings->max_wait_us;
    core->schedule = schedule_new(arena, settings->graph, settings->order, settings->workers);
    core->joining = ARENA_ARRAY(arena, Work, JOIN_MAX);
    core->runs = arena_alloc_zero(arena, (count + 1) * sizeof(StepRun));
    core->change_times = arena_alloc_zero(arena, (count + 1) * sizeof(ChangeTime));
    core->reports = arena_alloc_zero(arena, (count + 1) * sizeof(StepReport));
    VEC_RESERVE(arena, &core->turns.list, count);
    for (uint32_t i = 0; i < count; i++) {
        core->reports[i].value = value_null();
        if (settings->owed != NULL && settings->owed[i] != 0) {
            core->runs[i].status.owed = settings->owed[i];
            schedule_set_owed(core->schedule, i, settings->owed[i]);
        }
    }
    return core;
}

void run_core_free(RunCore *core)
{
    if (core != NULL) {
        for (uint32_t i = 0; i < core->settings.graph->steps.count; i++) {
            executor_report_arena_clear(core->runs[i].attempt_arena);
        }
        spare_tasks_clear(&core->spares);
    }
}

const StepReport *run_core_reports(const RunCore *core)
{
    return core->reports;
}

const Turns *run_core_turns(const RunCore *core)
{
    return &core->turns;
}

const CoreHeld *run_core_held(const RunCore *core, uint32_t *count)
{
    *count = core->held.len;
    return core->held.items;
}

bool run_core_was_interrupted(const RunCore *core)
{
    return core->interrupted;
}

bool run_core_timed_out(const RunCore *core)
{
    return core->timed_out;
}
