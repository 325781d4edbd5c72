/* What a step would change: the check of all actions that install or remove. */
#include "modules/pkg/index.h"
#include "modules/pkg/step.h"

bool package_step_refreshes(Call *call, const PackageStep *step)
{
    if (step->refresh == REFRESH_NEVER || index_is_fresh(call, step->backend)) {
        return false;
    }
    if (step->refresh == REFRESH_ALWAYS || index_is_outdated(call, step->backend)) {
        return true;
    }
    int64_t age_ms = index_age_ms(call, step->backend);
    return age_ms == INT64_MAX || age_ms > step->index_age_ms;
}

typedef struct Look {
    Call *call;
    PackageStep *step;
    Outcome *outcome;
    PackageDatabase *database;
    PackageOffer *offers;     /* one for each wish; NULL: not asked for */
    uint32_t unmet, resolved; /* how many wishes are not met, and of those can be installed */
} Look;

enum {
    TRUSTED_INDEX_MS = 7 * 24 * 3600 * 1000 /* what an index of a week does not know is not there */
};

static void note(Look *look, Str name, Value old_value, Value new_value)
{
    look->outcome->changed = true;
    outcome_change(look->call, look->outcome, arena_copy_c(look->call->arena, name), old_value,
                   new_value);
}

/* A plan tells which versions there would be; an apply asks for those of all steps together, when
 * it is its turn. Whether something is the newest must be known in any case. */
static bool find_offers(Look *look, bool unmet, Error *err)
{
    const PackageStep *step = look->step;
    bool planning = look->call->planning;
    if (step->removes || !(step->latest || (unmet && planning))) {
        return true;
    }
    if (!planning && package_step_refreshes(look->call, step)) {
        look->outcome->unknown = true; /* only a new index can tell */
        return true;
    }
    look->offers = ARENA_ARRAY(look->call->arena, PackageOffer, step->count);
    for (uint32_t i = 0; i < step->count; i++) {
        look->offers[i].name = database_name(look->database, step->wishes[i].name);
    }
    return index_find(look->call, step->backend, step->latest ? look->database : NULL, look->offers,
                      step->count, err);
}

static const char *names_param(Call *call)
{
    return call_has(call, "pkgs") ? "pkgs" : "name";
}

/* In a plan a package that nobody offers may come with a source that is still to be added, or with a
 * newer index, which the step itself reads before it gives up. */
static bool may_be_offered_later(Look *look, Str name, const Error *err)
{
    Call *call = look->call;
    const PackageStep *step = look->step;
    if (!call->planning || err->kind != ERROR_NOT_FOUND) {
        return call_blame(call, names_param(call));
    }
    if (call_lacks(call, names_param(call), "package", name)) {
        return true;
    }
    bool reads =
        step->refresh == REFRESH_ALWAYS || (step->refresh == REFRESH_WHEN_NEEDED &&
                                            index_age_ms(call, step->backend) > TRUSTED_INDEX_MS);
    if (reads) {
        look->outcome->unknown = true;
        look->outcome->comment = arena_format(
            call->arena, "%s, as the index is now; this step reads it again first", err->text);
    }
    return reads;
}

static bool note_install(Look *look, uint32_t at, Error *err)
{
    const PackageStep *step = look->step;
    PackageWish *wish = &step->wishes[at];
    const Package *package = database_find(look->database, wish->name);
    Value wanted = value_string(wish->version.text.len > 0 ? wish->version.text : STR("newest"));
    look->unmet++;
    if (look->offers != NULL) {
        if (package_wish_resolve(look->call, step, wish, look->database, &look->offers[at], err)) {
            wanted = value_string(wish->target.len > 0 ? wish->target : look->offers[at].candidate);
            look->resolved++;
        } else if (!may_be_offered_later(look, wish->name, err)) {
            return false;
        }
    }
    note(look, wish->name, package_now(look->call->arena, package), wanted);
    return true;
}

static bool look_at_wish(Look *look, uint32_t at, Error *err)
{
    const PackageStep *step = look->step;
    const PackageWish *wish = &step->wishes[at];
    Str candidate = step->latest && look->offers != NULL ? look->offers[at].candidate : STR_EMPTY;
    const Package *package = database_find(look->database, wish->name);
    if (package_wish_is_met(look->call, step, wish, look->database, candidate)) {
        if (!step->removes && package != NULL && package->automatic &&
            step->backend->mark_manual != NULL) {
            note(look, wish->name, value_string(STR("automatic")), value_string(STR("wanted")));
        }
        return true;
    }
    if (!package_wish_is_possible(step, wish, look->database,
                                  package_is_released(look->call, wish->name), err)) {
        return false;
    }
    if (step->removes) {
        note(look, wish->name, package_now(look->call->arena, package), value_missing());
        return true;
    }
    return note_install(look, at, err);
}

/* A plan names those that go because they need one that goes, as far as the package manager can
 * tell beforehand. */
