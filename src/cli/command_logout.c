/* eden logout: forgets the token or certificate of a context. */
#include <stdlib.h>

#include "cli/cluster_client.h"
#include "cli/credential_left.h"
#include "cli/output.h"

/* Without a word it is the one that `eden login` would renew. */
static Str wanted_name(const Invocation *invocation, const Contexts *contexts)
{
    const char *set = getenv("EDEN_CONTEXT");
    return invocation->arg_count > 0       ? str_from_c(invocation->args[0])
           : set != NULL && set[0] != '\0' ? str_from_c(set)
                                           : contexts->current;
}

/* The one that is meant, among those that are there now; EXIT_OK, or what is wrong was told. */
static int find(const Invocation *invocation, Str directory, Contexts *contexts, Context **out)
{
    Error err;
    if (!contexts_load(invocation->arena, directory, contexts, &err)) {
        return cluster_fail(invocation, "E0815", &err);
    }
    Str name = wanted_name(invocation, contexts);
    *out = contexts_find(contexts, name);
    if (*out != NULL) {
        return EXIT_OK;
    }
    if (str_eq_c(name, CONTEXT_LOCAL)) {
        return usage_error(invocation, "'" CONTEXT_LOCAL "' is the server on this machine, which "
                                       "is asked without a token: there is nothing to forget");
    }
    return name.len == 0 ? usage_error(invocation, "no context is the current one; 'eden context' "
                                                   "shows which there are")
                         : usage_error_near(invocation, contexts_near(contexts, name),
                                            "there is no context '%" STR_FMT "'", STR_ARG(name));
}

static int log_out(const Invocation *invocation, Context *out)
{
    Arena *arena = invocation->arena;
    Str directory = contexts_directory(arena);
    AUTO_CLEAR(FileLock) lock = { .descriptor = -1 };
    Contexts contexts;
    Context *context;
    Error err;
    /* Before the lock, which makes the folder that it is in. */
    int code = find(invocation, directory, &contexts, &context);
    if (code != EXIT_OK) {
        return code;
    }
    if (!contexts_lock(arena, directory, &lock, &err)) {
        return cluster_fail(invocation, "E0815", &err);
    }
    code = find(invocation, directory, &contexts, &context);
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
    Context was = { 0 };
    int code = log_out(invocation, &was);
    if (code != EXIT_OK) {
        return code;
    }
    Arena *arena = invocation->arena;
    Str id = credential_token_id(arena, &was), serial = credential_serial(arena, &was);
    if (invocation_prints(invocation, "json")) {
        Map *map = map_new(arena, 4);
        map_set_str(arena, map, STR("format"), value_string(STR("eden.logout/1")));
        map_set_str(arena, map, STR("context"), value_string(was.name));
        map_set_str(arena, map, STR("token"), id.len > 0 ? value_string(id) : value_null());
        map_set_str(arena, map, STR("certificate"),
                    serial.len > 0 ? value_string(serial) : value_null());
        return output_json(invocation, value_map(map));
    }
    bool had_certificate = was.certificate.len > 0;
    stream_put_format(invocation->out, "context '%" STR_FMT "' has no %s any more\n",
                      STR_ARG(was.name), had_certificate ? "certificate" : "token");
    Str left = credential_left(arena, &was);
    if (left.len > 0) {
        output_line(invocation->err, "%" STR_FMT, STR_ARG(left));
    }
    return EXIT_OK;
}

static const Option options[] = {
    OUTPUT_OPTION("text|json", "text", "how to print"),
    { 0 },
};

static const Example examples[] = {
    { "eden logout", "of the current context" },
    { "eden logout prod", "of another" },
    { 0 },
};

const Command command_logout = {
    .name = "logout",
    .group = GROUP_CLUSTER,
    .args = { { "[CONTEXT]", WORD_CONTEXT } },
    .help = "Forget the token or certificate of a context.",
    .text =
        "The address of the server and its CA are kept: 'eden login' asks for a new token only.\n"
        "'eden context remove' forgets all of it. What proved who you are stays good until it\n"
        "expires, or is taken back: a token by 'eden tokens revoke ID', a certificate by\n"
        "'eden pki revoke SERIAL', with what it prints.",
    .options = options,
    .examples = examples,
    .run = logout_run,
};
