/* Which refusals get a line in the log: strangers can be refused as often as they like, and must not
 * fill the disk with it, nor hide by a flood what others do. Each source has some lines at once and then
 * a few a minute, all together have twenty at once and then one a second; how many were left out is in
 * the next line. A plain value; zero is an empty one. */
#pragma once

#include "base/rate.h"

typedef struct RefusalLog {
    RateTable sources;
    Rate all;
    int64_t left_out;
} RefusalLog;

/* Whether one more of this source is written. `suppressed`: how many were not since the last line. */
bool refusal_log_take(RefusalLog *log, uint64_t source, int64_t now_ms, int64_t *suppressed);
