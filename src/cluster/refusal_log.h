/* Rate limits the logging of rejected requests: unauthenticated clients must not be able to fill
 * the disk, nor to hide other clients' entries in a flood. Each source has a burst of lines and
 * then a few per minute; all together have twenty and then one per second. The next line contains
 * the number of suppressed ones. A plain value; zero-initialized is empty. */
#pragma once

#include "base/rate.h"

typedef struct RefusalLog {
    RateTable sources;
    RateBucket total;
    int64_t omitted;
} RefusalLog;

/* Whether to log another rejection of this source. `suppressed` is the number of those not logged
 * since the last line. */
bool refusal_log_allows(RefusalLog *log, uint64_t source, int64_t now_ms, int64_t *suppressed);
