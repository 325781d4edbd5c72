#include "net/origin_counts.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/hash.h"
#include "base/memory.h"

enum {
    SIZE_FIRST = 16
};

void origin_counts_clear(OriginCounts *counts)
{
    free(counts->slots);
    *counts = (OriginCounts){ 0 };
}

/* The slot where the search for an origin starts. */
static uint32_t home_slot(const OriginCounts *counts, uint64_t origin)
{
    return (uint32_t)(hash_u64(origin ^ hash_seed()) & (counts->size - 1));
}

/* The slot of an origin, or the free slot where it would be inserted. */
static uint32_t find_slot(const OriginCounts *counts, uint64_t origin)
{
    uint32_t at = home_slot(counts, origin);
    while (counts->slots[at].count != 0 && counts->slots[at].origin != origin) {
        at = (at + 1) & (counts->size - 1);
    }
    return at;
}

static void grow(OriginCounts *counts)
{
    OriginCounts grown = { .used = counts->used,
                           .size = counts->size == 0 ? SIZE_FIRST : counts->size * 2 };
    grown.slots = calloc(grown.size, sizeof *grown.slots);
    if (grown.slots == NULL) {
        memory_exhausted(grown.size * sizeof *grown.slots);
    }
    for (uint32_t i = 0; i < counts->size; i++) {
        if (counts->slots[i].count != 0) {
            grown.slots[find_slot(&grown, counts->slots[i].origin)] = counts->slots[i];
        }
    }
    free(counts->slots);
    *counts = grown;
}

uint32_t origin_counts_get(const OriginCounts *counts, uint64_t origin)
{
    return counts->size == 0 ? 0 : counts->slots[find_slot(counts, origin)].count;
}

void origin_counts_add(OriginCounts *counts, uint64_t origin)
{
    if (counts->used * 2 >= counts->size) {
        grow(counts);
    }
    OriginCount *slot = &counts->slots[find_slot(counts, origin)];
    if (slot->count++ == 0) {
        slot->origin = origin;
        slot->held = 0;
        counts->used++;
    }
}

void origin_counts_remove(OriginCounts *counts, uint64_t origin)
{
    BUG_IF(counts->size == 0);
    uint32_t free_slot = find_slot(counts, origin);
    BUG_IF(counts->slots[free_slot].count == 0);
    if (--counts->slots[free_slot].count > 0) {
        return;
    }
    counts->used--;
    /* Move following entries into the free slot, unless that is before the start of their
     * search. */
    uint32_t mask = counts->size - 1;
    for (uint32_t at = (free_slot + 1) & mask; counts->slots[at].count != 0; at = (at + 1) & mask) {
        uint32_t home = home_slot(counts, counts->slots[at].origin);
        if (((at - home) & mask) >= ((at - free_slot) & mask)) {
            counts->slots[free_slot] = counts->slots[at];
            counts->slots[at].count = 0;
            free_slot = at;
        }
    }
}

size_t origin_counts_hold(OriginCounts *counts, uint64_t origin, size_t before, size_t now)
{
    BUG_IF(counts->size == 0);
    OriginCount *slot = &counts->slots[find_slot(counts, origin)];
    BUG_IF(slot->count == 0 || slot->held < before);
    slot->held = slot->held - before + now;
    return slot->held;
}
