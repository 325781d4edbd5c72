/* The delay before the next attempt. Pure. */
#pragma once

#include <stdint.h>

enum {
    BACKOFF_FIRST_MS = 200,
    BACKOFF_MAX_MS = 30 * 1000,
};

/* A random delay between 0 and a limit that doubles with each failure, up to a maximum: when a
 * server comes back, waiting clients reconnect spread over that time. `random` is a random
 * number. */
int64_t backoff_ms(uint32_t failures, uint64_t random);
