/* pkg.*: system packages. installed, latest and removed share their check (step.c) and apply
 * (transaction.c); held and uptodate are here. */
#include "modules/pkg/index.h"
#include "modules/pkg/transaction.h"

/* --- pkg.held -------------------------------------------------------------------------------- */

static const ParamSpec held_params[] = {
    PACKAGE_NAMES,
    { "hold", PARAM_BOOL, .aspect = "hold", .fallback = "true",
      .help = "whether to hold the packages; false releases them" },
    PACKAGE_PROVIDER,
    PACKAGE_LOCK,
    { 0 },
};

typedef struct Released {
    Arena arena;
    StrMap names;
    bool is_used;
} Released;

static void released_clear(void *value)
{
    Released *released = value;
    if (released->is_used) {
        arena_clear(&released->arena);
    }
}

static const SharedKind released_kind = { sizeof(Released), released_clear };

/* Records that `hold: false` would release the package. */
static void planned_release(Call *call, Str package)
{
    Shared *shared = host_shared(call->host);
    Released *released = shared_lock(shared, &released_kind);
    if (!released->is_used) {
        released->is_used = true;
        arena_init(&released->arena, ARENA_UNLIMITED);
        str_map_init(&released->names, &released->arena);
    }
    str_map_put(&released->names, arena_copy(&released->arena, package), NULL);
    shared_unlock(shared, &released_kind);
}

bool package_is_released(Call *call, Str package)
{
    if (!call->planning) {
        return false;
    }
    Shared *shared = host_shared(call->host);
    Released *released = shared_lock(shared, &released_kind);
    bool is_released = released->is_used && str_map_has(&released->names, package);
    shared_unlock(shared, &released_kind);
    return is_released;
}

static bool compare(Call *call, const PackageStep *step, const PackageDatabase *database,
                    Outcome *outcome, Error *err)
{
    bool hold = call_bool(call, "hold");
    for (uint32_t i = 0; i < step->count; i++) {
        Str name = step->requests[i].name;
        const Package *package = database_find(database, name);
        bool is_there = package != NULL && package->condition >= PACKAGE_INCOMPLETE;
        if (!is_there && hold &&
            !call_report_missing(call, call_has(call, "pkgs") ? "pkgs" : "name", "pkg", name)) {
            return error_set(err, ERROR_NOT_FOUND,
                             "'%" STR_FMT "' is not installed, so there is no version to hold",
                             STR_ARG(name));
        }
        if ((is_there && package->held) != hold) {
            outcome->changed = true;
            outcome_change(call, outcome, arena_copy_c(call->arena, name),
                           value_string(hold ? STR("free") : STR("held")),
                           value_string(hold ? STR("held") : STR("free")));
        }
        if (call->planning && !hold) {
            planned_release(call, name);
        }
    }
    return true;
}

static bool held_check(Call *call, Outcome *outcome, Error *err)
{
    PackageStep *step = ARENA_NEW(call->arena, PackageStep);
    AUTO(PackageDatabase) *database = NULL;
    if (!package_step_read(call, step, err)) {
        return false;
    }
    if (step->backend->hold == NULL) {
        return error_set(err, ERROR_UNAVAILABLE, "'%s' does not support holding packages",
                         step->backend->name);
    }
    if (!database_get(call, step->backend, &database, err) ||
        !compare(call, step, database, outcome, err)) {
        return false;
    }
    outcome->state = STR("installed");
    outcome->check_data = step;
    return true;
}

static bool hold_all(Call *call, const PackageStep *step, Outcome *outcome, Error *err)
{
    VEC(Str) names = { 0 };
    bool hold = call_bool(call, "hold");
    AUTO(PackageDatabase) *database = NULL;
    if (!database_get(call, step->backend, &database, err)) {
        return false;
    }
    for (uint32_t i = 0; i < step->count; i++) {
        const Package *package = database_find(database, step->requests[i].name);
        if ((package != NULL && package->held) != hold) {
            VEC_PUSH(call->arena, &names, database_name(database, step->requests[i].name));
        }
    }
    if (names.len == 0) {
        return true;
    }
    outcome->changed = true;
    return step->backend->hold(call, names.items, names.len, hold, err);
}

static bool held_apply(Call *call, Outcome *outcome, Error *err)
{
    const PackageStep *step = outcome->check_data;
    PackageLock *turn;
    bool ok =
        packages_lock(call, step->backend, packages_deadline_us(call, step->lock_ms), &turn, err) &&
        hold_all(call, step, outcome, err);
    packages_unlock(call);
    return ok;
}

static void held_claims(Arena *arena, const Value *params, List *claims)
{
    package_claims(arena, "pkg:", held_params, params, claims);
}

/* --- pkg.uptodate ---------------------------------------------------------------------------- */

