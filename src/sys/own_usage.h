/* What this process takes at present, as the kernel counts it. What it does not tell is 0. */
#pragma once

#include <stdint.h>

typedef struct OwnUsage {
    int64_t resident_bytes, virtual_bytes;
    int64_t cpu_us; /* since it started */
    int64_t descriptors, descriptors_max;
    int64_t threads;
} OwnUsage;

OwnUsage own_usage(void);
