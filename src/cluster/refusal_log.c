#include "cluster/refusal_log.h"

/* Allows a burst of five lines, and then six per minute. */
#define SOURCE_LIMIT ((RateLimit){ .per_second = 1, .burst = 50 })
#define LINE_COST    10
#define ALL_LIMIT    ((RateLimit){ .per_second = 1, .burst = 20 })

bool refusal_log_allows(RefusalLog *log, uint64_t source, int64_t now_ms, int64_t *suppressed)
{
    if (!rate_table_take(&log->sources, source, SOURCE_LIMIT, now_ms, LINE_COST) ||
        !rate_take(&log->all, ALL_LIMIT, now_ms, 1)) {
        log->left_out++;
        return false;
    }
    *suppressed = log->left_out;
    log->left_out = 0;
    return true;
}