static void note_dependents(Look *look)
{
    const PackageStep *step = look->step;
    PackageItem *items = ARENA_ARRAY(look->call->arena, PackageItem, step->count);
    PackageChange change = package_step_change(step);
    Map *changes = map_new(look->call->arena, 4);
    Error err;
    if (!look->call->planning || !step->removes || step->backend->simulate == NULL) {
        return;
    }
    change.items = items;
    for (uint32_t i = 0; i < step->count; i++) {
        Str name = database_name(look->database, step->wishes[i].name);
        if (!package_wish_is_met(look->call, step, &step->wishes[i], look->database, STR_EMPTY)) {
            items[change.count++] = (PackageItem){ .name = name };
        }
    }
    if (change.count == 0 || !step->backend->simulate(look->call, &change, changes, &err)) {
        return; /* nothing has to be there that could be asked */
    }
    for (uint32_t i = 0; i < changes->len; i++) {
        Str name = value_str(changes->entries[i].key);
        const Package *package = database_find(look->database, name);
        if (package != NULL && map_find_str(look->outcome->changes, name) == NULL) {
            note(look, name, package_now(look->call->arena, package), value_missing());
        }
    }
}

/* A plan asks the package manager whether all of it can be installed as it is now, and without others
 * going. Where it cannot tell beforehand, the run will. */
static bool check_installable(Look *look, Error *err)
{
    Call *call = look->call;
    const PackageStep *step = look->step;
    if (!call->planning || step->removes || step->backend->simulate == NULL || look->unmet == 0 ||
        look->unmet != look->resolved || look->database->interrupted) {
        return true;
    }
    PackageItem *items = ARENA_ARRAY(call->arena, PackageItem, step->count);
    PackageChange change = package_step_change(step);
    Map *changes = map_new(call->arena, 4);
    change.items = items;
    for (uint32_t i = 0; i < step->count; i++) {
        const Package *package = database_find(look->database, step->wishes[i].name);
        if (package != NULL && package->held) {
            return true; /* an earlier step lets it go, which a simulation cannot know */
        }
        items[change.count++] =
            (PackageItem){ .name = step->wishes[i].name, .version = step->wishes[i].target };
    }
    if (!step->backend->simulate(call, &change, changes, err)) {
        return call_lacks(call, names_param(call), "package", step->wishes[0].name);
    }
    for (uint32_t i = 0; i < changes->len && !step->allow_removals; i++) {
        Str name = value_str(changes->entries[i].key);
        if (value_get(changes->entries[i].value, STR("new")) == NULL &&
            !call_lacks(call, names_param(call), "removal", name)) {
            return error_set(err, ERROR_CONFLICT,
                             "'%" STR_FMT "' would be removed for it; 'allow_removals: true' lets "
                             "that happen",
                             STR_ARG(name));
        }
    }
    return true;
}

static bool has_unmet(const Look *look)
{
    for (uint32_t i = 0; i < look->step->count; i++) {
        if (!package_wish_is_met(look->call, look->step, &look->step->wishes[i], look->database,
                                 STR_EMPTY)) {
            return true;
        }
    }
    return false;
}

void package_note_repair(Call *call, Outcome *outcome, const PackageBackend *backend, Str wrong)
{
    outcome->changed = true;
    outcome_change(call, outcome, backend->name, value_string(arena_copy(call->arena, wrong)),
                   value_string(STR("repaired")));
}

/* Somebody who is at work just now has not been interrupted. */
bool package_check_interruption(Call *call, const PackageBackend *backend,
                                const PackageDatabase *database, Outcome *outcome)
{
    PackageHolder holder;
    if (!database->interrupted || backend->repair == NULL || backend->find_holder(call, &holder)) {
        return false;
    }
    package_note_repair(call, outcome, backend, database->interruption);
    return true;
}

/* What takes the program cannot be done without it; but a plan may be about to install it. */
static bool check_program(Look *look, Error *err)
{
    const PackageBackend *backend = look->step->backend;
    if (!(look->outcome->changed || look->outcome->unknown) || backend->program == NULL ||
        tool_is_there(look->call, backend->program)) {
        return true;
    }
    if (host_is_live(look->call->host) && call_lacks_program(look->call, backend->program)) {
        look->outcome->unknown = true;
        return true;
    }
    return error_set(err, ERROR_UNAVAILABLE, "this takes '%s', which is not %s%s%s",
                     backend->program,
                     host_is_live(look->call->host) ? "there" : "below the root '",
                     host_is_live(look->call->host) ? "" : host_root(look->call->host),
                     host_is_live(look->call->host) ? "" : "'");
}

static bool look_at_all(Look *look, Error *err)
{
    if (!find_offers(look, has_unmet(look), err)) {
        if (!look->call->planning) {
            return false;
        }
        look->offers = NULL;
        look->outcome->unknown = look->step->latest;
    }
    for (uint32_t i = 0; i < look->step->count; i++) {
        if (!look_at_wish(look, i, err)) {
            return false;
        }
    }
    if (!check_installable(look, err)) {
        return false;
    }
    note_dependents(look);
    package_check_interruption(look->call, look->step->backend, look->database, look->outcome);
    return check_program(look, err);
}

bool package_step_check(Call *call, PackageStep *step, Outcome *outcome, Error *err)
{
    Look look = { .call = call, .step = step, .outcome = outcome };
    if (!package_step_read(call, step, err)) {
        return false;
    }
    if (!database_get(call, step->backend, &look.database, err)) {
        return false;
    }
    bool ok = look_at_all(&look, err);
    database_unref(look.database);
    outcome->state = step->removes ? STR("absent") : STR("installed");
    outcome->found = step;
    return ok;
}
