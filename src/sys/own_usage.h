/* Resource usage of this process according to the kernel. Values that are not available are 0. */
#pragma once

#include <stdint.h>

typedef struct OwnUsage {
    int64_t resident_bytes, virtual_bytes;
    int64_t cpu_us; /* since the process was started */
    int64_t descriptors, descriptors_max;
    int64_t threads;
} OwnUsage;

OwnUsage own_usage(void);
