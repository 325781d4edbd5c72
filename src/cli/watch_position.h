/* Where a watch stands, so that it can go on after the server was away: nothing is missed, and
 * nothing told twice. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct WatchPosition {
    int64_t from;     /* what to ask for next; 0: not known yet */
    int64_t revision; /* of the last change that was told; a revision can have several */
    uint32_t told;    /* how many of its changes were */
    uint32_t skip;    /* of them that come again, after asking anew */
} WatchPosition;

/* The watch stands: all after `revision` is going to come. */
void watch_position_start(WatchPosition *position, int64_t revision);
/* All up to `revision` has come. */
void watch_position_progress(WatchPosition *position, int64_t revision);
/* A change has come; false: it was told already. */
bool watch_position_take(WatchPosition *position, int64_t revision);
