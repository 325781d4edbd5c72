#include "run/timers.h"

void timers_add(Timers *timers, Arena *arena, Timer timer)
{
    VEC_PUSH(arena, &timers->heap, timer);
    Timer *items = timers->heap.items;
    uint32_t at = timers->heap.len - 1;
    while (at > 0 && items[(at - 1) / 2].due_us > timer.due_us) {
        items[at] = items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    items[at] = timer;
}

Timer timers_take(Timers *timers)
{
    Timer *items = timers->heap.items;
    Timer first = items[0];
    Timer last = items[--timers->heap.len];
    uint32_t count = timers->heap.len, at = 0;
    for (uint32_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && items[child + 1].due_us < items[child].due_us) {
            child++;
        }
        if (items[child].due_us >= last.due_us) {
            break;
        }
        items[at] = items[child];
        at = child;
    }
    if (count > 0) {
        items[at] = last;
    }
    return first;
}
