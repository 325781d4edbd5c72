/* Position of a watch, for resuming after a reconnect without missing or repeating changes.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct WatchPosition {
    int64_t next_revision; /* revision to request next; 0: unknown */
    int64_t revision; /* revision of the last printed change; a revision can have several changes */
    uint32_t printed; /* number of changes of this revision printed so far */
    uint32_t skip;    /* number of changes of this revision to skip after a reconnect */
} WatchPosition;

/* Called when the watch is established: all changes after `revision` will follow. */
void watch_position_start(WatchPosition *position, int64_t revision);
/* Called when all changes up to `revision` have arrived. */
void watch_position_progress(WatchPosition *position, int64_t revision);
/* Called when a change has arrived; returns false if it was already printed. */
bool watch_position_add(WatchPosition *position, int64_t revision);
