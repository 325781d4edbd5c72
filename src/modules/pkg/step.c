#include "modules/pkg/step.h"

#include "base/buf.h"
#include "base/suggest.h"

/* --- Parameters ----------------------------------------------------------------------------- */

static bool has_param(const Call *call, const char *name)
{
    return action_param_index(call->action, str_from_c(name)) >= 0;
}

static bool read_wish(const PackageStep *step, Str name, Value version, PackageWish *out,
                      Error *err)
{
    *out = (PackageWish){ .name = name };
    if (!step->backend->check_name(name, err)) {
        return false;
    }
    if (!value_is_string(version)) {
        return true;
    }
    if (step->removes || step->latest) {
        return error_set(err, ERROR_INVALID, "'%" STR_FMT "' cannot have a version here",
                         STR_ARG(name));
    }
    return version_wish_parse(value_str(version), &out->version, err) ||
           error_wrap(err, "package '%" STR_FMT "'", STR_ARG(name));
}

static bool read_wishes(Call *call, PackageStep *step, Error *err)
{
    Str name = call_str(call, "name");
    Value packages = call_param(call, "pkgs");
    Value version = has_param(call, "version") ? call_param(call, "version") : value_missing();
    bool has_list = packages.kind == VALUE_MAP && packages.map->len > 0;
    if (has_list && name.len > 0) {
        return error_set(err, ERROR_INVALID, "'name' and 'pkgs' both say which packages");
    }
    if (has_list && value_is_string(version)) {
        return error_set(err, ERROR_INVALID,
                         "'version' goes with 'name'; in 'pkgs' write '- NAME: VERSION'");
    }
    if (!has_list) {
        if (name.len == 0) {
            return error_set(err, ERROR_INVALID, "needs 'name' or 'pkgs'");
        }
        step->count = 1;
        step->wishes = ARENA_NEW(call->arena, PackageWish);
        return read_wish(step, name, version, step->wishes, err);
    }
    step->wishes = ARENA_ARRAY(call->arena, PackageWish, packages.map->len);
    for (; step->count < packages.map->len; step->count++) {
        const MapEntry *entry = &packages.map->entries[step->count];
        if (!read_wish(step, value_str(entry->key), entry->value, &step->wishes[step->count],
                       err)) {
            return false;
        }
    }
    return true;
}

static bool flag(const Call *call, const char *name)
{
    return has_param(call, name) && call_bool(call, name);
}

bool package_step_options(Call *call, PackageStep *out, Error *err)
{
    PackageStep *step = out;
    step->purge = flag(call, "purge");
    step->allow_downgrade = flag(call, "allow_downgrade");
    step->allow_removals = flag(call, "allow_removals");
    step->replace_conffiles =
        has_param(call, "conffiles") && str_eq(call_str(call, "conffiles"), STR("replace"));
    step->set_recommends = has_param(call, "recommends") && call_has(call, "recommends");
    step->recommends = flag(call, "recommends");
    step->refresh = !has_param(call, "refresh") || !call_has(call, "refresh") ? REFRESH_WHEN_NEEDED
                    : call_bool(call, "refresh")                              ? REFRESH_ALWAYS
                                                                              : REFRESH_NEVER;
    step->index_age_ms = step->latest ? call_int(call, "index_age", 0) : INT64_MAX;
    step->lock_ms = has_param(call, "lock_timeout") ? call_int(call, "lock_timeout", 0) : 0;
    if (!backend_choose(call, call_str(call, "provider"), &step->backend, err)) {
        return false;
    }
    step->order = backend_order(call, step->backend);
    PackageChange change = package_step_change(step);
    return step->backend->check_change == NULL || step->backend->check_change(&change, err);
}

bool package_step_read(Call *call, PackageStep *out, Error *err)
{
    return package_step_options(call, out, err) && read_wishes(call, out, err);
}

