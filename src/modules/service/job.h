/* Starts, stops or reloads a unit and waits for the result.
 *
 * systemd queues a job and signals its end. For a service that does not notify when it is ready
 * (Type=simple, exec and idle) that is not conclusive: the job ends once the program was started,
 * even if it exits immediately afterward. So such a unit is watched for a while longer, as set by
 * the step's parameter `settle`. */
#pragma once

#include "modules/service/manager.h"

typedef enum UnitJob {
    UNIT_START,
    UNIT_STOP,
    UNIT_RESTART, /* starts it if it is not running */
    UNIT_RELOAD,  /* restarts it if it cannot reload, starts it if it is not running */
} UnitJob;

typedef struct JobTimeouts {
    int64_t timeout_ms; /* for the job; 0: systemd's own limit */
    int64_t settle_ms;
} JobTimeouts;

/* Runs the job and waits until the unit is in the intended state. `unit` is updated, even after a
 * failure if possible. If the unit failed, its journal is added to `err` and to the error output of
 * `outcome`. `outcome->changed` is set once the job was queued. */
MUST_CHECK bool unit_job_run(Manager *manager, UnitStatus *unit, UnitJob job, JobTimeouts timeouts,
                             Outcome *outcome, Error *err);

/* A unit that repeatedly fails and is restarted appears to run for short periods. So if a unit was
 * restarted less than `settle_ms` ago, watches it for that long; if it fails, `unit` shows that it
 * is waiting to be restarted. */
MUST_CHECK bool unit_watch_recent(Manager *manager, UnitStatus *unit, int64_t settle_ms,
                                  Error *err);
