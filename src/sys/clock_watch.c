#include "sys/clock_watch.h"

#include <stdlib.h>

static int64_t offset_of(const Loop *loop)
{
    return loop_wall_ms(loop) - loop_now_ms(loop);
}

static void look(void *context)
{
    ClockWatch *watch = context;
    int64_t offset_ms = offset_of(watch->timer.loop), by_ms = offset_ms - watch->offset_ms;
    watch->offset_ms = offset_ms;
    loop_timer_start(&watch->timer, CLOCK_WATCH_MS);
    if (llabs(by_ms) >= CLOCK_JUMP_MS) {
        watch->jumped(watch->context, by_ms);
    }
}

void clock_watch_init(ClockWatch *watch, Loop *loop, void (*jumped)(void *context, int64_t by_ms),
                      void *context)
{
    *watch = (ClockWatch){ .offset_ms = offset_of(loop), .jumped = jumped, .context = context };
    loop_timer_init(&watch->timer, loop, look, watch);
    loop_timer_start(&watch->timer, CLOCK_WATCH_MS);
}

void clock_watch_stop(ClockWatch *watch)
{
    if (watch->timer.loop != NULL) {
        loop_timer_stop(&watch->timer);
    }
}
