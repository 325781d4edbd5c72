/* The work on one step: check, apply, react. Accesses only its own task and the services it was
 * given, which may be called from any worker. */
#pragma once

#include "base/vec.h"
#include "model/schedule.h"
#include "modules/call.h"

typedef enum TaskKind {
    TASK_CHECK, /* check only: a plan, or the target of a prereq */
    TASK_RUN,   /* check, and apply the findings */
    TASK_REACT, /* the final reaction caused by listen */
} TaskKind;

/* Called before and after every effect. Before: the record is durable if it returns true, otherwise
 * the effect does not happen. */
typedef struct TaskJournal {
    void *context;
    bool (*before)(void *context, uint32_t step, const Outcome *found, Error *err);
    void (*after)(void *context, uint32_t step, const Outcome *outcome, bool ok);
} TaskJournal;

typedef struct Task {
    TaskKind kind;
    bool react; /* after running, because a watched step has changed */
    Call call;
    const TaskJournal *journal; /* NULL: nothing is journaled */
    Arena arena;                /* for the call: parameters and outcome */
    /* the next task that is applied together with this one; may be NULL */
    struct Task *next_joined;

    /* Results. */
    Outcome outcome;
    bool failed;
    Error error;
    Str planned;  /* the comment of check, during apply */
    bool applied; /* apply was called */
    bool reacted;
    int64_t duration_us;
} Task;

/* Runs the Task `context` and those joined to it; called by pool_submit(). */
void task_run(void *context);

/* Tasks in progress, each with its work item. A finished one is reused, including the memory of its
 * arena. */
typedef struct RunningTask {
    Task task; /* first member: what the pool returns */
    Work work;
} RunningTask;

typedef VEC(RunningTask *) SpareTasks;

/* Empty except for its work item; reuses a spare one if available. */
RunningTask *running_task_new(Arena *arena, SpareTasks *spares, Work work);
/* The content of its arena is lost when it is reused. */
void running_task_recycle(Arena *arena, SpareTasks *spares, RunningTask *running);
void spare_tasks_clear(SpareTasks *spares);
