/* Waiting machines and their rates, in fixed arrays. pending_limits.h describes which row is
 * evicted. */
#include "membership/pending_limits.h"

#include <stdlib.h>

#include "base/memory.h"

enum {
    ROWS_MAX = 2 * WAITING_MAX /* includes rows that existed before this server's limit */
};

typedef struct PendingSlot {
    WaitingRow row;
    bool is_stale; /* not in the listing that is in progress */
} PendingSlot;

struct PendingLimits {
    RateBucket join_total, row_total;
    RateTable join_sources, row_sources;
    PendingSlot slots[ROWS_MAX];
    uint32_t count;
};

PendingLimits *pending_limits_new(void)
{
    return memory_new(sizeof(PendingLimits));
}

void pending_limits_free(PendingLimits *limits)
{
    free(limits);
}

bool pending_limits_allows(PendingLimits *limits, uint64_t origin, int64_t now_ms)
{
    /* Charges the share of the source first, so that one source cannot use up the total. */
    return rate_table_take(&limits->join_sources, origin, JOIN_SOURCE_LIMIT, now_ms, 1) &&
           rate_take(&limits->join_total, JOIN_TOTAL_LIMIT, now_ms, 1);
}

static PendingSlot *find(PendingLimits *limits, const char *name, const Pin *key)
{
    for (uint32_t i = 0; i < limits->count; i++) {
        const WaitingRow *row = &limits->slots[i].row;
        if (pin_equal(&row->key, key) && strcmp(row->name, name) == 0) {
            return &limits->slots[i];
        }
    }
    return NULL;
}

static uint32_t rows_of(const PendingLimits *limits, uint64_t origin)
{
    uint32_t rows = 0;
    for (uint32_t i = 0; i < limits->count; i++) {
        rows += limits->slots[i].row.origin == origin;
    }
    return rows;
}

static int by_origin_and_age(const void *a, const void *b)
{
    const WaitingRow *x = *(const WaitingRow *const *)a, *y = *(const WaitingRow *const *)b;
    if (x->origin != y->origin) {
        return x->origin < y->origin ? -1 : 1;
    }
    return x->requested_ms < y->requested_ms ? -1 : x->requested_ms > y->requested_ms;
}

/* The oldest row of the source with the most rows; among equal sources the oldest of all. */
static const WaitingRow *find_most_frequent(const PendingLimits *limits)
{
    const WaitingRow *sorted[ROWS_MAX], *chosen = NULL;
    uint32_t max = 0;
    for (uint32_t i = 0; i < limits->count; i++) {
        sorted[i] = &limits->slots[i].row;
    }
    qsort(sorted, limits->count, sizeof sorted[0], by_origin_and_age);
    for (uint32_t first = 0, end; first < limits->count; first = end) {
        for (end = first; end < limits->count && sorted[end]->origin == sorted[first]->origin;) {
            end++;
        }
        uint32_t rows = end - first;
        if (rows > max || (rows == max && sorted[first]->requested_ms < chosen->requested_ms)) {
            chosen = sorted[first];
            max = rows;
        }
    }
    return chosen;
}

static const WaitingRow *find_oldest(const PendingLimits *limits, uint64_t origin)
{
    const WaitingRow *oldest = NULL;
    for (uint32_t i = 0; i < limits->count; i++) {
        const WaitingRow *row = &limits->slots[i].row;
        if (row->origin == origin && (oldest == NULL || row->requested_ms < oldest->requested_ms)) {
            oldest = row;
        }
    }
    return oldest;
}

WaitingVerdict pending_limits_check(PendingLimits *limits, const WaitingRow *row, int64_t now_ms,
                                    WaitingRow *evicted)
{
    if (find(limits, row->name, &row->key) != NULL) {
        return WAITING_EXISTING;
    }
    if (!rate_table_take(&limits->row_sources, row->origin, ROW_SOURCE_LIMIT, now_ms, 1) ||
        !rate_take(&limits->row_total, ROW_TOTAL_LIMIT, now_ms, 1)) {
        return WAITING_REFUSED;
    }
    const WaitingRow *oldest = NULL;
    if (rows_of(limits, row->origin) >= WAITING_SOURCE_MAX) {
        oldest = find_oldest(limits, row->origin);
    } else if (limits->count >= WAITING_MAX) {
        oldest = find_most_frequent(limits);
    }
    if (oldest == NULL) {
        return WAITING_FREE;
    }
    *evicted = *oldest;
    return WAITING_REPLACES;
}

void pending_limits_record(PendingLimits *limits, const WaitingRow *row)
{
    PendingSlot *slot = find(limits, row->name, &row->key);
    if (slot == NULL && limits->count < ROWS_MAX) {
        slot = &limits->slots[limits->count++];
        *slot = (PendingSlot){ .row = *row };
    }
    if (slot != NULL) {
        slot->is_stale = false;
        slot->row.origin = row->origin;
        if (row->requested_ms > slot->row.requested_ms) {
            slot->row.requested_ms = row->requested_ms;
        }
    }
}

void pending_limits_forget(PendingLimits *limits, const char *name, const Pin *key)
{
    PendingSlot *slot = find(limits, name, key);
    if (slot != NULL) {
        *slot = limits->slots[--limits->count];
    }
}

uint32_t pending_limits_count(const PendingLimits *limits)
{
    return limits->count;
}

void pending_limits_begin(PendingLimits *limits)
{
    for (uint32_t i = 0; i < limits->count; i++) {
        limits->slots[i].is_stale = true;
    }
}

void pending_limits_end(PendingLimits *limits)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < limits->count; i++) {
        if (!limits->slots[i].is_stale) {
            limits->slots[count++] = limits->slots[i];
        }
    }
    limits->count = count;
}
