/* pkg.held: packages that keep the version they have, and which of them earlier steps of a plan would
 * have released. */
#include "modules/pkg/actions.h"
#include "modules/pkg/transaction.h"

const ParamSpec held_params[] = {
    PACKAGE_NAMES,
    { "hold", PARAM_BOOL, .decides = "hold", .fallback = "true",
      .help = "false: they may change again" },
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

/* It would be let go by `hold: false`. */
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
        Str name = step->wishes[i].name;
        const Package *package = database_find(database, name);
        bool is_there = package != NULL && package->condition >= PACKAGE_HALF;
        if (!is_there && hold &&
            !call_lacks(call, call_has(call, "pkgs") ? "pkgs" : "name", "pkg", name)) {
            return error_set(err, ERROR_NOT_FOUND,
                             "'%" STR_FMT "' is not installed, there is no version to hold",
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

bool held_check(Call *call, Outcome *outcome, Error *err)
{
    PackageStep *step = ARENA_NEW(call->arena, PackageStep);
    AUTO(PackageDatabase) *database = NULL;
    if (!package_step_read(call, step, err)) {
        return false;
    }
    if (step->backend->hold == NULL) {
        return error_set(err, ERROR_UNAVAILABLE, "'%s' cannot hold packages", step->backend->name);
    }
    if (!database_get(call, step->backend, &database, err) ||
        !compare(call, step, database, outcome, err)) {
        return false;
    }
    outcome->state = STR("installed");
    outcome->found = step;
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
        const Package *package = database_find(database, step->wishes[i].name);
        if ((package != NULL && package->held) != hold) {
            VEC_PUSH(call->arena, &names, database_name(database, step->wishes[i].name));
        }
    }
    if (names.len == 0) {
        return true;
    }
    outcome->changed = true;
    return step->backend->hold(call, names.items, names.len, hold, err);
}

bool held_apply(Call *call, Outcome *outcome, Error *err)
{
    const PackageStep *step = outcome->found;
    PackageTurn *turn;
    bool ok = packages_begin(call, step->backend, packages_deadline_us(call, step->lock_ms), &turn,
                             err) &&
              hold_all(call, step, outcome, err);
    packages_end(call);
    return ok;
}

void held_claims(Arena *arena, const Value *params, List *claims)
{
    package_claims(arena, "pkg:", held_params, params, claims);
}
