/* What can be installed: the index of a package manager. It is made new at most once a run, and
 * again after the sources have changed; what it says of a package is asked once. */
#pragma once

#include "modules/pkg/backend.h"

/* Whether this run has made it new, since the sources changed last. */
bool index_is_fresh(Call *call, const PackageBackend *backend);
/* Whether the sources have changed in this run, so that it does not know what they offer. */
bool index_is_outdated(Call *call, const PackageBackend *backend);
/* Makes it new, unless it is fresh. The failure of the first try is that of all others, except
 * ERROR_CONFLICT: somebody else has the lock. */
MUST_CHECK bool index_refresh(Call *call, const PackageBackend *backend, int64_t timeout_ms,
                              Error *err);
/* Milliseconds since it was made new, by whomever; INT64_MAX: there is none. */
int64_t index_age_ms(Call *call, const PackageBackend *backend);

/* For those who change where packages come from. */
void index_sources_changed(Call *call);

/* What it says of these packages; the texts are in the call's arena. With `installed` the names of
 * all that are installed are asked for in the same go. */
MUST_CHECK bool index_find(Call *call, const PackageBackend *backend,
                           const PackageDatabase *installed, PackageOffer *offers, uint32_t count,
                           Error *err);
/* Packages were installed or removed: ask again. */
void index_forget(Call *call, const PackageBackend *backend);
