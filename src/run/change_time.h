/* When steps acted and changed something, for those that react to it. */
#pragma once

#include "model/decide.h"
#include "run/task.h"

typedef struct ChangeTime {
    int64_t applied_us; /* when its last apply began, by the monotonic clock; 0: it did not */
    int64_t changed_us; /* when a change of it was made; 0: there was none */
    int64_t changed_ms; /* the same by the calendar */
} ChangeTime;

/* What a task that has just ended did. */
void change_time_note(ChangeTime *time, const Task *task);
/* What a reaction is told of the change that it answers to. `times` has one entry for each step. */
void change_time_tell(const Graph *graph, const ChangeTime *times, Work work, Call *call);