PackageChange package_step_change(const PackageStep *step)
{
    return (PackageChange){ .operation = step->removes ? PACKAGES_REMOVE : PACKAGES_INSTALL,
                            .purge = step->purge,
                            .replace_conffiles = step->replace_conffiles,
                            .allow_downgrade = step->allow_downgrade,
                            .allow_removals = step->allow_removals,
                            .set_recommends = step->set_recommends,
                            .recommends = step->recommends };
}

static void push_claim(Arena *arena, const char *prefix, List *claims, Value name)
{
    if (value_is_string(name) && name.len > 0) {
        Str claim = arena_format(arena, "%s%" STR_FMT, prefix, STR_ARG(value_str(name)));
        list_push(arena, claims, value_string(claim));
    }
}

void package_brings(Arena *arena, List *claims)
{
    static const char *const classes[] = { "path", "program",     "user", "group",
                                           "unit", "alternative", "kmod", "remote" };
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        claims_add(arena, claims, "brings:", str_from_c(classes[i]));
    }
}

void package_claims(Arena *arena, const char *prefix, const ParamSpec *specs, const Value *params,
                    List *claims)
{
    for (uint32_t i = 0; specs[i].name != NULL; i++) {
        if (strcmp(specs[i].name, "name") == 0) {
            push_claim(arena, prefix, claims, params[i]);
        } else if (strcmp(specs[i].name, "pkgs") == 0 && params[i].kind == VALUE_MAP) {
            for (uint32_t k = 0; k < params[i].map->len; k++) {
                push_claim(arena, prefix, claims, params[i].map->entries[k].key);
            }
        }
    }
}

/* --- Beside what is there ------------------------------------------------------------------- */

static bool is_gone(const PackageStep *step, const PackageDatabase *database, Str name)
{
    const Package *package = database_find(database, name);
    return package == NULL || package->condition == PACKAGE_ABSENT ||
           (package->condition == PACKAGE_CONFIG && !step->purge);
}

bool package_wish_is_met(Call *call, const PackageStep *step, const PackageWish *wish,
                         const PackageDatabase *database, Str candidate)
{
    if (step->removes) {
        return is_gone(step, database, wish->name);
    }
    const Package *package = database_find(database, wish->name);
    if (package == NULL || package->condition < PACKAGE_HALF) {
        /* Another one may stand for it; but that one has other versions. */
        return version_wish_is_any(&wish->version) &&
               (database_find_installed(database, wish->name) != NULL ||
                database_is_provided(call, step->backend, database, wish->name));
    }
    return package->condition == PACKAGE_INSTALLED &&
           version_wish_accepts(&wish->version, step->order, package->version) &&
           (candidate.len == 0 || step->order->compare(package->version, candidate) >= 0);
}

bool package_wish_is_possible(const PackageStep *step, const PackageWish *wish,
                              const PackageDatabase *database, bool released, Error *err)
{
    const Package *package = database_find(database, wish->name);
    if (package == NULL || package->condition < PACKAGE_HALF) {
        return true;
    }
    if (!step->removes && !step->allow_downgrade &&
        version_wish_is_below(&wish->version, step->order, package->version)) {
        return error_set(err, ERROR_CONFLICT,
                         "'%" STR_FMT "' is there in version %" STR_FMT ", newer than %" STR_FMT
                         "; 'allow_downgrade: true' lets it go back",
                         STR_ARG(wish->name), STR_ARG(package->version),
                         STR_ARG(wish->version.text));
    }
    if (package->held && !released && package->condition == PACKAGE_INSTALLED) {
        return error_set(err, ERROR_CONFLICT,
                         "'%" STR_FMT "' is held at version %" STR_FMT
                         "; 'pkg.held' with 'hold: false' lets it go",
                         STR_ARG(wish->name), STR_ARG(package->version));
    }
    return true;
}

/* --- Versions ------------------------------------------------------------------------------- */

static Str list_versions(Arena *arena, const PackageOffer *offer)
{
    enum {
        SHOWN = 5
    };
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < offer->version_count && i < SHOWN; i++) {
        buf_put_format(&out, "%s%" STR_FMT, i > 0 ? ", " : "", STR_ARG(offer->versions[i]));
    }
    buf_put_c(&out, offer->version_count > SHOWN ? ", ..." : "");
    return buf_str(&out);
}

