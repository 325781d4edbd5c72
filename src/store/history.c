/* Keeps points of the log at increasing distances, and selects the point up to which to compact.
 * history.h has the rule. */
#include "store/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
    PARTS = 64,          /* points are recorded at this fraction of each limit */
    FREED_FRACTION = 16, /* fraction of `keep_bytes` that is freed */
    SLACK = 8,           /* tolerated excess, as a fraction of `keep_revisions` */
    POINTS_PER_DISTANCE =
        HISTORY_POINTS / 4, /* number of points to retain when there are too many */
};

void history_clear(History *history)
{
    free(history->points);
    *history = (History){ 0 };
}

static bool is_part(int64_t distance, int64_t total)
{
    return total > 0 && distance * POINTS_PER_DISTANCE >= total;
}

/* Removes points that are close to the previous one in relation to the total, so that old points do
 * not get ever sparser while new ones are added. At most POINTS_PER_DISTANCE remain for each of the
 * three distances, and the last. */
static void drop_close_points(History *history)
{
    const HistoryPoint *points = history->points, *last = &points[history->count - 1];
    int64_t revisions = last->revision - points->revision, bytes = last->bytes - points->bytes;
    int64_t ms = last->at_ms - points->at_ms;
    uint32_t count = 1;
    for (uint32_t i = 1; i < history->count; i++) {
        const HistoryPoint *before = &points[count - 1], *point = &points[i];
        if (point == last || is_part(point->revision - before->revision, revisions) ||
            is_part(point->bytes - before->bytes, bytes) ||
            is_part(point->at_ms - before->at_ms, ms)) {
            history->points[count++] = *point;
        }
    }
    history->count = count;
}

/* Points before the compacted revision are no longer needed. */
static void drop_compacted(History *history, int64_t compacted)
{
    uint32_t compacted_count = 0;
    while (compacted_count < history->count &&
           history->points[compacted_count].revision <= compacted) {
        compacted_count++;
    }
    history->count -= compacted_count;
    if (compacted_count > 0) {
        memmove(history->points, history->points + compacted_count,
                history->count * sizeof(HistoryPoint));
    }
}

static bool is_distant(int64_t distance, int64_t limit)
{
    return limit >= 0 && distance >= limit / PARTS;
}

void history_add_point(History *history, const EngineState *state, int64_t now_ms)
{
    HistoryPoint now = { state->revision, state->log_start + state->log_bytes, now_ms };
    if (history->points == NULL) {
        history->points = memory_new(HISTORY_POINTS * sizeof(HistoryPoint));
    }
    drop_compacted(history, state->compacted);
    if (history->count > 0) {
        HistoryPoint *last = &history->points[history->count - 1];
        if (now.revision <= last->revision ||
            !(is_distant(now.revision - last->revision, history->keep_revisions) ||
              is_distant(now.bytes - last->bytes, history->keep_bytes) ||
              is_distant(now.at_ms - last->at_ms, history->keep_ms))) {
            return;
        }
    }
    if (history->count == HISTORY_POINTS) {
        drop_close_points(history);
    }
    history->points[history->count++] = now;
}

void history_drop_after(History *history, int64_t revision)
{
    while (history->count > 0 && history->points[history->count - 1].revision > revision) {
        history->count--;
    }
}

static bool is_old(const History *history, const HistoryPoint *point, const EngineState *state,
                   int64_t now_ms)
{
    return history->keep_revisions >= 0 &&
           state->revision - point->revision >= history->keep_revisions &&
           now_ms - point->at_ms >= history->keep_ms;
}

const HistoryPoint *history_due(const History *history, const EngineState *state, int64_t now_ms)
{
    const HistoryPoint *due = NULL;
    bool is_large = history->keep_bytes >= 0 && state->log_bytes > history->keep_bytes;
    int64_t excess =
        state->log_bytes - (history->keep_bytes - history->keep_bytes / FREED_FRACTION);
    for (uint32_t i = 0; i < history->count; i++) {
        const HistoryPoint *point = &history->points[i];
        if (point->revision <= state->compacted) {
            continue;
        }
        /* Up to the first point that frees enough. */
        bool frees_space = is_large && (due == NULL || due->bytes - state->log_start < excess);
        if (!frees_space && !is_old(history, point, state, now_ms)) {
            break;
        }
        due = point;
    }
    bool frees_enough = due != NULL && (is_large || due->revision - state->compacted >
                                                        history->keep_revisions / SLACK);
    return frees_enough ? due : NULL;
}
