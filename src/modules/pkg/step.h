/* The packages that a step requests: its parsed parameters, compared with what is installed. */
#pragma once

#include "modules/pkg/backend.h"

typedef struct PackageRequest {
    Str name;
    VersionSpec version; /* accepted versions of an installed package */
    Str target;          /* version to install; empty: the preferred one */
} PackageRequest;

typedef enum PackageRefresh {
    REFRESH_WHEN_NEEDED,
    REFRESH_ALWAYS,
    REFRESH_NEVER,
} PackageRefresh;

/* Passed from check to apply. */
typedef struct PackageStep {
    const PackageBackend *backend;
    const VersionOrder *order;
    PackageRequest *requests;
    uint32_t count;
    bool removes; /* removes all packages; otherwise installs them */
    bool latest;  /* installs the newest available version */
    bool purge;
    bool replace_conffiles;
    bool allow_downgrade;
    bool allow_removals;
    bool set_recommends, recommends;
    PackageRefresh refresh;
    int64_t index_age_ms; /* for `latest`: maximum age of the index */
    int64_t lock_ms;
} PackageStep;

/* Parameters that several actions share, with the same meaning. */
#define PACKAGE_NAMES                                      \
    { "name", PARAM_STRING, .help = "a package" },         \
    {                                                      \
        "pkgs", PARAM_VERSIONS, .help = "several packages" \
    }
#define PACKAGE_PROVIDER                                                                       \
    {                                                                                          \
        "provider", PARAM_STRING, .choices = "apt|dnf|zypper|pacman|packagekit",               \
                                  .help = "package manager to use; default: the machine's own" \
    }
#define PACKAGE_LOCK                                                                              \
    {                                                                                             \
        "lock_timeout", PARAM_DURATION,                                                           \
            .fallback = "5m", .help = "how long to wait for other processes that change packages" \
    }

/* Checks the names of packages as far as that is possible without knowing the package manager. */
bool package_step_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                         Error *err);
/* Reads all parameters of the action; the caller sets `removes` and `latest`. Fails if a parameter
 * is invalid, and with ERROR_UNAVAILABLE if there is no package manager. */
MUST_CHECK bool package_step_read(Call *call, PackageStep *out, Error *err);
/* Reads only the package manager and the options, no packages. */
MUST_CHECK bool package_step_options(Call *call, PackageStep *out, Error *err);
/* Returns the options of the step, without packages. */
PackageChange package_step_change(const PackageStep *step);
/* The complete check of a step that installs or removes packages; stores `step` for apply. */
MUST_CHECK bool package_step_check(Call *call, PackageStep *step, Outcome *outcome, Error *err);
/* Reports an interrupted operation as a change, unless a package manager is still running. Returns
 * true if it did. */
bool package_check_interruption(Call *call, const PackageBackend *backend,
                                const PackageDatabase *database, Outcome *outcome);
/* Reports a completed repair; `wrong` describes what was repaired. */
void package_note_repair(Call *call, Outcome *outcome, const PackageBackend *backend, Str wrong);
/* Adds claims for what packages may provide besides themselves. */
void package_add_provided_claims(Arena *arena, List *claims);
/* Adds a claim for each package in the parameters; `prefix` is "pkg:" or "drops:pkg:". */
void package_claims(Arena *arena, const char *prefix, const ParamSpec *specs, const Value *params,
                    List *claims);

/* Returns true if nothing needs to be done for it. `candidate` is the newest available version if
 * `latest` is set; empty: unknown. */
bool package_request_is_met(Call *call, const PackageStep *step, const PackageRequest *request,
                            const PackageDatabase *database, Str candidate);
/* Returns true if the index would be refreshed before it is used. */
bool package_step_refreshes(Call *call, const PackageStep *step);
/* Returns true if an earlier step of the plan releases a held package (pkg.c). False outside of
 * plans. */
bool package_is_released(Call *call, Str package);
/* Fails if the installed version is newer than requested, or held and not `released`. */
MUST_CHECK bool package_request_check(const PackageStep *step, const PackageRequest *request,
                                      const PackageDatabase *database, bool released, Error *err);
/* Chooses the version to install; for a pattern or comparison the best available one. Fails with
 * ERROR_NOT_FOUND if there is none. */
MUST_CHECK bool package_request_resolve(Call *call, const PackageStep *step,
                                        PackageRequest *request, const PackageDatabase *database,
                                        const PackageOffer *offer, Error *err);
/* The installed version for display: "1.0", "1.0 (half-configured)"; missing: not installed. */
Value package_current_state(Arena *arena, const Package *package);
