/* eden logout: forgets the token of a context. */
#include <stdlib.h>

#include "cli/cluster_client.h"
#include "cli/output.h"
#include "cluster/access_token.h"

/* Without a word it is the one that `eden login` would renew. */
static Str wanted_name(const Invocation *invocation, const Contexts *contexts)
{
    const char *set = getenv("EDEN_CONTEXT");
    return invocation->arg_count > 0       ? str_from_c(invocation->args[0])
           : set != NULL && set[0] != '\0' ? str_from_c(set)
                                           : contexts->current;
}

static bool log_out(Invocation *invocation, Context *out, Error *err)
{
    Arena *arena = invocation->arena;
    Str directory = contexts_directory(arena);
    AUTO_CLEAR(FileLock) lock = { .descriptor = -1 };
    Contexts contexts;
    if (!contexts_lock(arena, directory, &lock, err) ||
        !contexts_load(arena, directory, &contexts, err)) {
        return false;
    }
    Str name = wanted_name(invocation, &contexts);
    Context *context = contexts_find(&contexts, name);
    if (context == NULL) {
        return name.len == 0 ? error_set(err, ERROR_NOT_FOUND, "no context is the current one")
                             : error_set(err, ERROR_NOT_FOUND, "there is no context '%" STR_FMT "'",
                                         STR_ARG(name));
    }
    *out = *context;
    context->token = context->token_file = context->expires = STR_EMPTY;
    context->certificate = context->key = STR_EMPTY;
    return contexts_save(arena, directory, &contexts, err);
}

static int logout_run(Invocation *invocation)
{
    Context was = { 0 };
    Error err;
    AUTO_CLEAR(AccessToken) token = { 0 };
    if (!log_out(invocation, &was, &err)) {
        return err.kind == ERROR_NOT_FOUND ? usage_error(invocation, "%s", err.text)
                                           : cluster_fail(invocation, "E0815", &err);
    }
    bool has_token = access_token_parse(was.token, &token, &err);
    if (invocation_prints(invocation, "json")) {
        Map *map = map_new(invocation->arena, 3);
        map_set_str(invocation->arena, map, STR("format"), value_string(STR("eden.logout/1")));
        map_set_str(invocation->arena, map, STR("context"), value_string(was.name));
        map_set_str(invocation->arena, map, STR("token"),
                    has_token ? value_string(str_from_c(token.id)) : value_null());
        return output_json(invocation, value_map(map));
    }
    stream_put_format(invocation->out, "context '%" STR_FMT "' has no token any more\n",
                      STR_ARG(was.name));
    if (has_token) {
        stream_put_format(invocation->err,
                          "others that have it can still use it, until 'eden tokens revoke %s'\n",
                          token.id);
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
    .args = "[CONTEXT]",
    .args_max = 1,
    .word = WORD_CONTEXT,
    .help = "Forget the token of a context.",
    .text =
        "The address of the server and its CA are kept: 'eden login' asks for a new token only.\n"
        "'eden context remove' forgets all of it. The token itself stays good until it expires\n"
        "or 'eden tokens revoke' takes it back.",
    .options = options,
    .examples = examples,
    .run = logout_run,
};
