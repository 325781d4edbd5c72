/* Passes the change that caused a reaction to the reacting step, and describes reactions in
 * plans. */
#pragma once

#include "model/decide.h"
#include "run/task.h"

/* When a step acted and changed something. */
typedef struct ChangeTime {
    int64_t applied_us; /* when its last apply started, monotonic; 0: never */
    int64_t changed_us; /* when it last changed something, monotonic; 0: never */
    int64_t changed_ms; /* the same as wall clock time */
} ChangeTime;

/* Records a task that has just finished. */
void change_time_note(ChangeTime *time, const Task *task);
/* Fills in the call of a reaction. `times` has one entry per step. */
void change_time_fill_call(const Graph *graph, const ChangeTime *times, Work work, Call *call);

/* "would restart: 'web#config' changes", for a step that reacts to steps it watches or listens to;
 * empty if its parameters leave nothing to do. `statuses` has all steps. Pure. */
Str reaction_forecast(Arena *arena, const Graph *graph, const StepStatus *statuses, uint32_t step,
                      RequisiteKind kind, const Value *params);
/* For a step that would react to steps it watches: adds this to the findings of its check, unless
 * it would change something anyway. */
void reaction_plan(Arena *arena, const Graph *graph, const StepStatus *statuses, uint32_t step,
                   Task *task);
