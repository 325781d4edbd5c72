/* pkg.uptodate: all packages in their newest version; as a question, whether they are. */
#include "modules/pkg/actions.h"
#include "modules/pkg/index.h"
#include "modules/pkg/transaction.h"

const ParamSpec uptodate_params[] = {
    { "full", PARAM_BOOL, .fallback = "false",
      .help = "also what can only be new when other packages are removed for it" },
    { "refresh", PARAM_BOOL,
      .help = "true: read the index of packages again first; false: never; otherwise by its age" },
    { "index_age", PARAM_DURATION, .fallback = "1h",
      .help = "how old the index may be when 'refresh' is not given" },
    { "conffiles", PARAM_STRING, .fallback = "keep", .choices = "keep|replace",
      .help = "whose configuration file stays when both the machine and the package changed it" },
    PACKAGE_PROVIDER,
    PACKAGE_LOCK,
    { 0 },
};

static bool read_step(Call *call, PackageStep *step, Error *err)
{
    step->latest = true;
    if (!package_step_options(call, step, err)) {
        return false;
    }
    PackageChange change = { .operation = PACKAGES_UPGRADE, .full = call_bool(call, "full") };
    return step->backend->check_change == NULL || step->backend->check_change(&change, err);
}

static bool find_upgrades(Call *call, const PackageStep *step, Map **out, Error *err)
{
    *out = map_new(call->arena, 8);
    return step->backend->find_upgrades(call, call_bool(call, "full"), *out, err) ||
           error_wrap(err, "cannot tell what could be newer");
}

void uptodate_claims(Arena *arena, const Value *params, List *claims)
{
    package_brings(arena, claims);
    claims_add(arena, claims, "brings:package", STR_EMPTY); /* with a new index */
}

bool uptodate_check(Call *call, Outcome *outcome, Error *err)
{
    PackageStep *step = ARENA_NEW(call->arena, PackageStep);
    AUTO(PackageDatabase) *database = NULL;
    Map *changes;
    if (!read_step(call, step, err) || !database_get(call, step->backend, &database, err)) {
        return false;
    }
    outcome->found = step;
    /* What is left half done can keep the package manager from telling. */
    if (package_check_interruption(call, step->backend, database, outcome)) {
        return true;
    }
    if (package_step_refreshes(call, step) && !call->planning) {
        outcome->unknown = true;
        return true;
    }
    if (!find_upgrades(call, step, &changes, err)) {
        return false;
    }
    if (changes->len > 0) {
        outcome->changed = true;
        outcome->changes = changes;
    }
    return true;
}

bool uptodate_query(Call *call, Outcome *outcome, Error *err)
{
    PackageStep *step = ARENA_NEW(call->arena, PackageStep);
    Map *changes;
    if (!read_step(call, step, err) || !find_upgrades(call, step, &changes, err)) {
        return false;
    }
    outcome->value = value_bool(changes->len == 0);
    return true;
}

/* How the upgrade ended; `outcome` has what it changed. */
static bool judge(Call *call, const PackageStep *step, const ProcessResult *result,
                  Outcome *outcome, Error *err)
{
    if (result->ending != PROCESS_EXITED) {
        process_failure(call->arena, result, call->timeout_ms, err);
        return error_wrap(err, "%s", step->backend->name);
    }
    if (result->exit_code == 0) {
        return true;
    }
    Str words;
    step->backend->blame(call->arena, result->out, STR("\n"), &words);
    outcome->out = result->out;
    return error_set(err, ERROR_OS, "the upgrade failed: %" STR_FMT, STR_ARG(words));
}

static bool refresh_and_upgrade(Call *call, const PackageStep *step, PackageChange *change,
                                int64_t deadline_us, Outcome *outcome, Error *err)
{
    Map *changes;
    ProcessResult result;
    if (package_step_refreshes(call, step) &&
        !packages_refresh(call, step->backend, deadline_us, err)) {
        return false;
    }
    if (!find_upgrades(call, step, &changes, err)) {
        return false;
    }
    if (changes->len == 0) {
        return true;
    }
    if (!packages_change(call, step->backend, change, deadline_us, &result, err)) {
        return false;
    }
    index_forget(call, step->backend);
    return judge(call, step, &result, outcome, err);
}

/* Between two looks at what is installed, which tell what has changed, however it ends. */
static bool bring_up_to_date(Call *call, const PackageStep *step, PackageTurn *turn,
                             int64_t deadline_us, Outcome *outcome, Error *err)
{
    AUTO(PackageDatabase) *before = NULL;
    AUTO(PackageDatabase) *now = NULL;
    PackageChange change = { .operation = PACKAGES_UPGRADE,
                             .full = call_bool(call, "full"),
                             .replace_conffiles = step->replace_conffiles,
                             .timeout_ms = call->timeout_ms };
    Str repaired;
    Error lost;
    if (!database_get(call, step->backend, &before, err) ||
        !database_get(call, step->backend, &now, err) ||
        !packages_repair(call, step->backend, turn, &change, &now, &repaired, err)) {
        return false;
    }
    bool ok = refresh_and_upgrade(call, step, &change, deadline_us, outcome, err);
    PackageDatabase *after;
    if (!database_get(call, step->backend, &after, &lost)) {
        *err = ok ? lost : *err;
        return false;
    }
    database_unref(now);
    now = after;
    outcome->changes = NULL;
    packages_note_changes(call, outcome, before, now);
    if (repaired.len > 0) {
        package_note_repair(call, outcome, step->backend, repaired);
    }
    return ok;
}

bool uptodate_apply(Call *call, Outcome *outcome, Error *err)
{
    const PackageStep *step = outcome->found;
    int64_t deadline_us = packages_deadline_us(call, step->lock_ms);
    PackageTurn *turn;
    bool ok = packages_begin(call, step->backend, deadline_us, &turn, err) &&
              bring_up_to_date(call, step, turn, deadline_us, outcome, err);
    packages_end(call);
    return ok;
}
