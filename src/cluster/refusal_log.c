#include "cluster/refusal_log.h"

/* Allows a burst of five lines, and then six per minute. */
#define SOURCE_LIMIT ((RateLimit){ .per_second = 1, .burst = 50 })
#define LINE_COST    10
#define TOTAL_LIMIT  ((RateLimit){ .per_second = 1, .burst = 20 })

bool refusal_log_allows(RefusalLog *log, uint64_t source, int64_t now_ms, int64_t *suppressed)
{
    if (!rate_table_take(&log->sources, source, SOURCE_LIMIT, now_ms, LINE_COST) ||
        !rate_take(&log->total, TOTAL_LIMIT, now_ms, 1)) {
        log->omitted++;
        return false;
    }
    *suppressed = log->omitted;
    log->omitted = 0;
    return true;
}
