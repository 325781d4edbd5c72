/* What a step that reacts is told of the change that it answers to, and what a plan says of it. */
#pragma once

#include "model/decide.h"
#include "run/task.h"

/* When a step acted and changed something. */
typedef struct ChangeTime {
    int64_t applied_us; /* when its last apply began, by the monotonic clock; 0: it did not */
    int64_t changed_us; /* when a change of it was made; 0: there was none */
    int64_t changed_ms; /* the same by the calendar */
} ChangeTime;

/* What a task that has just ended did. */
void change_time_note(ChangeTime *time, const Task *task);
/* Fills in the call of a reaction. `times` has one entry for each step. */
void change_time_tell(const Graph *graph, const ChangeTime *times, Work work, Call *call);

/* "would restart: 'web#config' changes", for a step that reacts to what it watches or listens to;
 * empty when its parameters leave nothing to do. `statuses` are those of all steps. Pure. */
Str reaction_forecast(Arena *arena, const Graph *graph, const StepStatus *statuses, uint32_t step,
                      RequisiteKind kind, const Value *params);
/* Of a step that would react to what it watches: adds that to what its check found, unless it would
 * change something anyway. */
void reaction_plan(Arena *arena, const Graph *graph, const StepStatus *statuses, uint32_t step,
                   Task *task);
