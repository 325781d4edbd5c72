/* References to versions of the site: "current", "previous", a name, or the beginning of a name or
 * of a commit. */
#pragma once

#include "cli/cluster_client.h"
#include "source/manifest.h"

enum {
    VERSION_REF_MIN = 4 /* minimum length of a prefix */
};

/* Finds the version, as an API object. Reports a failure and returns its exit code. */
int version_ref_find(Invocation *invocation, const char *ref, Value *out);
/* Sends POST /v1/versions/<name>/activate. `pin` may be missing. Returns the exit code. */
int version_activate_at(Invocation *invocation, Str name, Value pin, bool run, Value *out);
/* Fetches the manifest of a version. Returns the exit code. */
int version_manifest(Invocation *invocation, Value version, Manifest *out);
