/* The virtual loop: time does not advance while there is work, and then jumps to the next timer.
 * The order in an iteration is that of libuv: timers, tasks of other threads, deferred tasks. */
#include "base/bug.h"
#include "sys/loop_inner.h"

enum {
    TURNS_MAX = 10 * 1000 * 1000 /* iterations at the same time */
};

bool loop_is_virtual(const Loop *loop)
{
    return loop->is_virtual;
}

void loop_run_virtual_until(Loop *loop, int64_t now_ms)
{
    BUG_IF(!loop->is_virtual);
    uint32_t turns = 0;
    while (!atomic_load(&loop->stopping)) {
        bool any = loop_timers_run(loop, loop->virtual_ms);
        any |= loop_run_posted(loop);
        any |= loop_run_deferred(loop);
        if (any) {
            if (++turns == TURNS_MAX) {
                BUG("virtual time does not advance: something keeps rescheduling itself");
            }
            continue;
        }
        turns = 0;
        int64_t due = loop_timers_due_ms(loop);
        if (due == INT64_MAX || due > now_ms) {
            /* A run without an end time does not move the clock to INT64_MAX. */
            if (now_ms != INT64_MAX && now_ms > loop->virtual_ms) {
                loop->virtual_ms = now_ms;
            }
            break;
        }
        loop->virtual_ms = due;
    }
    atomic_store(&loop->stopping, false);
}

void loop_virtual_set_wall(Loop *loop, int64_t wall_ms)
{
    BUG_IF(!loop->is_virtual);
    loop->virtual_wall_ms = wall_ms - loop->virtual_ms;
}
