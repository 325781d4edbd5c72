/* file.directory: a directory with this owner and mode; `recurse` applies them to its contents;
 * `clean` removes whatever the site does not manage. */
#include "base/vec.h"
#include "modules/file/actions.h"
#include "modules/file/target.h"

enum {
    ENTRIES_MAX = 100000,
    DEPTH_MAX = 128
};

const ParamSpec directory_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "path of the directory" },
    FILE_OWNER_PARAMS,
    { "parents", PARAM_BOOL, .fallback = "true", .help = "create missing parent directories" },
    { "recurse", PARAM_BOOL, .fallback = "false",
      .help = "apply owner and group to everything in it, and mode to directories" },
    { "file_mode", PARAM_MODE, .help = "with 'recurse': mode of the files" },
    { "clean", PARAM_BOOL, .fallback = "false", .help = "remove everything that no step manages" },
    { "keep", PARAM_STRINGS,
      .help = "with 'clean': relative paths to preserve; wildcards are allowed" },
    { 0 },
};

typedef enum ChangeKind {
    CHANGE_CREATE,
    CHANGE_REMOVE,
    CHANGE_OWNER,
    CHANGE_MODE,
} ChangeKind;

typedef struct Change {
    ChangeKind kind;
    Str path;
    mode_t mode;
    FileInfo before; /* for CHANGE_OWNER and CHANGE_MODE */
} Change;

typedef struct Changes {
    Target target;
    VEC(Change) list;
    uint32_t own_count; /* number of changes to the directory itself, which come first */
    uint32_t visited;   /* number of entries visited */
} Changes;

/* Entries are accessed through a handle on the directory itself. Otherwise a user with write access
 * to it could replace a component with a symlink and have us change files elsewhere. */
static Str path_inside(Call *call, Str path)
{
    Str name = call_str(call, "name");
    return str_eq(name, STR("/")) ? path : str_from_offset(path, name.len);
}

static void push_change(Call *call, Changes *changes, ChangeKind kind, Str path, mode_t mode)
{
    VEC_PUSH(call->arena, &changes->list, (Change){ .kind = kind, .path = path, .mode = mode });
}

typedef struct Found {
    Host *host; /* handle through which the entry is accessed */
    Str path;
    FileInfo info;
} Found;

/* `mode` is the mode to set; NULL: unchanged. The first change of each kind records the previous
 * state; further ones are only counted. */
static bool plan_attributes(Call *call, Changes *changes, const Found *found, const mode_t *mode,
                            Error *err)
{
    const Target *target = &changes->target;
    const FileInfo *info = &found->info;
    bool other_owner = (target->uid != HOST_KEEP_ID && target->uid != info->uid) ||
                       (target->gid != HOST_KEEP_ID && target->gid != info->gid);
    bool other_mode = mode != NULL && info->kind != FILE_LINK && info->mode != *mode;
    if ((other_owner || other_mode) && info->kind == FILE_REGULAR &&
        !host_check_hard_links(found->host, path_inside(call, found->path), err)) {
        return false;
    }
    if (other_owner) {
        push_change(call, changes, CHANGE_OWNER, found->path, 0);
        VEC_LAST(&changes->list).before = *info;
    }
    if (other_mode || (other_owner && mode != NULL && (*mode & 06000) != 0)) {
        push_change(call, changes, CHANGE_MODE, found->path, *mode);
        VEC_LAST(&changes->list).before = *info;
    }
    return true;
}

static bool plan_inside(Call *call, Host *inside, Changes *changes, Str path, unsigned depth,
                        Error *err);

static bool plan_entry(Call *call, Host *inside, Changes *changes, Str path, unsigned depth,
                       Error *err)
{
    FileInfo info;
    Str relative = str_from_offset(path_inside(call, path), 1);
    if (++changes->visited > ENTRIES_MAX) {
        return error_set(err, ERROR_LIMIT, "too many entries");
    }
    if (!host_stat(inside, path_inside(call, path), &info, err)) {
        return false;
    }
    if (call_bool(call, "clean") && !call_is_preserved(call, relative) &&
        !call_is_claimed(call, path)) {
        push_change(call, changes, CHANGE_REMOVE, path, 0);
        return true;
    }
    if (call_bool(call, "recurse")) {
        bool is_directory = info.kind == FILE_DIRECTORY;
        bool has_mode = is_directory ? changes->target.has_mode : call_has(call, "file_mode");
        mode_t mode = is_directory ? changes->target.mode : (mode_t)call_int(call, "file_mode", 0);
        if (!plan_attributes(call, changes, &(Found){ inside, path, info }, has_mode ? &mode : NULL,
                             err)) {
            return false;
        }
    }
    return info.kind != FILE_DIRECTORY ||
           (call_bool(call, "clean") && call_is_preserved(call, relative)) ||
           plan_inside(call, inside, changes, path, depth + 1, err);
}

