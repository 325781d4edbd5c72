#include "modules/foreign_tool.h"

enum {
    REPORT_MAX = 64 << 20
};

bool foreign_tool_choose(const Call *call, const ForeignTool *tool, const char **from, Error *err)
{
    const char *const names[] = { tool->document, "source", tool->text, NULL };
    if (!call_choose(call, names, from, err)) {
        return false;
    }
    return *from != NULL ||
           error_set(err, ERROR_INVALID, "one of '%s', 'source' and '%s' is required",
                     tool->document, tool->text);
}

bool foreign_tool_is_live(const Call *call, const ForeignTool *tool, Error *err)
{
    return host_is_live(call->host) ||
           error_set(err, ERROR_UNAVAILABLE,
                     "%s manages the running system and cannot be used in the root '%s'",
                     tool->name, host_root(call->host));
}

/* Sets `missing` (empty: nothing is), and whether an earlier step of the plan may create it. */
static bool find_missing(Call *call, const ForeignTool *tool, const char *from, Str *missing,
                         bool *created_later, Error *err)
{
    FileInfo info;
    *missing = STR_EMPTY;
    *created_later = true;
    if (!tool_exists(call, tool->program)) {
        *created_later = call_report_missing_program(call, tool->program);
        *missing = arena_format(call->arena, "program '%s' not found (package %s)", tool->program,
                                tool->package);
    } else if (strcmp(from, tool->document) == 0) {
        Str path = call_str(call, from);
        if (!host_stat(call->host, path, &info, err)) {
            return false;
        }
        if (info.kind == FILE_ABSENT) {
            *created_later = call_report_missing(call, from, "path", path);
            *missing = arena_format(call->arena, "%s '%" STR_FMT "' not found", tool->document,
                                    STR_ARG(path));
        }
    }
    return true;
}

bool foreign_tool_ready(Call *call, const ForeignTool *tool, const char *from, Outcome *outcome,
                        bool *is_ready, Error *err)
{
    Str missing;
    bool created_later;
    if (!find_missing(call, tool, from, &missing, &created_later, err)) {
        return false;
    }
    if (missing.len > 0 && !created_later) {
        return error_set(err, ERROR_NOT_FOUND, "%" STR_FMT, STR_ARG(missing));
    }
    *is_ready = missing.len == 0 && call_bool(call, "ask");
    if (!*is_ready) {
        outcome->changed = outcome->unknown = true;
        outcome->comment = missing.len > 0 ? STR_EMPTY : STR("no dry run before the change");
    }
    return true;
}

bool foreign_tool_document(const ForeignTool *tool, Scratch *scratch, Str *path, Error *err)
{
    const char *from;
    if (!foreign_tool_choose(scratch->call, tool, &from, err)) {
        return false;
    }
    Str given = call_str(scratch->call, from);
    if (strcmp(from, tool->document) != 0) {
        return scratch_put(scratch, tool->file, given, path, err);
    }
    *path = given;
    return true;
}

bool foreign_tool_report(Scratch *scratch, const char *name, Str *text, Error *err)
{
    const Call *call = scratch->call;
    return host_read(call->host, call->arena, scratch_path(scratch, name), REPORT_MAX, text, err);
}

void foreign_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("provides:*")));
}
