/* How many connections each origin has (socket_address_origin). An origin without any costs no
 * memory. */
#pragma once

#include <stdint.h>

#include "base/own.h"

typedef struct OriginCount {
    uint64_t origin;
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