static const ParamSpec uptodate_params[] = {
    { "full", PARAM_BOOL, .fallback = "false",
      .help = "whether to also upgrade packages that require removing others" },
    { "refresh", PARAM_BOOL,
      .help =
          "true: refresh the package index first; false: never; default: depending on its age" },
    { "index_age", PARAM_DURATION, .fallback = "1h",
      .help = "maximum age of the index if 'refresh' is not set" },
    { "conffiles", PARAM_STRING, .fallback = "keep", .choices = "keep|replace",
      .help =
          "which configuration file to use if both the machine and the package have changed it" },
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
           error_wrap(err, "cannot list upgrades");
}

static void uptodate_claims(Arena *arena, const Value *params, List *claims)
{
    package_add_provided_claims(arena, claims);
    claims_add(arena, claims, "provides:package", STR_EMPTY); /* through a refreshed index */
}

static bool uptodate_check(Call *call, Outcome *outcome, Error *err)
{
    PackageStep *step = ARENA_NEW(call->arena, PackageStep);
    AUTO(PackageDatabase) *database = NULL;
    Map *changes;
    if (!read_step(call, step, err) || !database_get(call, step->backend, &database, err)) {
        return false;
    }
    outcome->check_data = step;
    /* A partially installed package can prevent the package manager from simulating. */
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

static bool uptodate_query(Call *call, Outcome *outcome, Error *err)
{
    PackageStep *step = ARENA_NEW(call->arena, PackageStep);
    Map *changes;
    if (!read_step(call, step, err) || !find_upgrades(call, step, &changes, err)) {
        return false;
    }
    outcome->value = value_bool(changes->len == 0);
    return true;
}

/* Converts the result of the upgrade; `outcome` has the changes. */
static bool check_result(Call *call, const PackageStep *step, const ProcessResult *result,
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
    index_invalidate(call, step->backend);
    return check_result(call, step, &result, outcome, err);
}

/* Compares the installed packages before and after, so that changes are reported even if the
 * upgrade fails. */
static bool upgrade_packages(Call *call, const PackageStep *step, PackageLock *turn,
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

static bool uptodate_apply(Call *call, Outcome *outcome, Error *err)
{
    const PackageStep *step = outcome->check_data;
    int64_t deadline_us = packages_deadline_us(call, step->lock_ms);
    PackageLock *turn;
    bool ok = packages_lock(call, step->backend, deadline_us, &turn, err) &&
              upgrade_packages(call, step, turn, deadline_us, outcome, err);
    packages_unlock(call);
    return ok;
}

/* --- Module table ---------------------------------------------------------------------------- */

#define INSTALL_PARAMS                                                                             \
    { "conffiles", PARAM_STRING, .fallback = "keep", .choices = "keep|replace",                    \
      .help =                                                                                      \
          "which configuration file to use if both the machine and the package have changed it" }, \
        { "recommends", PARAM_BOOL,                                                                \
          .help = "whether to install recommended packages too; default: the machine's "           \
                  "configuration" },                                                               \
        { "allow_removals", PARAM_BOOL, .fallback = "false",                                       \
          .help = "remove conflicting packages; otherwise the step fails and lists them" },        \
        PACKAGE_PROVIDER, PACKAGE_LOCK

static const ParamSpec installed_params[] = {
    { "name", PARAM_STRING, .help = "a package" },
    { "version", PARAM_STRING, .aspect = "version",
      .help = "version of 'name': '1.2-3', a pattern '1.2*', or comparisons '>=1.2, <2'" },
    { "pkgs", PARAM_VERSIONS, .help = "several packages, each as NAME or 'NAME: VERSION'" },
    { "refresh", PARAM_BOOL,
      .help = "true: refresh the package index first; false: never; default: when needed" },
    { "allow_downgrade", PARAM_BOOL, .fallback = "false",
      .help = "allow replacing a package with an older version" },
    INSTALL_PARAMS,
    { 0 },
};

static const ParamSpec latest_params[] = {
    PACKAGE_NAMES,
    { "refresh", PARAM_BOOL,
      .help =
          "true: refresh the package index first; false: never; default: depending on its age" },
    { "index_age", PARAM_DURATION, .fallback = "1h",
      .help = "maximum age of the index if 'refresh' is not set" },
    INSTALL_PARAMS,
    { 0 },
};

static bool installed_check(Call *call, Outcome *outcome, Error *err)
{
    return package_step_check(call, ARENA_NEW(call->arena, PackageStep), outcome, err);
}

static void installed_claims(Arena *arena, const Value *params, List *claims)
{
    package_claims(arena, "pkg:", installed_params, params, claims);
    package_add_provided_claims(arena, claims);
    if (value_is_true(params_get(installed_params, params, "refresh"))) {
        claims_add(arena, claims, "provides:package", STR_EMPTY);
    }
}

static bool latest_check(Call *call, Outcome *outcome, Error *err)
{
    PackageStep *step = ARENA_NEW(call->arena, PackageStep);
    step->latest = true;
    return package_step_check(call, step, outcome, err);
}

static void latest_claims(Arena *arena, const Value *params, List *claims)
{
    package_claims(arena, "pkg:", latest_params, params, claims);
    package_add_provided_claims(arena, claims);
    claims_add(arena, claims, "provides:package", STR_EMPTY); /* through a refreshed index */
}

static const ParamSpec removed_params[] = {
    PACKAGE_NAMES,
    { "purge", PARAM_BOOL, .fallback = "false", .help = "remove their configuration files too" },
    PACKAGE_PROVIDER,
    PACKAGE_LOCK,
    { 0 },
};

static bool removed_check(Call *call, Outcome *outcome, Error *err)
{
    PackageStep *step = ARENA_NEW(call->arena, PackageStep);
    step->removes = true;
    return package_step_check(call, step, outcome, err);
}

static void removed_claims(Arena *arena, const Value *params, List *claims)
{
    package_claims(arena, "drops:pkg:", removed_params, params, claims);
}

static const Action actions[] = {
    { "installed", "Ensure that packages are installed.", installed_params, installed_check,
      packages_apply, .verify_all = package_step_verify, .claims = installed_claims,
      .merge = packages_merge, .stage = STAGE_PACKAGES, .cost_ms = 5000,
      .resource = "package name|pkgs", .desired_state = "state=installed",
      .text = "A version can be exact ('1.2-3'), a pattern ('1.2*'), or a list of comparisons\n"
              "that must all be true ('>=1.2, <2'). Versions are compared by the rules of the\n"
              "machine's package manager. Without a version, any installed version is accepted.\n"
              "Downgrades require 'allow_downgrade'.\n"
              "\n"
              "The package index is refreshed if 'refresh' is true, if it does not exist, if\n"
              "the sources changed in this run, and if it lacks the package or version; at most\n"
              "once per run, regardless of the number of steps, and again after the sources\n"
              "changed. It is not used if there is nothing to install. Without 'refresh', an\n"
              "unreachable source is not an error if the packages are in the index.\n"
              "\n"
              "The package manager never prompts. If both the machine and the package have\n"
              "changed a configuration file, 'conffiles' decides which one is used. While\n"
              "another process changes packages, the step waits and reports that process.\n"
              "Interrupted operations (a package manager that was killed, packages left\n"
              "half-configured) are completed first.\n"
              "\n"
              "With --order genius, the packages of all ready steps are installed in one\n"
              "transaction. If it fails, the packages that did not cause the failure are still\n"
              "installed. A package that conflicts with installed ones is not installed unless\n"
              "'allow_removals' allows removing those. The changes list every package with its\n"
              "versions, including dependencies.\n",
      .example = "- name: install the web server\n"
                 "  pkg.installed:\n"
                 "    - pkgs:\n"
                 "        - nginx\n"
                 "        - openssl: '>=3.0'\n"
                 "    - refresh: true\n" },
    { "latest", "Ensure that the newest versions of packages are installed.", latest_params,
      latest_check, packages_apply, .verify_all = package_step_verify, .claims = latest_claims,
      .merge = packages_merge, .stage = STAGE_PACKAGES, .cost_ms = 5000,
      .resource = "package name|pkgs", .desired_state = "state=installed version=latest",
      .text =
          "The newest version is the one that the package manager prefers, considering pins and\n"
          "priorities. The index is refreshed once per run if it is older than 'index_age' or\n"
          "'refresh' is true. A plan does not refresh it and uses the existing index.\n",
      .example = "- name: latest certificates\n"
                 "  pkg.latest:\n"
                 "    - name: ca-certificates\n" },
    { "removed", "Ensure that packages are not installed.", removed_params, removed_check,
      packages_apply, .verify_all = package_step_verify, .claims = removed_claims,
      .merge = packages_merge, .stage = STAGE_PACKAGES, .cost_ms = 3000,
      .resource = "package name|pkgs", .desired_state = "state=absent",
      .text =
          "Packages that depend on them are removed too. The changes list them; with apt, so does\n"
          "a plan.\n",
      .example = "- name: no telnet\n"
                 "  pkg.removed:\n"
                 "    - name: telnetd\n"
                 "    - purge: true\n" },
    { "held", "Ensure that packages stay at their installed version.", held_params, held_check,
      held_apply, .verify_all = package_step_verify, .claims = held_claims, .stage = STAGE_PACKAGES,
      .cost_ms = 100, .resource = "package name|pkgs",
      .text = "Other steps that would change a held package fail.\n",
      .example = "- name: keep the kernel\n"
                 "  pkg.held:\n"
                 "    - name: linux-image-amd64\n" },
    { "uptodate", "Ensure that all packages are up to date.", uptodate_params, uptodate_check,
      uptodate_apply, .query = uptodate_query, .claims = uptodate_claims, .stage = STAGE_PACKAGES,
      .cost_ms = 20000,
      .text =
          "As a macro it is true if nothing newer is available according to the current index:\n"
          "macros['pkg.uptodate']().\n",
      .example = "- name: bring everything up to date\n"
                 "  pkg.uptodate:\n"
                 "    - refresh: true\n" },
    { 0 },
};

const Module modules_pkg = {
    .name = "pkg",
    .help = "System packages.",
    .id_param = "name|pkgs",
    .actions = actions,
};
