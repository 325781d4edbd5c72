/* Changes packages: the requests of one step, or of many steps at once, in one transaction of the
 * package manager, with a separate result for each step.
 *
 * A transaction waits for other processes that change packages, completes interrupted operations,
 * refreshes the index once and excludes unavailable packages. If it fails, it finds the members
 * that caused the failure and retries without them, so that the others succeed. */
#pragma once

#include "modules/pkg/step.h"

/* `outcome->check_data` of each is its PackageStep. */
void packages_merge(MergedCall *calls, uint32_t count);
bool packages_apply(Call *call, Outcome *outcome, Error *err);

/* The exclusive right, within this process, to change packages. */
typedef struct PackageLock {
    bool repair_failed; /* one attempt per run is enough */
} PackageLock;

/* Waits for other callers in this process, then until no other process holds the package manager's
 * lock, at most until `deadline_us` (clock_monotonic_us). packages_unlock() must be called even
 * after a failure. */
MUST_CHECK bool packages_lock(Call *call, const PackageBackend *backend, int64_t deadline_us,
                              PackageLock **turn, Error *err);
void packages_unlock(Call *call);
/* Returns the time `duration_ms` from now, or the call's deadline if that is earlier. */
int64_t packages_deadline_us(const Call *call, int64_t duration_ms);

/* Runs the change. If another process acquires the lock first, waits and retries. */
MUST_CHECK bool packages_change(Call *call, const PackageBackend *backend, PackageChange *change,
                                int64_t deadline_us, ProcessResult *result, Error *err);
/* Completes an interrupted operation, once per run. `*repaired` describes what was repaired; empty
 * if nothing was, or if the repair failed. Updates the database. */
MUST_CHECK bool packages_repair(Call *call, const PackageBackend *backend, PackageLock *turn,
                                const PackageChange *like, PackageDatabase **database,
                                Str *repaired, Error *err);
/* Refreshes the index unless this run already has. Waits if another process holds the lock. */
MUST_CHECK bool packages_refresh(Call *call, const PackageBackend *backend, int64_t deadline_us,
                                 Error *err);
/* Reports all differences between the two databases as changes of the step. */
void packages_note_changes(Call *call, Outcome *outcome, const PackageDatabase *before,
                           const PackageDatabase *now);
