/* Work that waits for its time, the earliest first. */
#pragma once

#include "base/vec.h"
#include "model/schedule.h"

typedef struct Timer {
    int64_t due_us;
    Work work;
} Timer;

typedef struct Timers {
    VEC(Timer) heap;
} Timers;

static inline bool timers_are_empty(const Timers *timers)
{
    return timers->heap.len == 0;
}

/* When the first is due; there must be one. */
static inline int64_t timers_due_us(const Timers *timers)
{
    return timers->heap.items[0].due_us;
}

void timers_add(Timers *timers, Arena *arena, Timer timer);
/* The earliest; there must be one. */
Timer timers_take(Timers *timers);
