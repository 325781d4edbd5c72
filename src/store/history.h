/* Which part of the log is kept. The rule, checked with every write:
 *
 *   - More than `keep_bytes`: the oldest revisions go until a sixteenth of that is free again.
 *   - Else a revision goes when there are `keep_revisions` newer ones and it is older than `keep_ms`.
 *     An eighth of `keep_revisions` more may stay, so that there is something to compact.
 *
 * To know how old and how large parts of the log are without reading it, points of it are noted as it
 * grows, at distances that are small fractions of the three limits; only up to a point is it compacted.
 * Ages are counted while the store is open: all that is found when it is opened is new then. */
#pragma once

#include "store/engine.h"

typedef struct HistoryPoint {
    int64_t revision;
    int64_t bytes; /* of the log up to and with it, as `log_start` of an EngineState counts */
    int64_t at_ms; /* when it was the newest */
} HistoryPoint;

typedef struct History {
    int64_t keep_revisions, keep_bytes, keep_ms; /* as of StoreSettings; negative: no limit */
    HistoryPoint *points;                        /* HISTORY_POINTS; NULL: none yet */
    uint32_t count;
} History;

enum {
    HISTORY_POINTS = 1024
};

void history_clear(History *history);
/* The log ends here at present: notes a point when the last one is far enough. */
void history_note(History *history, const EngineState *state, int64_t now_ms);
/* What came after `revision` was not written. */
void history_cut(History *history, int64_t revision);
/* Up to where the log is to be compacted by the rule; NULL: not at all. */
const HistoryPoint *history_due(const History *history, const EngineState *state, int64_t now_ms);
