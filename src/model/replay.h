/* Decides a run again from what was observed, and compares with what was decided then. Pure. */
#pragma once

#include "model/turn.h"

typedef struct Recording {
    const Graph *graph;
    OrderMode order;
    uint32_t workers;
    bool planning;
    const uint16_t *owed; /* by step, as StepStatus.owed; NULL: nothing was */
    const Turns *turns;
    const StepStatus *results; /* what each step came to in the end: result and changed */
} Recording;

typedef struct Replay {
    uint32_t decisions; /* that were compared, the differing one included */
    uint32_t turns;     /* that were gone through */
    bool differs;
    uint32_t step;  /* where; the first difference only */
    Str difference; /* "recorded: ...; decided now: ..." */
} Replay;

Replay replay_run(const Recording *recording, Arena *arena);
