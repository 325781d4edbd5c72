/* file.copy: a file with the content of another one on the same machine. */
#include "modules/file/actions.h"
#include "modules/file/target.h"

const ParamSpec copy_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "the path of the copy" },
    { "source", PARAM_PATH, .required = true, .help = "the file to copy, a path of the machine" },
    FILE_WRITE_PARAMS,
    { 0 },
};

bool copy_check(Call *call, Outcome *outcome, Error *err)
{
    Str source = call_str(call, "source"), content;
    FileInfo info;
    Target *target = ARENA_NEW(call->arena, Target);
    if (!target_wish(call, call_str(call, "name"), target, err)) {
        return false;
    }
    if (!host_look(call->host, call->arena, source, FILE_CONTENT_MAX, &info, &content, err)) {
        return false;
    }
    if (info.kind == FILE_ABSENT && call_lacks(call, "source", "path", source)) {
        outcome->changed = true;
        outcome->unknown = true;
        return true;
    }
    if (info.kind == FILE_ABSENT) {
        return error_set(err, ERROR_NOT_FOUND, "there is no file '%" STR_FMT "' on the machine",
                         STR_ARG(source));
    }
    if (info.kind != FILE_REGULAR) {
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a file", STR_ARG(source),
                         file_kind_name(info.kind));
    }
    if (info.size > FILE_CONTENT_MAX) {
        return error_set(err, ERROR_LIMIT, "%" STR_FMT ": larger than %d bytes", STR_ARG(source),
                         FILE_CONTENT_MAX);
    }
    if ((info.mode & S_IROTH) == 0 && !host_check_content(call->host, source, &info, err)) {
        return call_blame(call, "source");
    }
    Value value = value_string(content);
    target_set_content(target, (info.mode & S_IROTH) != 0 ? value : value_with_secret(value));
    if (!target->has_mode) {
        target->has_mode = true;
        target->mode = info.mode & FILE_MODE_COPIED;
    }
    return target_check_one(call, target, outcome, err);
}

void copy_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, copy_params, params, claims);
    claims_add_param(arena, claims, "needs:path:", params[1]);
}
