#include "cli/cluster_endpoint.h"

#include <stdlib.h>

#define SERVER_API "server/api.sock"

static bool select_local(const Invocation *invocation, const char *run_dir, ClusterEndpoint *out,
                         Error *err)
{
    Str path = arena_format(invocation->arena, "%s/" SERVER_API, run_dir);
    *out = (ClusterEndpoint){ .is_local = true, .run_dir = run_dir };
    return address_unix(path, &out->socket, err);
}

static bool select_context(Arena *arena, const Contexts *contexts, Str name, const char *source,
                           ClusterEndpoint *out, Error *err)
{
    const Context *context = contexts_find(contexts, name);
    if (context != NULL) {
        *out = (ClusterEndpoint){ .context = *context };
        if (!context_credentials(arena, contexts_directory(arena), context, &out->credentials,
                                 err)) {
            err->kind = err->kind == ERROR_DENIED ? ERROR_DENIED : ERROR_OS;
            return error_wrap(err, "context '%" STR_FMT "'", STR_ARG(name));
        }
        return true;
    }
    Str suggestion = contexts_suggest(contexts, name);
    return error_set(err, ERROR_NOT_FOUND,
                     "%s: context '%" STR_FMT "' not found%s%" STR_FMT "%s; 'eden context list' "
                     "lists contexts, 'eden login' creates one",
                     source, STR_ARG(name), suggestion.len > 0 ? ", did you mean '" : "",
                     STR_ARG(suggestion), suggestion.len > 0 ? "'?" : "");
}

bool cluster_endpoint_select(const Invocation *invocation, ClusterEndpoint *out, Error *err)
{
    const char *option = invocation_text(invocation, "context"),
               *env_context = getenv("EDEN_CONTEXT");
    const char *run_dir = invocation_text(invocation, "run-dir"),
               *env_run_dir = getenv("EDEN_RUN_DIR");
    bool has_run_dir = invocation_flag(invocation, "run-dir");
    Str directory = contexts_directory(invocation->arena);
    Contexts contexts;
    if (option != NULL && has_run_dir) {
        return error_set(err, ERROR_CONFLICT, "--context and --run-dir are mutually exclusive");
    }
    /* Set by `eden dev` for the commands that it runs. */
    if (option == NULL && !has_run_dir && env_run_dir != NULL && env_run_dir[0] == '/') {
        return select_local(invocation, env_run_dir, out, err);
    }
    bool is_set = option == NULL && !has_run_dir && env_context != NULL && env_context[0] != '\0';
    Str name = str_from_c(option != NULL ? option : is_set ? env_context : "");
    if (has_run_dir || str_eq_c(name, CONTEXT_LOCAL)) {
        return select_local(invocation, run_dir, out, err);
    }
    if (!contexts_load(invocation->arena, directory, &contexts, err)) {
        return false;
    }
    if (name.len == 0 && (contexts.current.len == 0 || str_eq_c(contexts.current, CONTEXT_LOCAL))) {
        return select_local(invocation, run_dir, out, err);
    }
    return select_context(invocation->arena, &contexts, name.len > 0 ? name : contexts.current,
                          is_set ? "EDEN_CONTEXT" : "--context", out, err);
}

Str cluster_endpoint_text(Arena *arena, const ClusterEndpoint *endpoint)
{
    return endpoint->is_local ? STR("the server on this machine")
                              : arena_format(arena, "%" STR_FMT " (context '%" STR_FMT "')",
                                             STR_ARG(endpoint->context.servers[0]),
                                             STR_ARG(endpoint->context.name));
}
