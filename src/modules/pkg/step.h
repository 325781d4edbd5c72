/* What a step wants of packages: its parameters, read, and beside what is installed. */
#pragma once

#include "modules/pkg/backend.h"

typedef struct PackageWish {
    Str name;
    VersionWish version; /* of an installed one: which will do */
    Str target;          /* which version is to be installed; empty: the preferred one */
} PackageWish;

typedef enum PackageRefresh {
    REFRESH_WHEN_NEEDED,
    REFRESH_ALWAYS,
    REFRESH_NEVER,
} PackageRefresh;

/* What check hands to apply. */
typedef struct PackageStep {
    const PackageBackend *backend;
    const VersionOrder *order;
    PackageWish *wishes;
    uint32_t count;
    bool removes; /* all of them; otherwise they are installed */
    bool latest;  /* in the newest version there is */
    bool purge;
    bool replace_conffiles;
    bool allow_downgrade;
    bool allow_removals;
    bool set_recommends, recommends;
    PackageRefresh refresh;
    int64_t index_age_ms; /* of `latest`: how old the index may be */
    int64_t lock_ms;
} PackageStep;

/* Parameters that several actions have, with the same meaning. */
#define PACKAGE_NAMES                                              \
    { "name", PARAM_STRING, .help = "a package" },                 \
    {                                                              \
        "pkgs", PARAM_VERSIONS, .help = "several packages at once" \
    }
#define PACKAGE_PROVIDER                                                            \
    {                                                                               \
        "provider", PARAM_STRING,                                                   \
            .choices = "apt|dnf|zypper|pacman|packagekit",                          \
            .help = "which package manager; otherwise the one that the machine has" \
    }
#define PACKAGE_LOCK                                                                              \
    {                                                                                             \
        "lock_timeout", PARAM_DURATION, .fallback = "5m",                                         \
                                        .help = "how long to wait for others who change packages" \
    }

/* Reads all parameters that the action has; `removes` and `latest` are the caller's. Fails for wrong ones,
 * and with ERROR_UNAVAILABLE where there is no package manager. */
MUST_CHECK bool package_step_read(Call *call, PackageStep *out, Error *err);
/* The same without packages: the package manager, and how to go about it. */
MUST_CHECK bool package_step_options(Call *call, PackageStep *out, Error *err);
/* What the package manager is told beside the packages. */
PackageChange package_step_change(const PackageStep *step);
/* The whole check of a step that installs or removes, with `step` for apply. */
MUST_CHECK bool package_step_check(Call *call, PackageStep *step, Outcome *outcome, Error *err);
/* What was interrupted is a change to make, unless somebody is at it; whether it is noted. */
bool package_check_interruption(Call *call, const PackageBackend *backend,
                                const PackageDatabase *database, Outcome *outcome);
/* That it was: `wrong` is what had been interrupted. */
void package_note_repair(Call *call, Outcome *outcome, const PackageBackend *backend, Str wrong);
/* What packages may bring beside themselves. */
void package_brings(Arena *arena, List *claims);
/* A claim for each package that the parameters name; `prefix` is "pkg:", or "drops:pkg:". */
void package_claims(Arena *arena, const char *prefix, const ParamSpec *specs, const Value *params,
                    List *claims);

/* Whether there is nothing to do for it. `candidate` is the newest version there is, when `latest`
 * counts; empty: not known. */
bool package_wish_is_met(Call *call, const PackageStep *step, const PackageWish *wish,
                         const PackageDatabase *database, Str candidate);
/* Whether the index would be made new before it is looked at. */
bool package_step_refreshes(Call *call, const PackageStep *step);
/* Whether an earlier step of the plan releases a held package (held.c). False outside of plans. */
bool package_is_released(Call *call, Str package);
/* Why this cannot be done at all: the version that is there is newer, or held, unless it was
 * `released`. */
MUST_CHECK bool package_wish_is_possible(const PackageStep *step, const PackageWish *wish,
                                         const PackageDatabase *database, bool released,
                                         Error *err);
/* Chooses the version to install: of a wish with a pattern or comparison the best that is offered.
 * ERROR_NOT_FOUND: there is none. */
MUST_CHECK bool package_wish_resolve(Call *call, const PackageStep *step, PackageWish *wish,
                                     const PackageDatabase *database, const PackageOffer *offer,
                                     Error *err);
/* What is there now, for people: "1.0", "1.0 (half-configured)"; missing: nothing is. */
Value package_now(Arena *arena, const Package *package);
