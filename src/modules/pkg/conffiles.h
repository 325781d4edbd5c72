/* Package managers that do not ask about changed configuration files but put the new one beside it:
 * with the policy to replace, it takes the place of the old one. */
#pragma once

#include "modules/pkg/backend.h"

/* New files that are there before a change, and so are none of its doing. */
typedef struct ConffilesBefore {
    StrMap inodes; /* path to the number of what stands there */
} ConffilesBefore;

/* Before the change: looks at those of the packages in `items`. */
MUST_CHECK bool conffiles_look(Call *call, const PackageBackend *backend, const PackageItem *items,
                               uint32_t count, ConffilesBefore *out, Error *err);
/* After it: new ones replace what is there, which is journaled before. */
MUST_CHECK bool conffiles_replace(Call *call, const PackageBackend *backend,
                                  const PackageItem *items, uint32_t count,
                                  const ConffilesBefore *before, Error *err);
