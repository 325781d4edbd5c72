/* eden logout: deletes the credential of a context. */
#include <stdlib.h>

#include "cli/cluster_client.h"
#include "cli/credential_hint.h"
#include "cli/output.h"

/* The default is the context that `eden login` would renew. */
static Str selected_name(const Invocation *invocation, const Contexts *contexts)
{
    const char *env_context = getenv("EDEN_CONTEXT");
    return invocation->arg_count > 0                       ? str_from_c(invocation->args[0])
           : env_context != NULL && env_context[0] != '\0' ? str_from_c(env_context)
                                                           : contexts->current;
}

/* Finds the context in the current file. Returns EXIT_OK, or reports the error. */
static int find_context(const Invocation *invocation, Str directory, Contexts *contexts,
                        Context **out)
{
    Error err;
    if (!contexts_load(invocation->arena, directory, contexts, &err)) {
        return cluster_fail(invocation, "E0815", &err);
    }
    Str name = selected_name(invocation, contexts);
    *out = contexts_find(contexts, name);
    if (*out != NULL) {
        return EXIT_OK;
    }
    if (str_eq_c(name, CONTEXT_LOCAL)) {
        return usage_error(invocation, "'" CONTEXT_LOCAL
                                       "' is the server on this machine, which needs no token");
    }
    return name.len == 0
               ? usage_error(invocation, "no current context; 'eden context' lists contexts")
               : usage_error_suggest(invocation, contexts_suggest(contexts, name),
                                     "context '%" STR_FMT "' not found", STR_ARG(name));
}

static int log_out(const Invocation *invocation, Context *out)
{
    Arena *arena = invocation->arena;
    Str directory = contexts_directory(arena);
    AUTO_CLEAR(FileLock) lock = { .descriptor = -1 };
    Contexts contexts;
    Context *context;
    Error err;
    /* Must come before the lock, which creates the directory. */
    int code = find_context(invocation, directory, &contexts, &context);
    if (code != EXIT_OK) {
        return code;
    }
    if (!contexts_lock(arena, directory, &lock, &err)) {
        return cluster_fail(invocation, "E0815", &err);
    }
    code = find_context(invocation, directory, &contexts, &context);
    if (code != EXIT_OK) {
        return code;
    }
    *out = *context;
    context->token = context->token_file = context->expires = STR_EMPTY;
    context->certificate = context->key = context->user = context->roles = STR_EMPTY;
    return contexts_save(arena, directory, &contexts, &err)
               ? EXIT_OK
               : cluster_fail(invocation, "E0815", &err);
}

static int logout_run(Invocation *invocation)
{
    Context previous = { 0 };
    int code = log_out(invocation, &previous);
    if (code != EXIT_OK) {
        return code;
    }
    Arena *arena = invocation->arena;
    Str id = credential_token_id(arena, &previous), serial = credential_serial(arena, &previous);
    if (invocation_prints(invocation, "json")) {
        Map *map = map_new(arena, 4);
        map_set_str(arena, map, STR("format"), value_string(STR("eden.logout/1")));
        map_set_str(arena, map, STR("context"), value_string(previous.name));
        map_set_str(arena, map, STR("token"), id.len > 0 ? value_string(id) : value_null());
        map_set_str(arena, map, STR("certificate"),
                    serial.len > 0 ? value_string(serial) : value_null());
        return output_json(invocation, value_map(map));
    }
    bool had_certificate = previous.certificate.len > 0;
    stream_put_format(invocation->out, "removed from context '%" STR_FMT "': %s\n",
                      STR_ARG(previous.name), had_certificate ? "certificate" : "token");
    Str notice = credential_revoke_hint(arena, &previous);
    if (notice.len > 0) {
        output_line(invocation->err, "%" STR_FMT, STR_ARG(notice));
    }
    return EXIT_OK;
}

static const Option options[] = {
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden logout", "log out of the current context" },
    { "eden logout prod", "log out of another context" },
    { 0 },
};

const Command command_logout = {
    .name = "logout",
    .group = GROUP_CLUSTER,
    .args = { { "[CONTEXT]", WORD_CONTEXT } },
    .help = "Delete the token or certificate of a context.",
    .text =
        "The server and its CA stay in the context: 'eden login' only needs a new token. 'eden\n"
        "context remove' deletes the entire context. The credential itself remains valid until it\n"
        "expires or is revoked: the command prints how to revoke it, 'eden tokens revoke ID' or\n"
        "'eden pki revoke SERIAL'.",
    .options = options,
    .examples = examples,
    .run = logout_run,
};
