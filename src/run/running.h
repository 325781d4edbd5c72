/* Tasks that are under way, each with its work. One that is over is used again: the memory of its
 * arena serves the next. */
#pragma once

#include "base/vec.h"
#include "model/schedule.h"
#include "run/task.h"

typedef struct Running {
    Task task; /* first: what the pool gives back */
    Work work;
} Running;

typedef VEC(Running *) Spares;

/* Empty but for its work; a spare one when there is. */
Running *running_new(Arena *arena, Spares *spares, Work work);
/* What its arena holds is gone when the next takes it. */
void running_end(Arena *arena, Spares *spares, Running *running);
void spares_clear(Spares *spares);
