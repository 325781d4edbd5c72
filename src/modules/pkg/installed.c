/* pkg.installed and pkg.latest: packages that are there. */
#include "modules/pkg/actions.h"
#include "modules/pkg/step.h"

#define INSTALL_PARAMS                                                                             \
    { "conffiles", PARAM_STRING, .fallback = "keep", .choices = "keep|replace",                    \
      .help = "whose configuration file stays when both the machine and the package changed it" }, \
        { "recommends", PARAM_BOOL,                                                                \
          .help = "also what the packages recommend; otherwise as the machine is set up" },        \
        { "allow_removals", PARAM_BOOL, .fallback = "false",                                       \
          .help =                                                                                  \
              "let packages go that are in the way; otherwise the step fails and names them" },    \
        PACKAGE_PROVIDER, PACKAGE_LOCK

const ParamSpec installed_params[] = {
    { "name", PARAM_STRING, .help = "a package" },
    { "version", PARAM_STRING, .decides = "version",
      .help = "of 'name': '1.2-3', a pattern '1.2*', or comparisons '>=1.2, <2'" },
    { "pkgs", PARAM_VERSIONS, .help = "several packages, each as NAME or as 'NAME: VERSION'" },
    { "refresh", PARAM_BOOL,
      .help = "true: read the index of packages again first; false: never; otherwise when needed" },
    { "allow_downgrade", PARAM_BOOL, .fallback = "false",
      .help = "go back to an older version when that is the one wanted" },
    INSTALL_PARAMS,
    { 0 },
};

const ParamSpec latest_params[] = {
    PACKAGE_NAMES,
    { "refresh", PARAM_BOOL,
      .help = "true: read the index of packages again first; false: never; otherwise by its age" },
    { "index_age", PARAM_DURATION, .fallback = "1h",
      .help = "how old the index may be when 'refresh' is not given" },
    INSTALL_PARAMS,
    { 0 },
};

bool installed_check(Call *call, Outcome *outcome, Error *err)
{
    return package_step_check(call, ARENA_NEW(call->arena, PackageStep), outcome, err);
}

void installed_claims(Arena *arena, const Value *params, List *claims)
{
    package_claims(arena, "pkg:", installed_params, params, claims);
    package_brings(arena, claims);
    if (value_is_true(params_get(installed_params, params, "refresh"))) {
        claims_add(arena, claims, "brings:package", STR_EMPTY);
    }
}

bool latest_check(Call *call, Outcome *outcome, Error *err)
{
    PackageStep *step = ARENA_NEW(call->arena, PackageStep);
    step->latest = true;
    return package_step_check(call, step, outcome, err);
}

void latest_claims(Arena *arena, const Value *params, List *claims)
{
    package_claims(arena, "pkg:", latest_params, params, claims);
    package_brings(arena, claims);
    claims_add(arena, claims, "brings:package", STR_EMPTY); /* with a new index */
}
