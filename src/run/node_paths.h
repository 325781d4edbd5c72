/* The paths of a node's own files: in its root, unless the user specifies otherwise.
 *
 * `given` is the user's choice (--state-dir, --config-dir) or NULL. Links in the root are followed
 * as they would be on that system; one that points outside of it is ERROR_CONFLICT. A missing root
 * is reported by the code that uses it. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

/* State about runs: var/lib/eden. */
MUST_CHECK bool node_state_path(Arena *arena, const char *given, const char *root, const char **out,
                                Error *err);
/* The var/lib/eden of the root, where its agent has its state unless configured otherwise; NULL if
 * that cannot be determined. */
const char *node_home_path(Arena *arena, const char *root);
/* Where this machine stores the keys of trusted site modules, whatever the root is: `given`, or its
 * own etc/eden. */
const char *node_trust_path(const char *given);
/* Identity and variables: etc/eden. */
MUST_CHECK bool node_config_path(Arena *arena, const char *given, const char *root,
                                 const char **out, Error *err);
