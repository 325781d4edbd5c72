#include "cli/cluster_end.h"

#include <stdlib.h>

#define SERVER_API "server/api.sock"

static bool local(const Invocation *invocation, const char *run_dir, ClusterEnd *out, Error *err)
{
    Str path = arena_format(invocation->arena, "%s/" SERVER_API, run_dir);
    *out = (ClusterEnd){ .is_local = true, .run_dir = run_dir };
    return address_unix(path, &out->socket, err);
}

static bool by_name(Arena *arena, const Contexts *contexts, Str name, const char *from,
                    ClusterEnd *out, Error *err)
{
    const Context *context = contexts_find(contexts, name);
    if (context != NULL) {
        *out = (ClusterEnd){ .context = *context };
        if (!context_material(arena, contexts_directory(arena), context, &out->has, err)) {
            err->kind = err->kind == ERROR_DENIED ? ERROR_DENIED : ERROR_OS;
            return error_wrap(err, "context '%" STR_FMT "'", STR_ARG(name));
        }
        return true;
    }
    Str near = contexts_near(contexts, name);
    return error_set(err, ERROR_NOT_FOUND,
                     "%s: context '%" STR_FMT "' not found%s%" STR_FMT "%s; 'eden context list' "
                     "lists contexts, 'eden login' creates one",
                     from, STR_ARG(name), near.len > 0 ? ", did you mean '" : "", STR_ARG(near),
                     near.len > 0 ? "'?" : "");
}

bool cluster_end_choose(const Invocation *invocation, ClusterEnd *out, Error *err)
{
    const char *given = invocation_text(invocation, "context"), *set = getenv("EDEN_CONTEXT");
    const char *run_dir = invocation_text(invocation, "run-dir"), *told = getenv("EDEN_RUN_DIR");
    bool has_run_dir = invocation_flag(invocation, "run-dir");
    Str directory = contexts_directory(invocation->arena);
    Contexts contexts;
    if (given != NULL && has_run_dir) {
        return error_set(err, ERROR_CONFLICT, "--context and --run-dir are mutually exclusive");
    }
    /* `eden dev` sets this for the commands that it runs. */
    if (given == NULL && !has_run_dir && told != NULL && told[0] == '/') {
        return local(invocation, told, out, err);
    }
    bool is_set = given == NULL && !has_run_dir && set != NULL && set[0] != '\0';
    Str name = str_from_c(given != NULL ? given : is_set ? set : "");
    if (has_run_dir || str_eq_c(name, CONTEXT_LOCAL)) {
        return local(invocation, run_dir, out, err);
    }
    if (!contexts_load(invocation->arena, directory, &contexts, err)) {
        return false;
    }
    if (name.len == 0 && (contexts.current.len == 0 || str_eq_c(contexts.current, CONTEXT_LOCAL))) {
        return local(invocation, run_dir, out, err);
    }
    return by_name(invocation->arena, &contexts, name.len > 0 ? name : contexts.current,
                   is_set ? "EDEN_CONTEXT" : "--context", out, err);
}

Str cluster_end_text(Arena *arena, const ClusterEnd *end)
{
    return end->is_local
               ? STR("the server on this machine")
               : arena_format(arena, "%" STR_FMT " (context '%" STR_FMT "')",
                              STR_ARG(end->context.servers[0]), STR_ARG(end->context.name));
}
