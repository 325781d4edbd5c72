/* How much of something is taken in a second, with a burst: a bucket that fills again by the clock. A
 * plain value; the time is the caller's, in milliseconds of any clock that does not go back. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct RateLimit {
    int64_t per_second; /* 0: no limit */
    int64_t burst;      /* taken at once after a pause; at least 1 */
} RateLimit;

typedef struct Rate {
    int64_t spent_milli; /* thousandths of what is still to be made up for */
    int64_t at_ms;       /* of that */
} Rate;

/* Takes `amount` when there is room. An amount above the burst is taken when the bucket is full, and
 * made up for afterwards. */
bool rate_take(Rate *rate, RateLimit limit, int64_t now_ms, int64_t amount);
/* Milliseconds until `amount` can be taken; 0: now. */
int64_t rate_wait_ms(const Rate *rate, RateLimit limit, int64_t now_ms, int64_t amount);

enum {
    RATE_TABLE_SIZE = 4096
};

/* Rates of many sources, each known by a number, in a fixed amount of memory: when there are more, the
 * one that was quiet for longest starts again. Zero is an empty table. */
typedef struct RateTable {
    struct {
        uint64_t source;
        Rate rate;
    } entries[RATE_TABLE_SIZE];
} RateTable;

bool rate_table_take(RateTable *table, uint64_t source, RateLimit limit, int64_t now_ms,
                     int64_t amount);
