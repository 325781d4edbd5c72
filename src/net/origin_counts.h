/* How many connections each origin has (socket_address_origin), and how much memory they hold. An
 * origin without any costs no memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/own.h"

typedef struct OriginCount {
    uint64_t origin;
    size_t held;    /* bytes of memory */
    uint32_t count; /* 0: the place is free */
} OriginCount;

/* A zeroed one is empty. */
typedef struct OriginCounts {
    OriginCount *places; /* open addressing */
    uint32_t used, size; /* size is 0 or a power of two */
} OriginCounts;

void origin_counts_clear(OriginCounts *counts);
DEFINE_AUTO_CLEAR(OriginCounts, origin_counts_clear)

uint32_t origin_counts_get(const OriginCounts *counts, uint64_t origin);
void origin_counts_add(OriginCounts *counts, uint64_t origin);
void origin_counts_remove(OriginCounts *counts, uint64_t origin); /* there must be one */

/* Adjusts the memory of an origin with connections: what one of them held before, and holds now.
 * Returns what all of them hold. */
size_t origin_counts_hold(OriginCounts *counts, uint64_t origin, size_t before, size_t now);
