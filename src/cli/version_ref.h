/* References to versions of the site: "current", "previous", a name, or the beginning of a name or
 * of a commit. */
#pragma once

#include "cli/fleet_run.h"
#include "source/manifest.h"

enum {
    VERSION_REF_MIN = 4 /* minimum length of a prefix */
};

/* Options of commands that make a version current. */
#define VERSION_RUN_OPTIONS                                                                  \
    { .name = "no-run", .help = "do not apply the version to all nodes now" },               \
        { .name = "wait", .help = "watch the run on all nodes, and exit with its outcome" }, \
        FLEET_WAIT_OPTIONS

/* Finds the version, as an API object. Reports a failure and returns its exit code. */
int version_ref_find(Invocation *invocation, const char *ref, Value *out);
/* Sends POST /v1/versions/<name>/activate. `pin` may be missing. Returns the exit code. */
int version_activate_at(Invocation *invocation, Str name, Value pin, bool run, Value *out);
/* Returns the ID of the newest run; call this before a version is made current. Empty if there is
 * none. */
Str version_newest_run(const Invocation *invocation);
/* Watches the run that applies the current version to all nodes. That run is newer than the run
 * `after`, which may be empty. `is_new`: the version has just become current, so the run may not
 * exist yet. Returns the exit code of its outcome. */
int version_run_watch(Invocation *invocation, Value version, bool is_new, Str after);
/* Fetches the manifest of a version. Returns the exit code. */
int version_manifest(Invocation *invocation, Value version, Manifest *out);
