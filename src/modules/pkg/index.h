/* The index of a package manager: the packages that can be installed. It is refreshed at most once
 * per run, and again after the sources have changed. Results of queries are cached. */
#pragma once

#include "modules/pkg/backend.h"

/* Returns true if this run has refreshed it since the sources last changed. */
bool index_is_fresh(Call *call, const PackageBackend *backend);
/* Returns true if the sources have changed in this run, so that the index does not cover them. */
bool index_is_outdated(Call *call, const PackageBackend *backend);
/* Refreshes the index unless it is fresh. Later calls report the same failure as the first, except
 * for ERROR_CONFLICT: another process holds the lock. */
MUST_CHECK bool index_refresh(Call *call, const PackageBackend *backend, int64_t timeout_ms,
                              Error *err);
/* Milliseconds since its last refresh by any process; INT64_MAX: there is no index. */
int64_t index_age_ms(Call *call, const PackageBackend *backend);

/* Must be called after changing the list of repositories. */
void index_sources_changed(Call *call);

/* Looks up these packages; strings are in the call's arena. If `installed` is set, the same query
 * also looks up all installed packages. */
MUST_CHECK bool index_find(Call *call, const PackageBackend *backend,
                           const PackageDatabase *installed, PackageOffer *offers, uint32_t count,
                           Error *err);
/* Discards cached results after packages were installed or removed. */
void index_invalidate(Call *call, const PackageBackend *backend);
