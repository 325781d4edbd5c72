/* What a worker does with one step: check, apply, react. Touches nothing of the run but its own
 * task and the services that it was given, which may be called from any worker. */
#pragma once

#include "base/vec.h"
#include "model/schedule.h"
#include "modules/call.h"

typedef enum TaskKind {
    TASK_CHECK, /* look only: a plan, or the target of a prereq */
    TASK_RUN,   /* check, and apply what check found */
    TASK_REACT, /* what listen causes, at the end */
} TaskKind;

/* Told before and after every effect. Before: durable when it answers true, else the effect does
 * not take place. */
typedef struct TaskJournal {
    void *context;
    bool (*before)(void *context, uint32_t step, const Outcome *found, Error *err);
    void (*after)(void *context, uint32_t step, const Outcome *outcome, bool ok);
} TaskJournal;

typedef struct Task {
    TaskKind kind;
    bool react; /* after running, because something that it watches has changed */
    Call call;
    const TaskJournal *journal; /* NULL: none, nothing to be journaled */
    Arena arena;                /* of the call: parameters and outcome */
    struct Task *joined;        /* the next of those that are applied together; NULL: no more */

    /* How it went. */
    Outcome outcome;
    bool failed;
    Error error;
    Str planned;  /* the comment of check, while apply goes on */
    bool applied; /* apply was called */
    bool reacted;
    int64_t duration_us;
} Task;

/* Carries out the Task that `context` is, and those that joined it; what pool_submit calls. */
void task_run(void *context);

/* Tasks under way, each with its work. One that is over is used again: the memory of its arena serves the
 * next. */
typedef struct Running {
    Task task; /* first: what the pool gives back */
    Work work;
} Running;

typedef VEC(Running *) Spares;

/* Empty but for its work; a spare one when there is. */
Running *running_new(Arena *arena, Spares *spares, Work work);
/* What its arena holds is gone when the next takes it. */
void running_end(Arena *arena, Spares *spares, Running *running);
void spares_clear(Spares *spares);
