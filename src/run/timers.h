/* Work items waiting for their time, earliest first. */
#pragma once

#include "base/heap.h"
#include "model/schedule.h"

typedef struct Timer {
    int64_t due_us; /* not negative */
    Work work;
} Timer;

typedef struct Timers {
    /* ordered by due_us; the value has the phase in its lowest bits and the step above */
    Heap heap;
} Timers;

enum {
    TIMER_PHASE_BITS = 2
};
_Static_assert(PHASE_REACT < 1 << TIMER_PHASE_BITS, "a phase fits");

static inline bool timers_are_empty(const Timers *timers)
{
    return timers->heap.len == 0;
}

/* When the first is due; there must be one. */
static inline int64_t timers_due_us(const Timers *timers)
{
    return (int64_t)timers->heap.items[0].key;
}

static inline void timers_add(Timers *timers, Arena *arena, Timer timer)
{
    heap_push(arena, &timers->heap, (uint64_t)timer.due_us,
              (uint64_t)timer.work.step << TIMER_PHASE_BITS | timer.work.phase);
}

/* Removes the earliest; there must be one. */
static inline Timer timers_take(Timers *timers)
{
    HeapItem item = heap_pop(&timers->heap);
    Work work = { .step = (uint32_t)(item.value >> TIMER_PHASE_BITS),
                  .phase = (WorkPhase)(item.value & ((1u << TIMER_PHASE_BITS) - 1)) };
    return (Timer){ (int64_t)item.key, work };
}
