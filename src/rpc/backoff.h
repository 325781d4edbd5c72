/* How long to wait before the next try. Pure. */
#pragma once

#include <stdint.h>

enum {
    BACKOFF_FIRST_MS = 200,
    BACKOFF_MAX_MS = 30 * 1000,
};

/* Anything from 0 to twice as much with each failure, up to the maximum: when a server comes back,
 * those that wait for it come spread over that time. `chance` is a random number. */
int64_t backoff_ms(uint32_t failures, uint64_t chance);
