#include "run/task.h"

#include "sys/clock.h"

static bool before(Task *task, Error *err)
{
    const TaskJournal *journal = task->journal;
    return journal == NULL ||
           journal->before(journal->context, task->call.step, &task->outcome, err);
}

static void after(Task *task, bool ok)
{
    if (task->journal != NULL) {
        task->journal->after(task->journal->context, task->call.step, &task->outcome, ok);
    }
}

/* `changed` starts as false: the module sets it once something differs, so it is also correct if
 * the effect fails halfway. The comment of the check, "created", is used only when that is true. */
static void begin_effect(Task *task)
{
    task->outcome.changed = false;
    task->planned = task->outcome.comment;
    task->outcome.comment = STR_EMPTY;
}

static void drop_diff(Outcome *outcome)
{
    if (!outcome->keeps_diff) {
        outcome->diff = STR_EMPTY;
    }
}

/* Nothing was done: the findings of the check would be misleading. */
static void drop_findings(Outcome *outcome)
{
    outcome->changed = false;
    outcome->changes = NULL;
    outcome->comment = STR_EMPTY;
    drop_diff(outcome);
}

/* The findings count as changes, unless nothing was done. */
static void end_effect(Task *task, bool ok)
{
    Outcome *outcome = &task->outcome;
    if (ok && outcome->comment.len == 0) {
        outcome->comment = task->planned;
    }
    if (!ok && !outcome->changed) {
        outcome->changes = NULL;
        drop_diff(outcome);
    }
}

/* Runs an effect between its two journal records. */
static bool act(Task *task, ActionFunction function, Error *err)
{
    if (!before(task, err)) {
        drop_findings(&task->outcome);
        return false;
    }
    begin_effect(task);
    bool ok = function(&task->call, &task->outcome, err);
    end_effect(task, ok);
    after(task, ok);
    return ok;
}

static bool react(Task *task, Error *err)
{
    const Action *action = task->call.action;
    if (action->react == NULL) {
        return true;
    }
    if (!before(task, err)) {
        return false;
    }
    bool changed = task->outcome.changed;
    task->call.ran_after_change = task->call.ran_after_change || task->applied;
    bool ok = action->react(&task->call, &task->outcome, err);
    after(task, ok);
    task->outcome.changed = task->outcome.changed || changed;
    task->reacted = ok;
    return ok;
}

/* Whether there is something to apply. */
static bool check_step(Task *task, Error *err)
{
    const Action *action = task->call.action;
    if (action->check != NULL && !action->check(&task->call, &task->outcome, err)) {
        drop_findings(&task->outcome);
        return false;
    }
    if (task->kind == TASK_RUN) {
        task->applied = task->outcome.changed || task->outcome.unknown;
        task->outcome.unknown = task->outcome.unknown && !task->applied;
    }
    return true;
}

static bool execute(Task *task, Error *err)
{
    const Action *action = task->call.action;
    if (task->kind == TASK_REACT) {
        return react(task, err);
    }
    if (!check_step(task, err)) {
        return false;
    }
    if (task->applied && action->apply != NULL && !act(task, action->apply, err)) {
        return false;
    }
    return !task->react || react(task, err);
}

static void run_single(Task *task)
{
    int64_t start = clock_monotonic_us();
    task->failed = !execute(task, &task->error);
    task->duration_us = clock_monotonic_us() - start;
}

/* Runs all checks, then one effect for the tasks that need it, between the journal records of
 * each. */
static void run_joined(Task *first)
{
    int64_t start = clock_monotonic_us();
    uint32_t count = 0;
    for (Task *task = first; task != NULL; task = task->next_joined) {
        task->failed = !check_step(task, &task->error);
        count++;
    }
    MergedCall *calls = ARENA_ARRAY(&first->arena, MergedCall, count);
    Task **tasks = ARENA_ARRAY(&first->arena, Task *, count);
    uint32_t acting = 0;
    for (Task *task = first; task != NULL; task = task->next_joined) {
        if (!task->failed && task->applied && before(task, &task->error)) {
            begin_effect(task);
            tasks[acting] = task;
            calls[acting++] = (MergedCall){ &task->call, &task->outcome, false, &task->error };
        } else if (!task->failed && task->applied) {
            task->failed = true;
            drop_findings(&task->outcome);
        }
    }
    if (acting > 0) {
        first->call.action->merge(calls, acting);
    }
    for (uint32_t i = 0; i < acting; i++) {
        tasks[i]->failed = calls[i].failed;
        end_effect(tasks[i], !calls[i].failed);
        after(tasks[i], !calls[i].failed);
    }
    for (Task *task = first; task != NULL; task = task->next_joined) {
        task->failed = task->failed || (task->react && !react(task, &task->error));
        task->duration_us = clock_monotonic_us() - start;
    }
}

void task_run(void *context)
{
    Task *task = context;
    if (task->next_joined != NULL) {
        run_joined(task);
    } else {
        run_single(task);
    }
}

/* --- Tasks in progress ------------------------------------------------------------------------ */

RunningTask *running_task_new(Arena *arena, SpareTasks *spares, Work work)
{
    if (spares->len == 0) {
        RunningTask *running = ARENA_NEW(arena, RunningTask);
        running->work = work;
        arena_init(&running->task.arena, ARENA_UNLIMITED);
        return running;
    }
    RunningTask *running = VEC_POP(spares);
    Arena kept = running->task.arena;
    arena_reset(&kept);
    *running = (RunningTask){ .work = work, .task.arena = kept };
    return running;
}

void running_task_recycle(Arena *arena, SpareTasks *spares, RunningTask *running)
{
    VEC_PUSH(arena, spares, running);
}

void spare_tasks_clear(SpareTasks *spares)
{
    for (uint32_t i = 0; i < spares->len; i++) {
        arena_clear(&spares->items[i]->task.arena);
    }
    spares->len = 0;
}
