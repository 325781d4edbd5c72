/* pkg.removed: packages that are not there. */
#include "modules/pkg/actions.h"
#include "modules/pkg/step.h"

const ParamSpec removed_params[] = {
    PACKAGE_NAMES,
    { "purge", PARAM_BOOL, .fallback = "false", .help = "remove their configuration too" },
    PACKAGE_PROVIDER,
    PACKAGE_LOCK,
    { 0 },
};

bool removed_check(Call *call, Outcome *outcome, Error *err)
{
    PackageStep *step = ARENA_NEW(call->arena, PackageStep);
    step->removes = true;
    return package_step_check(call, step, outcome, err);
}

void removed_claims(Arena *arena, const Value *params, List *claims)
{
    package_claims(arena, "drops:pkg:", removed_params, params, claims);
}
