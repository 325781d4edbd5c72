/* Limits the disk space that logs of runs use on a server. Loop thread. */
#pragma once

#include "fleet/run_logs.h"

enum {
    RUN_LOGS_MIB = 4096, /* default for all runs, if the disk is large enough */
};

/* Calls `keeps` for each run that has a log, and deletes the logs for which it returns false. */
void run_logs_sweep(RunLogs *logs, bool (*keeps)(void *context, Str run), void *context);
/* In bytes; at most an eighth of the disk. */
int64_t run_logs_limit_default(const RunLogs *logs);
/* The size of all logs. */
int64_t run_logs_bytes(const RunLogs *logs);
/* If all logs together are larger than `max` bytes, removes the oldest ones for which `may_remove`
 * returns true, until they are not. What remains of each is an event that says when:
 * {"event":"removed","at_ms":..,"bytes":N}. Returns how many logs it removed. */
uint32_t run_logs_limit(RunLogs *logs, int64_t max, int64_t now_ms,
                        bool (*may_remove)(void *context, Str run), void *context);
