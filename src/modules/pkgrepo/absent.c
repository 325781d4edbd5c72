/* pkgrepo.absent: no source of packages of this name. */
#include "base/vec.h"
#include "modules/pkg/index.h"
#include "modules/pkgrepo/actions.h"
#include "modules/pkgrepo/place.h"
#include "modules/pkgrepo/source.h"

enum {
    SOURCE_FILES_MAX = 10000,
    SOURCE_BYTES_MAX = 1 << 20
};

const ParamSpec repo_absent_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "what it is called" },
    { "provider", PARAM_STRING, .choices = "apt|dnf|zypper",
      .help = "whose source it is; otherwise of the package manager that the machine has" },
    { 0 },
};

typedef VEC(Str) Paths;

static bool add_if_there(Call *call, Str path, Paths *paths, Error *err)
{
    FileInfo info;
    if (!host_stat(call->host, path, &info, err)) {
        return false;
    }
    if (info.kind != FILE_ABSENT) {
        VEC_PUSH(call->arena, paths, path);
    }
    return true;
}

static bool is_among(const Paths *paths, Str path)
{
    for (uint32_t i = 0; i < paths->len; i++) {
        if (str_eq(paths->items[i], path)) {
            return true;
        }
    }
    return false;
}

/* Whether a source that stays names the key. */
static bool key_is_used(Call *call, const RepoPlace *place, Str key, const Paths *gone)
{
    Str *names;
    uint32_t count;
    Error err;
    if (!host_list(call->host, call->arena, str_from_c(place->folder), SOURCE_FILES_MAX, &names,
                   &count, &err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        Str text,
            path = arena_format(call->arena, "%s/%" STR_FMT, place->folder, STR_ARG(names[i]));
        if (!is_among(gone, path) &&
            host_read(call->host, call->arena, path, SOURCE_BYTES_MAX, &text, &err) &&
            str_find(text, key, 0) != STR_NOT_FOUND) {
            return true;
        }
    }
    return false;
}

static bool find_paths(Call *call, const RepoPlace *place, Str name, Paths *paths, Error *err)
{
    Arena *arena = call->arena;
    if (!add_if_there(call, repo_source_path(arena, place, name, place->ending), paths, err) ||
        (place->other != NULL &&
         !add_if_there(call, repo_source_path(arena, place, name, place->other), paths, err))) {
        return false;
    }
    for (int armored = 0; armored < 2; armored++) {
        Str key = repo_key_path(arena, place, name, armored != 0);
        if (!is_among(paths, key) && !key_is_used(call, place, key, paths) &&
            !add_if_there(call, key, paths, err)) {
            return false;
        }
    }
    return true;
}

bool repo_absent_check(Call *call, Outcome *outcome, Error *err)
{
    const RepoPlace *place;
    Paths *paths = ARENA_NEW(call->arena, Paths);
    Str name = call_str(call, "name");
    if (!repo_name_check(name, err) || !repo_place_choose(call, &place, err) ||
        !find_paths(call, place, name, paths, err)) {
        return false;
    }
    for (uint32_t i = 0; i < paths->len; i++) {
        outcome->changed = true;
        outcome_change(call, outcome, arena_copy_c(call->arena, paths->items[i]),
                       value_string(STR("present")), value_string(STR("absent")));
    }
    outcome->state = STR("absent");
    outcome->found = paths;
    return true;
}

bool repo_absent_apply(Call *call, Outcome *outcome, Error *err)
{
    const Paths *paths = outcome->found;
    index_sources_changed(call);
    for (uint32_t i = 0; i < paths->len; i++) {
        if (!call_keep(call, paths->items[i], err) ||
            !host_remove(call->host, paths->items[i], err)) {
            return false;
        }
        outcome->changed = true;
    }
    return true;
}

void repo_absent_claims(Arena *arena, const Value *params, List *claims)
{
    repo_claims(arena, params[0], params[1], claims);
}
