/* Starting, stopping and reloading a unit, to the end.
 *
 * systemd queues a job and tells when it is over. That is not always the whole truth: for a
 * service that does not say when it is ready (Type=simple, exec and idle) the job is over once the
 * program was started, and one that dies a moment later counts as started. So such a unit is
 * watched for a while longer, the `settle` of the step. */
#pragma once

#include "modules/service/manager.h"

typedef enum UnitJob {
    UNIT_START,
    UNIT_STOP,
    UNIT_RESTART, /* starts it where it does not run */
    UNIT_RELOAD,  /* restarts it where it cannot reload, starts it where it does not run */
} UnitJob;

typedef struct JobPatience {
    int64_t timeout_ms; /* for the job; 0: as long as systemd waits */
    int64_t settle_ms;
} JobPatience;

/* Until the job is over and the unit is as the job was to make it. Then `unit` tells how it is now,
 * also after a failure as far as that is known. When the unit failed, its journal is in `err` and
 * in the error output of `outcome`; `outcome->changed` is set once the job was given. */
MUST_CHECK bool unit_job_run(Manager *manager, UnitStatus *unit, UnitJob job, JobPatience patience,
                             Outcome *outcome, Error *err);

/* A unit that keeps failing and is started again each time looks as if it ran, for moments. One
 * that was started less than `settle_ms` ago, and not for the first time, is watched that long; if
 * it fails meanwhile, `unit` says that it waits for its next try. */
MUST_CHECK bool unit_watch_young(Manager *manager, UnitStatus *unit, int64_t settle_ms, Error *err);
