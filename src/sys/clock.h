/* Wall clock, monotonic clock and random numbers, for code that passes them to pure functions. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

int64_t clock_now_seconds(void);  /* since 1970, UTC */
int64_t clock_now_ms(void);       /* the same in milliseconds */
int64_t clock_monotonic_us(void); /* for durations */
/* Sleeps for the given time; returns false as soon as `canceled` (may be NULL) is set. */
bool clock_sleep_ms(int64_t duration_ms, const atomic_bool *canceled);
uint64_t random_seed(void);
