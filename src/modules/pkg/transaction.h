/* Changing packages: the wishes of one step, or of many at once, in one transaction of the package
 * manager, with a result for each.
 *
 * Around it: waiting for others who change packages, bringing to an end what was interrupted,
 * refreshing the index once, leaving out what cannot be had, and finding out who is to blame when
 * the transaction fails, so that the others get theirs. */
#pragma once

#include "modules/pkg/step.h"

/* `outcome->found` of each is its PackageStep. */
void packages_merge(MergedCall *calls, uint32_t count);
bool packages_apply(Call *call, Outcome *outcome, Error *err);

/* One at a time changes packages in this process: whose turn it is. */
typedef struct PackageTurn {
    bool repair_failed; /* once a run is enough */
} PackageTurn;

/* Waits for others of this process, and then until nobody else holds the lock of the package
 * manager, at most until `deadline_us` (of clock_monotonic_us). The turn is ended also after a
 * failure. */
MUST_CHECK bool packages_begin(Call *call, const PackageBackend *backend, int64_t deadline_us,
                               PackageTurn **turn, Error *err);
void packages_end(Call *call);
/* So many milliseconds from now; that of the call's own timeout when that is sooner. */
int64_t packages_deadline_us(const Call *call, int64_t duration_ms);

/* Runs the change; when somebody else gets the lock first, waits and tries again. */
MUST_CHECK bool packages_change(Call *call, const PackageBackend *backend, PackageChange *change,
                                int64_t deadline_us, ProcessResult *result, Error *err);
/* Brings an interrupted package manager to an end, once a run. `*repaired` says what was wrong;
 * empty: nothing, or it could not be helped. The database becomes the one after that. */
MUST_CHECK bool packages_repair(Call *call, const PackageBackend *backend, PackageTurn *turn,
                                const PackageChange *like, PackageDatabase **database,
                                Str *repaired, Error *err);
/* Makes the index new unless this run has; waits when somebody else is at it. */
MUST_CHECK bool packages_refresh(Call *call, const PackageBackend *backend, int64_t deadline_us,
                                 Error *err);
/* Notes all differences between the two databases as changes of the step. */
void packages_note_changes(Call *call, Outcome *outcome, const PackageDatabase *before,
                           const PackageDatabase *now);
