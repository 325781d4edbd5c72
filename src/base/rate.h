/* A token bucket: an amount per second, with a burst. A plain value; the caller passes the time, in
 * milliseconds of any monotonic clock. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct RateLimit {
    int64_t per_second; /* 0: no limit */
    int64_t burst;      /* available at once after a pause; at least 1 */
} RateLimit;

typedef struct RateBucket {
    int64_t spent_milli; /* amount still to be refilled, in thousandths */
    int64_t at_ms;       /* time of `spent_milli` */
} RateBucket;

/* Takes `amount` if available. An amount above the burst is taken when the bucket is full, and
 * refilled afterwards. */
bool rate_take(RateBucket *rate, RateLimit limit, int64_t now_ms, int64_t amount);
/* Milliseconds until `amount` can be taken; 0 if now. */
int64_t rate_wait_ms(const RateBucket *rate, RateLimit limit, int64_t now_ms, int64_t amount);

enum {
    RATE_TABLE_SIZE = 4096
};

/* Rates for many sources, each identified by a number, in constant memory: if there are too many,
 * the least recently active one is reset. A zeroed table is empty. */
typedef struct RateTable {
    struct {
        uint64_t source;
        RateBucket rate;
    } entries[RATE_TABLE_SIZE];
} RateTable;

bool rate_table_take(RateTable *table, uint64_t source, RateLimit limit, int64_t now_ms,
                     int64_t amount);
