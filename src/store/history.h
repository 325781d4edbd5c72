/* Decides which part of the log is retained. The rule, checked with every write:
 *
 *   - Above `keep_bytes`, the oldest revisions are compacted until a sixteenth of it is free.
 *   - Otherwise a revision is compacted if there are `keep_revisions` newer ones and it is older
 *     than `keep_ms`. An eighth of `keep_revisions` more may remain, so that compaction pays off.
 *
 * To know the age and size of parts of the log without reading it, points are recorded as it grows,
 * at small fractions of the three limits; it is only compacted up to a point. Age is counted while
 * the store is open: everything counts as new when the store is opened. */
#pragma once

#include "store/engine.h"

typedef struct HistoryPoint {
    int64_t revision;
    int64_t bytes; /* size of the log up to this point; see `log_start` of EngineState */
    int64_t at_ms; /* time when this revision was the newest */
} HistoryPoint;

typedef struct History {
    int64_t keep_revisions, keep_bytes, keep_ms; /* see StoreSettings; negative: no limit */
    HistoryPoint *points;                        /* HISTORY_POINTS; NULL until used */
    uint32_t count;
} History;

enum {
    HISTORY_POINTS = 1024
};

void history_clear(History *history);
/* Records the current end of the log as a point, if the last one is far enough back. */
void history_add_point(History *history, const EngineState *state, int64_t now_ms);
/* Drops points after `revision`, because the write failed. */
void history_drop_after(History *history, int64_t revision);
/* The point up to which the log must be compacted; NULL if it need not be. */
const HistoryPoint *history_due(const History *history, const EngineState *state, int64_t now_ms);
