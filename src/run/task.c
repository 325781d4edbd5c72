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

/* An effect between its two records. `changed` starts as false: the module sets it once something
 * is different, and so it is right also when the effect fails half way. */
static bool act(Task *task, ActionFunction function, Error *err)
{
    if (!before(task, err)) {
        return false;
    }
    task->outcome.changed = false;
    bool ok = function(&task->call, &task->outcome, err);
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
    bool ok = action->react(&task->call, &task->outcome, err);
    after(task, ok);
    task->outcome.changed = task->outcome.changed || changed;
    task->reacted = ok;
    return ok;
}

static bool carry_out(Task *task, Error *err)
{
    const Action *action = task->call.action;
    if (task->kind == TASK_REACT) {
        return react(task, err);
    }
    if (action->check != NULL && !action->check(&task->call, &task->outcome, err)) {
        return false;
    }
    if (task->kind == TASK_CHECK) {
        return true;
    }
    if (task->outcome.changed || task->outcome.unknown) {
        task->applied = true;
        task->outcome.unknown = false;
        if (action->apply != NULL && !act(task, action->apply, err)) {
            return false;
        }
    }
    return !task->react || react(task, err);
}

void task_run(void *context)
{
    Task *task = context;
    int64_t start = clock_monotonic_us();
    task->failed = !carry_out(task, &task->error);
    task->duration_us = clock_monotonic_us() - start;
}
