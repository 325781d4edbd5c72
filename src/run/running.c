#include "run/running.h"

Running *running_new(Arena *arena, Spares *spares, Work work)
{
    if (spares->len == 0) {
        Running *running = ARENA_NEW(arena, Running);
        running->work = work;
        arena_init(&running->task.arena, ARENA_UNLIMITED);
        return running;
    }
    Running *running = VEC_POP(spares);
    Arena kept = running->task.arena;
    arena_reset(&kept);
    *running = (Running){ .work = work, .task.arena = kept };
    return running;
}

void running_end(Arena *arena, Spares *spares, Running *running)
{
    VEC_PUSH(arena, spares, running);
}

void spares_clear(Spares *spares)
{
    for (uint32_t i = 0; i < spares->len; i++) {
        arena_clear(&spares->items[i]->task.arena);
    }
    spares->len = 0;
}