static bool find_version(const PackageStep *step, const PackageWish *wish,
                         const PackageOffer *offer, Str *out)
{
    const VersionOrder *order = step->order;
    if (offer->candidate.len > 0 && version_wish_accepts(&wish->version, order, offer->candidate)) {
        *out = offer->candidate;
        return true;
    }
    bool found = false;
    for (uint32_t i = 0; i < offer->version_count; i++) {
        Str version = offer->versions[i];
        if (version_wish_accepts(&wish->version, order, version) &&
            (!found || order->compare(version, *out) > 0)) {
            *out = version;
            found = true;
        }
    }
    return found;
}

/* One that is spelled nearly the same; empty: none is. */
static Str near_name(Call *call, const PackageBackend *backend, Str name)
{
    Str names, one;
    Error err;
    Suggest suggest = suggest_make(name);
    if (backend->list_names == NULL || !backend->list_names(call, &names, &err)) {
        return STR_EMPTY;
    }
    while (str_split_next(&names, '\n', &one)) {
        suggest_offer(&suggest, one);
    }
    return suggest_found(&suggest, &one) ? arena_copy(call->arena, one) : STR_EMPTY;
}

bool package_wish_resolve(Call *call, const PackageStep *step, PackageWish *wish,
                          const PackageDatabase *database, const PackageOffer *offer, Error *err)
{
    const Package *package = database_find(database, wish->name);
    bool is_there = package != NULL && package->condition == PACKAGE_INSTALLED;
    if (step->latest && is_there && offer->candidate.len == 0) {
        wish->target = arena_copy(call->arena, package->version); /* nobody has a newer one */
        return true;
    }
    if (!offer->known) {
        Str near = near_name(call, step->backend, wish->name);
        return error_set(err, ERROR_NOT_FOUND,
                         "no source of packages has '%" STR_FMT "'%s%" STR_FMT "%s",
                         STR_ARG(wish->name), near.len > 0 ? "; did you mean '" : "", STR_ARG(near),
                         near.len > 0 ? "'?" : "");
    }
    if (version_wish_is_any(&wish->version)) {
        if (offer->candidate.len == 0) {
            return error_set(err, ERROR_NOT_FOUND,
                             "no source of packages has '%" STR_FMT
                             "'; others only name it: ask for the one that provides it",
                             STR_ARG(wish->name));
        }
        wish->target = step->latest ? offer->candidate : STR_EMPTY;
        return true;
    }
    if (!find_version(step, wish, offer, &wish->target)) {
        Str listed = list_versions(call->arena, offer);
        return error_set(err, ERROR_NOT_FOUND,
                         "there is no version %" STR_FMT " of '%" STR_FMT "'; %s%" STR_FMT,
                         STR_ARG(wish->version.text), STR_ARG(wish->name),
                         listed.len > 0 ? "offered: " : "none is offered", STR_ARG(listed));
    }
    if (package != NULL && package->condition >= PACKAGE_HALF && !step->allow_downgrade &&
        step->order->compare(package->version, wish->target) > 0) {
        return error_set(err, ERROR_CONFLICT,
                         "'%" STR_FMT "' is there in version %" STR_FMT "; to go back to %" STR_FMT
                         " takes 'allow_downgrade: true'",
                         STR_ARG(wish->name), STR_ARG(package->version), STR_ARG(wish->target));
    }
    return true;
}

Value package_now(Arena *arena, const Package *package)
{
    if (package == NULL || package->condition == PACKAGE_ABSENT) {
        return value_missing();
    }
    if (package->condition == PACKAGE_CONFIG) {
        return value_string(STR("configuration only"));
    }
    if (package->condition == PACKAGE_HALF) {
        return value_string(arena_format(arena, "%" STR_FMT " (%" STR_FMT ")",
                                         STR_ARG(package->version), STR_ARG(package->detail)));
    }
    return value_string(arena_copy(arena, package->version));
}
