/* Time and chance, for those who hand them to the pure parts. */
#pragma once

#include <stdint.h>

int64_t clock_now_seconds(void);  /* since 1970, UTC */
int64_t clock_monotonic_us(void); /* for durations */
uint64_t random_seed(void);
