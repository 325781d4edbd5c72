/* Repeats the decisions of a run from what was observed, and compares them with the recorded ones.
 * Pure. */
#pragma once

#include "model/turn.h"

typedef struct Recording {
    const Graph *graph;
    OrderMode order;
    uint32_t workers;
    bool planning;
    const uint16_t *owed; /* by step, as StepStatus.owed; NULL: nothing was owed */
    const Turns *turns;
    const StepStatus *results; /* final state of each step: result and changed */
} Recording;

typedef struct Replay {
    uint32_t decisions; /* number compared, including the differing one */
    uint32_t turns;     /* number processed */
    bool differs;
    uint32_t step;  /* step of the first difference */
    Str difference; /* "recorded: ...; decided now: ..." */
} Replay;

Replay replay_run(const Recording *recording, Arena *arena);
