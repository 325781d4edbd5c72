/* Counts the connections of each origin (socket_address_origin) and the memory that they hold. An
 * origin without connections uses no memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/own.h"

typedef struct OriginCount {
    uint64_t origin;
    size_t held;    /* bytes of memory */
    uint32_t count; /* 0: the slot is free */
} OriginCount;

/* Zero-initialized means empty. */
typedef struct OriginCounts {
    OriginCount *slots;  /* open addressing */
    uint32_t used, size; /* size is 0 or a power of two */
} OriginCounts;

void origin_counts_clear(OriginCounts *counts);
DEFINE_AUTO_CLEAR(OriginCounts, origin_counts_clear)

uint32_t origin_counts_get(const OriginCounts *counts, uint64_t origin);
void origin_counts_add(OriginCounts *counts, uint64_t origin);
/* the origin must have a connection */
void origin_counts_remove(OriginCounts *counts, uint64_t origin);

/* Adjusts the memory of an origin with connections: what one of them held before, and what it holds
 * now. Returns the total of the origin. */
size_t origin_counts_hold(OriginCounts *counts, uint64_t origin, size_t before, size_t now);
