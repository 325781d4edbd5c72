/* A loop with a timeout, for tests that wait for events: an event that never happens fails the
 * test. */
#pragma once

#include "scratch.h"
#include "sys/loop.h"

typedef struct World {
    Loop *loop;
    LoopTimer limit;
    bool is_late;
} World;

static inline void world_late(void *context)
{
    World *world = context;
    world->is_late = true;
    loop_stop(world->loop);
}

static inline void world_open(World *world)
{
    *world = (World){ .loop = loop_new() };
    loop_timer_init(&world->limit, world->loop, world_late, world);
}

static inline void world_close(World *world)
{
    loop_free(world->loop);
}

/* Runs until loop_stop is called. */
static inline void world_run(World *world)
{
    loop_timer_start(&world->limit, 20000);
    loop_run(world->loop);
    loop_timer_stop(&world->limit);
    assert_false(world->is_late);
}

static inline void world_stop(void *context)
{
    loop_stop(context);
}

/* Runs for this long, even if loop_stop is called meanwhile. */
static inline void world_pass(World *world, int64_t ms)
{
    LoopTimer timer;
    loop_timer_init(&timer, world->loop, world_stop, world->loop);
    loop_timer_start(&timer, ms);
    while (loop_timer_started(&timer)) {
        world_run(world);
    }
}
