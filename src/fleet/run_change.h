/* Creates and cancels runs, each in one transaction. Loop thread only. */
#pragma once

#include "cluster/cluster_store.h"
#include "fleet/records.h"
#include "source/manifest.h"

/* Creates a run. Its ID must not be in use (ERROR_CONFLICT). The record is copied. */
void fleet_run_create(const ClusterStore *cluster_store, const FleetRun *run, ClusterDone *done,
                      void *context);
/* Targets that have not finished are canceled. Fails with ERROR_NOT_FOUND, or ERROR_CONFLICT if the
 * run has ended. With `now`, running steps are stopped at once, even if it was already canceled;
 * otherwise canceling twice changes nothing. */
void fleet_run_cancel(const ClusterStore *cluster_store, Str id, bool now, ClusterDone *done,
                      void *context);
/* Whether the version can contain all jobs of the run. Otherwise `*index` is the first that it does
 * not have, and the error, ERROR_INVALID, says so. */
MUST_CHECK bool fleet_run_check_jobs(const FleetRun *run, const Manifest *manifest, uint32_t *index,
                                     Error *err);