static bool plan_inside(Call *call, Host *inside, Changes *changes, Str path, unsigned depth,
                        Error *err)
{
    Str *names;
    uint32_t count;
    if (depth == DEPTH_MAX) {
        return error_set(err, ERROR_LIMIT, "%" STR_FMT ": nested too deeply", STR_ARG(path));
    }
    Str place = depth == 0 ? STR("/") : path_inside(call, path);
    if (!host_list(inside, call->arena, place, ENTRIES_MAX, &names, &count, err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        Str inner =
            arena_format(call->arena, "%" STR_FMT "/%" STR_FMT,
                         STR_ARG(str_eq(path, STR("/")) ? STR_EMPTY : path), STR_ARG(names[i]));
        if (!plan_entry(call, inside, changes, inner, depth, err)) {
            return false;
        }
    }
    return true;
}

static bool plan_all_inside(Call *call, Changes *changes, Error *err)
{
    Str path = call_str(call, "name");
    AUTO(Host) *inside = NULL;
    if (!call_bool(call, "recurse") && !call_bool(call, "clean")) {
        return true;
    }
    return host_open_below(call->host, path, &inside, err) &&
           (plan_inside(call, inside, changes, path, 0, err) ||
            error_wrap(err, "in '%" STR_FMT "'", STR_ARG(path)));
}

/* --- Reporting ------------------------------------------------------------------------------- */

static void report_directory(Call *call, const Changes *changes, const FileInfo *info,
                             Outcome *outcome)
{
    Arena *arena = call->arena;
    const Target *target = &changes->target;
    bool is_new = info->kind == FILE_ABSENT;
    if (is_new) {
        outcome_change(call, outcome, "state", value_string(STR("absent")),
                       value_string(STR("present")));
    }
    if (target->owner.len > 0 && (is_new || info->uid != target->uid)) {
        outcome_change(call, outcome, "owner",
                       is_new ? value_missing()
                              : value_string(host_user_name(call->host, arena, info->uid)),
                       value_string(target->owner));
    }
    if (target->group.len > 0 && (is_new || info->gid != target->gid)) {
        outcome_change(call, outcome, "group",
                       is_new ? value_missing()
                              : value_string(host_group_name(call->host, arena, info->gid)),
                       value_string(target->group));
    }
    if (target->has_mode && (is_new || info->mode != target->mode)) {
        outcome_change(call, outcome, "mode",
                       is_new ? value_missing() : mode_value(arena, info->mode),
                       mode_value(arena, target->mode));
    }
}

static Value join_values(Call *call, Value a, Value b)
{
    return value_string(arena_format(call->arena, "%" STR_FMT " %" STR_FMT, STR_ARG(value_str(a)),
                                     STR_ARG(value_str(b))));
}

/* "web:web" */
static Value owner_value(Call *call, uid_t uid, gid_t gid)
{
    Str user = host_user_name(call->host, call->arena, uid);
    Str group = host_group_name(call->host, call->arena, gid);
    return value_string(
        arena_format(call->arena, "%" STR_FMT ":%" STR_FMT, STR_ARG(user), STR_ARG(group)));
}

/* Reports one change under the directory. A path that changes both owner and mode has two changes
 * but is reported once. */
static void report_entry(Call *call, const Changes *changes, const Change *change, Outcome *outcome)
{
    const Target *target = &changes->target;
    const FileInfo *before = &change->before;
    const char *path = arena_copy_c(call->arena, change->path);
    switch (change->kind) {
    case CHANGE_CREATE:
    case CHANGE_REMOVE:
        outcome_change(
            call, outcome, path, value_missing(),
            value_string(change->kind == CHANGE_CREATE ? STR("created") : STR("removed")));
        return;
    case CHANGE_OWNER:
        outcome_change(call, outcome, path, owner_value(call, before->uid, before->gid),
                       owner_value(call, target->uid == HOST_KEEP_ID ? before->uid : target->uid,
                                   target->gid == HOST_KEEP_ID ? before->gid : target->gid));
        return;
    case CHANGE_MODE: break;
    }
    Value old = mode_value(call->arena, before->mode), new = mode_value(call->arena, change->mode);
    const MapEntry *owner =
        outcome->changes == NULL ? NULL : map_find_str(outcome->changes, change->path);
    if (owner != NULL) {
        old = join_values(call, *value_get(owner->value, STR("old")), old);
        new = join_values(call, *value_get(owner->value, STR("new")), new);
    }
    outcome_change(call, outcome, path, old, new);
}

static void report_entries(Call *call, const Changes *changes, Outcome *outcome)
{
    for (uint32_t i = changes->own_count; i < changes->list.len; i++) {
        report_entry(call, changes, &changes->list.items[i], outcome);
    }
}

bool directory_check(Call *call, Outcome *outcome, Error *err)
{
    Str path = call_str(call, "name");
    FileInfo info;
    Changes *changes = ARENA_NEW(call->arena, Changes);
    if (!target_read_attributes(call, &changes->target, err) ||
        !host_stat(call->host, path, &info, err)) {
        return false;
    }
    if (info.kind != FILE_ABSENT && info.kind != FILE_DIRECTORY) {
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a directory",
                         STR_ARG(path), file_kind_name(info.kind));
    }
    const Target *target = &changes->target;
    /* Files in it that belong to the former owner would keep their owner. */
    if (target->uid != info.uid && !target->owner_missing &&
        !host_check_owner(call->host, call->arena, path, &info, err)) {
        return false;
    }
    if (info.kind == FILE_ABSENT) {
        mode_t mode = target->has_mode ? target->mode : DIRECTORY_MODE_NEW;
        push_change(call, changes, CHANGE_CREATE, path, mode);
        if (target->uid != HOST_KEEP_ID || target->gid != HOST_KEEP_ID) {
            push_change(call, changes, CHANGE_OWNER, path, 0);
        }
    } else if (!plan_attributes(call, changes, &(Found){ call->host, path, info },
                                target->has_mode ? &target->mode : NULL, err)) {
        return false;
    }
    changes->own_count = changes->list.len;
    /* A directory that an earlier step will create is empty. */
    if (info.kind == FILE_DIRECTORY && !plan_all_inside(call, changes, err) &&
        !(call->planning && err->kind == ERROR_NOT_FOUND)) {
        return false;
    }
    if (info.kind == FILE_ABSENT) {
        FileInfo made = { .kind = FILE_DIRECTORY, .mode = changes->list.items[0].mode };
        made.uid = target->uid != HOST_KEEP_ID ? target->uid : 0;
        made.gid = target->gid != HOST_KEEP_ID ? target->gid : 0;
        call_plan(call, path, &(PlannedFile){ .info = made });
    }
    outcome->state = STR("present");
    outcome->check_data = changes;
    outcome->changed = changes->list.len > 0 || target->owner_missing;
    if (changes->own_count > 0 || target->owner_missing) {
        report_directory(call, changes, &info, outcome);
    }
    report_entries(call, changes, outcome);
    outcome->comment = !outcome->changed          ? STR_EMPTY
                       : info.kind == FILE_ABSENT ? STR("created")
                                                  : STR("updated");
    if (!call->planning || !outcome->changed || info.planned) {
        return true;
    }
    return info.kind == FILE_ABSENT
               ? target_check_parents(call, path, call_bool(call, "parents"), err)
               : target_check_replaceable(call, path, err);
}

