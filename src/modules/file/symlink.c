/* file.symlink: a link that leads there. */
#include "modules/file/actions.h"
#include "modules/file/target.h"

const ParamSpec symlink_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "the path of the link" },
    { "target", PARAM_STRING, .required = true, .help = "where it leads; need not be there",
      .decides = "target" },
    { "force", PARAM_BOOL, .fallback = "false",
      .help = "replace a file or directory that is in its place" },
    { "parents", PARAM_BOOL, .fallback = "true", .help = "make missing directories above" },
    { 0 },
};

bool symlink_check(Call *call, Outcome *outcome, Error *err)
{
    Str path = call_str(call, "name"), target = call_str(call, "target"), now = STR_EMPTY;
    FileInfo *info = ARENA_NEW(call->arena, FileInfo);
    if (!host_stat(call->host, path, info, err)) {
        return false;
    }
    if (!host_check_link(path, target, err)) {
        return false;
    }
    if (call->planning && info->kind == FILE_ABSENT &&
        !target_check_parents(call, path, call_bool(call, "parents"), err)) {
        return false;
    }
    outcome->state = STR("present");
    outcome->found = info;
    if (info->kind == FILE_LINK) {
        if (!host_read_link(call->host, call->arena, path, &now, err)) {
            return false;
        }
        if (str_eq(now, target)) {
            return true;
        }
    } else if (info->kind != FILE_ABSENT && !call_bool(call, "force")) {
        return error_set(err, ERROR_CONFLICT,
                         "%" STR_FMT " is a %s, not a link; 'force: true' replaces it",
                         STR_ARG(path), file_kind_name(info->kind));
    } else if (info->kind != FILE_ABSENT) {
        outcome_change(call, outcome, "state", value_string(str_from_c(file_kind_name(info->kind))),
                       value_string(STR("link")));
    }
    outcome->changed = true;
    outcome_change(call, outcome, "target", now.len > 0 ? value_string(now) : value_missing(),
                   value_string(target));
    outcome->comment = info->kind == FILE_ABSENT ? STR("created") : STR("updated");
    call_plan(call, path,
              &(PlannedFile){ .info = { .kind = FILE_LINK, .mode = 0777 }, .content = target });
    return true;
}

bool symlink_apply(Call *call, Outcome *outcome, Error *err)
{
    Str path = call_str(call, "name"), target = call_str(call, "target");
    const FileInfo *info = outcome->found;
    if (!call_keep(call, path, err)) {
        return false;
    }
    if (info->kind != FILE_ABSENT && info->kind != FILE_LINK) {
        outcome->changed = true;
        if (!host_remove(call->host, path, err)) {
            return false;
        }
    }
    bool ok = host_make_link(call->host, path, target, err);
    size_t slash = str_find_last(path, STR("/"));
    if (!ok && err->kind == ERROR_NOT_FOUND && slash > 0 && call_bool(call, "parents")) {
        ok = host_make_directory(call->host, str_slice(path, 0, slash), DIRECTORY_MODE_NEW, true,
                                 err) &&
             host_make_link(call->host, path, target, err);
    }
    outcome->changed = outcome->changed || ok;
    return ok;
}

void symlink_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, symlink_params, params, claims);
}
