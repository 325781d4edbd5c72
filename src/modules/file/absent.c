/* file.absent: nothing at this path. */
#include "modules/file/actions.h"
#include "modules/file/target.h"

const ParamSpec absent_params[] = {
    { "name", PARAM_PATH, .required = true,
      .help = "a file, a link, or a directory with all that is in it" },
    { 0 },
};

bool absent_check(Call *call, Outcome *outcome, Error *err)
{
    Str path = call_str(call, "name");
    FileInfo info;
    outcome->state = STR("absent");
    if (str_eq(path, STR("/"))) {
        return error_set(err, ERROR_INVALID, "the root cannot be removed");
    }
    if (!host_stat(call->host, path, &info, err)) {
        return false;
    }
    if (info.kind != FILE_ABSENT) {
        outcome->changed = true;
        outcome_change(call, outcome, "state", value_string(str_from_c(file_kind_name(info.kind))),
                       value_string(STR("absent")));
        outcome->comment = STR("removed");
        call_plan(call, path, &(PlannedFile){ .info.kind = FILE_ABSENT });
    }
    return true;
}

bool absent_apply(Call *call, Outcome *outcome, Error *err)
{
    Str path = call_str(call, "name");
    if (!call_keep(call, path, err)) {
        return false;
    }
    outcome->changed = true; /* also when only a part of a tree could be removed */
    return host_remove(call->host, path, err);
}

void absent_claims(Arena *arena, const Value *params, List *claims)
{
    claims_add_param(arena, claims, "drops:path:", params[0]);
}