/* --- Applying -------------------------------------------------------------------------------- */

static bool apply_change(Call *call, Host *host, Str path, const Changes *changes,
                         const Change *change, Error *err)
{
    switch (change->kind) {
    case CHANGE_CREATE:
        return host_make_directory(host, path, change->mode, call_bool(call, "parents"), err);
    case CHANGE_REMOVE: return host_remove(host, path, err);
    case CHANGE_OWNER:
        return host_set_owner(host, path, changes->target.uid, changes->target.gid, err);
    case CHANGE_MODE: return host_set_mode(host, path, change->mode, err);
    }
    return true;
}

static bool apply_one(Call *call, Host *inside, const Changes *changes, const Change *change,
                      Error *err)
{
    bool needs_journal = change->kind == CHANGE_CREATE || change->kind == CHANGE_REMOVE;
    if (needs_journal && !call_journal(call, change->path, err)) {
        return false;
    }
    if (inside == NULL) {
        return apply_change(call, call->host, change->path, changes, change, err);
    }
    Str path = path_inside(call, change->path);
    return apply_change(call, inside, path, changes, change, err) ||
           error_wrap(err, "in '%" STR_FMT "'", STR_ARG(call_str(call, "name")));
}

/* Apply changes to the content of a directory before those to the directory itself: its new owner
 * could replace the content, and its new mode could make it inaccessible to us. Changes to the same
 * path keep their order. */
bool directory_apply(Call *call, Outcome *outcome, Error *err)
{
    const Changes *changes = outcome->check_data;
    const Change *list = changes->list.items;
    AUTO(Host) *inside = NULL;
    if (changes->list.len > changes->own_count &&
        !host_open_below(call->host, call_str(call, "name"), &inside, err)) {
        return false;
    }
    for (uint32_t end = changes->list.len; end > 0;) {
        uint32_t start = end - 1;
        while (start > 0 && str_eq(list[start - 1].path, list[start].path)) {
            start--;
        }
        for (uint32_t i = start; i < end; i++) {
            if (!apply_one(call, i < changes->own_count ? NULL : inside, changes, &list[i], err)) {
                return false;
            }
            outcome->changed = true;
        }
        end = start;
    }
    return true;
}

void directory_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, directory_params, params, claims);
}
