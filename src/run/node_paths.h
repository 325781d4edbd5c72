/* Where a node has its own files: below its root, unless the user says otherwise.
 *
 * `given` is what the user says (--state-dir, --config-dir) or NULL. Links below the root are
 * followed as the system there would; one that leads out of it is ERROR_CONFLICT. A root that is not
 * there is told of by whoever uses it. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

/* What it knows of runs: var/lib/eden. */
MUST_CHECK bool node_state_path(Arena *arena, const char *given, const char *root, const char **out,
                                Error *err);
/* Where this machine says whose modules of sites it runs, whatever the root is: `given`, or its own
 * etc/eden. */
const char *node_trust_path(const char *given);
/* Who it is, and its variables: etc/eden. */
MUST_CHECK bool node_config_path(Arena *arena, const char *given, const char *root,
                                 const char **out, Error *err);
