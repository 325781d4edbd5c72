/* The timers of a loop: a 4-ary heap in which each timer knows its index, so that starting and
 * stopping tens of thousands of timers is cheap and needs no allocation per timer. */
#include <stdlib.h>

#include "base/memory.h"
#include "sys/loop_inner.h"

enum {
    TIMERS_FIRST = 16,
    CHILDREN = 4,
};

static bool earlier(const TimerEntry *a, const TimerEntry *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void put_at(Loop *loop, uint32_t at, TimerEntry entry)
{
    loop->timers[at] = entry;
    entry.timer->heap_index = at + 1;
}

static void sift_up(Loop *loop, uint32_t at, TimerEntry entry)
{
    while (at > 0 && earlier(&entry, &loop->timers[(at - 1) / CHILDREN])) {
        put_at(loop, at, loop->timers[(at - 1) / CHILDREN]);
        at = (at - 1) / CHILDREN;
    }
    put_at(loop, at, entry);
}

static void sift_down(Loop *loop, uint32_t at, TimerEntry entry)
{
    for (;;) {
        uint32_t first = CHILDREN * at + 1, end = first + CHILDREN, best = first;
        if (end > loop->timer_count) {
            end = loop->timer_count;
        }
        for (uint32_t child = first + 1; child < end; child++) {
            if (earlier(&loop->timers[child], &loop->timers[best])) {
                best = child;
            }
        }
        if (first >= end || !earlier(&loop->timers[best], &entry)) {
            break;
        }
        put_at(loop, at, loop->timers[best]);
        at = best;
    }
    put_at(loop, at, entry);
}

static void take_out(LoopTimer *timer)
{
    Loop *loop = timer->loop;
    uint32_t at = timer->heap_index - 1;
    timer->heap_index = 0;
    TimerEntry last = loop->timers[--loop->timer_count];
    if (last.timer == timer) {
        return;
    }
    if (at > 0 && earlier(&last, &loop->timers[(at - 1) / CHILDREN])) {
        sift_up(loop, at, last);
    } else {
        sift_down(loop, at, last);
    }
}

void loop_timer_init(LoopTimer *timer, Loop *loop, LoopRun *run, void *context)
{
    *timer = (LoopTimer){ .loop = loop, .run = run, .context = context };
}

void loop_timer_start(LoopTimer *timer, int64_t delay_ms)
{
    Loop *loop = timer->loop;
    loop_timer_stop(timer);
    if (loop->timer_count == loop->timer_cap) {
        uint32_t cap = loop->timer_cap == 0 ? TIMERS_FIRST : loop->timer_cap * 2;
        TimerEntry *grown = reallocarray(loop->timers, cap, sizeof(TimerEntry));
        if (grown == NULL) {
            memory_exhausted((size_t)cap * sizeof(TimerEntry));
        }
        loop->timers = grown;
        loop->timer_cap = cap;
    }
    int64_t now = loop_now_ms(loop);
    int64_t delay = delay_ms < 0 ? 0 : delay_ms;
    timer->due_ms = delay > INT64_MAX - 1 - now ? INT64_MAX - 1 : now + delay;
    timer->order = loop->timer_order++;
    int64_t before = loop_timers_due_ms(loop);
    sift_up(loop, loop->timer_count++, (TimerEntry){ timer->due_ms, timer->order, timer });
    if (timer->due_ms < before) {
        loop_timers_earlier(loop);
    }
}

void loop_timer_stop(LoopTimer *timer)
{
    loop_check_thread(timer->loop);
    if (timer->heap_index != 0) {
        take_out(timer);
    }
}

int64_t loop_timers_due_ms(const Loop *loop)
{
    return loop->timer_count == 0 ? INT64_MAX : loop->timers[0].due_ms;
}

bool loop_timers_run(Loop *loop, int64_t now_ms)
{
    /* Timers started from here on are due at `now_ms` at the earliest and ordered after all others
     * of that time: the first such timer ends the iteration. */
    uint64_t limit = loop->timer_order;
    bool any = false;
    while (loop->timer_count > 0) {
        LoopTimer *timer = loop->timers[0].timer;
        if (timer->due_ms > now_ms || timer->order >= limit) {
            break;
        }
        take_out(timer);
        timer->run(timer->context);
        any = true;
    }
    return any;
}
