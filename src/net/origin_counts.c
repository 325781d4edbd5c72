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
    free(counts->places);
    *counts = (OriginCounts){ 0 };
}

/* The slot where an origin should be. */
static uint32_t home_slot(const OriginCounts *counts, uint64_t origin)
{
    return (uint32_t)(hash_u64(origin ^ hash_seed()) & (counts->size - 1));
}

/* The slot where it is, or the free slot where it belongs. */
static uint32_t find_slot(const OriginCounts *counts, uint64_t origin)
{
    uint32_t at = home_slot(counts, origin);
    while (counts->places[at].count != 0 && counts->places[at].origin != origin) {
        at = (at + 1) & (counts->size - 1);
    }
    return at;
}

static void grow(OriginCounts *counts)
{
    OriginCounts grown = { .used = counts->used,
                           .size = counts->size == 0 ? SIZE_FIRST : counts->size * 2 };
    grown.places = calloc(grown.size, sizeof *grown.places);
    if (grown.places == NULL) {
        memory_exhausted(grown.size * sizeof *grown.places);
    }
    for (uint32_t i = 0; i < counts->size; i++) {
        if (counts->places[i].count != 0) {
            grown.places[find_slot(&grown, counts->places[i].origin)] = counts->places[i];
        }
    }
    free(counts->places);
    *counts = grown;
}

uint32_t origin_counts_get(const OriginCounts *counts, uint64_t origin)
{
    return counts->size == 0 ? 0 : counts->places[find_slot(counts, origin)].count;
}

void origin_counts_add(OriginCounts *counts, uint64_t origin)
{
    if (counts->used * 2 >= counts->size) {
        grow(counts);
    }
    OriginCount *place = &counts->places[find_slot(counts, origin)];
    if (place->count++ == 0) {
        place->origin = origin;
        place->held = 0;
        counts->used++;
    }
}

void origin_counts_remove(OriginCounts *counts, uint64_t origin)
{
    BUG_IF(counts->size == 0);
    uint32_t hole = find_slot(counts, origin);
    BUG_IF(counts->places[hole].count == 0);
    if (--counts->places[hole].count > 0) {
        return;
    }
    counts->used--;
    /* Move following entries up, unless that puts them before their own slot. */
    uint32_t mask = counts->size - 1;
    for (uint32_t at = (hole + 1) & mask; counts->places[at].count != 0; at = (at + 1) & mask) {
        uint32_t home = home_slot(counts, counts->places[at].origin);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            counts->places[hole] = counts->places[at];
            counts->places[at].count = 0;
            hole = at;
        }
    }
}

size_t origin_counts_hold(OriginCounts *counts, uint64_t origin, size_t before, size_t now)
{
    BUG_IF(counts->size == 0);
    OriginCount *place = &counts->places[find_slot(counts, origin)];
    BUG_IF(place->count == 0 || place->held < before);
    place->held = place->held - before + now;
    return place->held;
}
