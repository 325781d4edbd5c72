/* The timers of a loop: a binary heap of pointers in which each timer knows its place, so that
 * thousands that are started and stopped all the time cost a struct each and nothing more. */
#include <stdlib.h>

#include "base/bug.h"
#include "sys/loop_inner.h"

enum {
    TIMERS_FIRST = 16
};

static bool earlier(const LoopTimer *a, const LoopTimer *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void put_at(Loop *loop, uint32_t at, LoopTimer *timer)
{
    loop->timers[at] = timer;
    timer->place = at + 1;
}

static void sift_up(Loop *loop, uint32_t at, LoopTimer *timer)
{
    while (at > 0 && earlier(timer, loop->timers[(at - 1) / 2])) {
        put_at(loop, at, loop->timers[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put_at(loop, at, timer);
}

static void sift_down(Loop *loop, uint32_t at, LoopTimer *timer)
{
    for (uint32_t child = 2 * at + 1; child < loop->timer_count; child = 2 * at + 1) {
        if (child + 1 < loop->timer_count &&
            earlier(loop->timers[child + 1], loop->timers[child])) {
            child++;
        }
        if (!earlier(loop->timers[child], timer)) {
            break;
        }
        put_at(loop, at, loop->timers[child]);
        at = child;
    }
    put_at(loop, at, timer);
}

static void take_out(LoopTimer *timer)
{
    Loop *loop = timer->loop;
    uint32_t at = timer->place - 1;
    timer->place = 0;
    LoopTimer *last = loop->timers[--loop->timer_count];
    if (last == timer) {
        return;
    }
    if (at > 0 && earlier(last, loop->timers[(at - 1) / 2])) {
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
        LoopTimer **grown = reallocarray(loop->timers, cap, sizeof(LoopTimer *));
        if (grown == NULL) {
            memory_exhausted((size_t)cap * sizeof(LoopTimer *));
        }
        loop->timers = grown;
        loop->timer_cap = cap;
    }
    int64_t now = loop_now_ms(loop);
    int64_t delay = delay_ms < 0 ? 0 : delay_ms;
    timer->due_ms = delay > INT64_MAX - 1 - now ? INT64_MAX - 1 : now + delay;
    timer->order = loop->timer_order++;
    int64_t before = loop_timers_due_ms(loop);
    sift_up(loop, loop->timer_count++, timer);
    if (timer->due_ms < before) {
        loop_timers_earlier(loop);
    }
}

void loop_timer_stop(LoopTimer *timer)
{
    loop_check_thread(timer->loop);
    if (timer->place != 0) {
        take_out(timer);
    }
}

int64_t loop_timers_due_ms(const Loop *loop)
{
    return loop->timer_count == 0 ? INT64_MAX : loop->timers[0]->due_ms;
}

bool loop_timers_run(Loop *loop, int64_t now_ms)
{
    /* What is started from here on is due at `now_ms` at the earliest and stands behind all others
     * of that moment: the first such one ends the turn. */
    uint64_t limit = loop->timer_order;
    bool any = false;
    while (loop->timer_count > 0) {
        LoopTimer *timer = loop->timers[0];
        if (timer->due_ms > now_ms || timer->order >= limit) {
            break;
        }
        take_out(timer);
        timer->run(timer->context);
        any = true;
    }
    return any;
}
