/* eden context: the clusters that this user is logged in to. */
#include <stdlib.h>

#include "base/utc.h"
#include "cli/cluster_client.h"
#include "cli/credential_hint.h"
#include "cli/output.h"
#include "cli/table.h"
#include "pki/certificate.h"
#include "pki/token.h"

static int fail(const Invocation *invocation, const Error *err)
{
    return cluster_fail(invocation, "E0815", err);
}

static int report_unknown(const Invocation *invocation, const Contexts *contexts, Str name)
{
    Str suggestion = contexts_suggest(contexts, name);
    bool is_first = contexts->count == 0 && suggestion.len == 0;
    return usage_error_suggest(
        invocation, suggestion, "context '%" STR_FMT "' not found%s", STR_ARG(name),
        is_first ? "; 'eden login https://SERVER:1338 --name NAME' creates one" : "");
}

/* --- Formatting ------------------------------------------------------------------------------ */

/* The context that a command without --context uses. */
static Str selected_name(const Contexts *contexts)
{
    const char *env_context = getenv("EDEN_CONTEXT");
    return env_context != NULL && env_context[0] != '\0' ? str_from_c(env_context)
           : contexts->current.len > 0                   ? contexts->current
                                                         : STR(CONTEXT_LOCAL);
}

/* The type of credential, without the secret. */
static Str credential_text(Arena *arena, const Context *context)
{
    AUTO_CLEAR(Token) token = { 0 };
    Error err;
    if (context->certificate.len > 0) {
        return STR("certificate");
    }
    if (context->token_file.len > 0) {
        return arena_format(arena, "token in %" STR_FMT, STR_ARG(context->token_file));
    }
    return token_parse(TOKEN_API, context->token, &token, &err)
               ? arena_format(arena, "token %s", token.id)
               : STR("none");
}

static Value text_or_null(Str text)
{
    return text.len > 0 ? value_string(text) : value_null();
}

static Value as_value(Arena *arena, const Context *context, bool is_selected)
{
    Map *map = map_new(arena, 10);
    List *servers = list_new(arena, context->server_count);
    for (uint32_t i = 0; i < context->server_count; i++) {
        list_push(arena, servers, value_string(context->servers[i]));
    }
    map_set_str(arena, map, STR("name"), value_string(context->name));
    map_set_str(arena, map, STR("current"), value_bool(is_selected));
    map_set_str(arena, map, STR("servers"), value_list(servers));
    map_set_str(arena, map, STR("user"), text_or_null(context->user));
    map_set_str(arena, map, STR("roles"), context_roles(arena, context));
    map_set_str(arena, map, STR("credential"), value_string(credential_text(arena, context)));
    map_set_str(arena, map, STR("expires"), text_or_null(context->expires));
    return value_map(map);
}

/* The built-in context 'local', which is not in the file. */
static Context local_context(void)
{
    return (Context){ .name = STR(CONTEXT_LOCAL) };
}

/* --- list ------------------------------------------------------------------------------------ */

static void add_row(Table *table, const Context *context, Str selected)
{
    bool is_local = context->server_count == 0;
    table_add(table, str_eq(context->name, selected) ? STR("*") : STR_EMPTY);
    table_add(table, context->name);
    table_add(table, is_local ? STR("the socket on this machine") : context->servers[0]);
    table_add(table, is_local ? STR("-") : credential_text(table->arena, context));
    table_add(table, context->expires.len > 0 ? context->expires : STR("-"));
}

static int run_list(Invocation *invocation)
{
    static const char *const headings[] = {
        "", "CONTEXT", "SERVER", "CREDENTIAL", "EXPIRES", NULL
    };
    Arena *arena = invocation->arena;
    Str directory = contexts_directory(arena);
    Contexts contexts;
    Error err;
    if (!contexts_load(arena, directory, &contexts, &err)) {
        return fail(invocation, &err);
    }
    Str selected = selected_name(&contexts);
    List *list = list_new(arena, contexts.count + 1);
    Table table;
    table_init(&table, arena, headings);
    for (uint32_t i = 0; i <= contexts.count; i++) {
        Context context = i < contexts.count ? contexts.items[i] : local_context();
        add_row(&table, &context, selected);
        list_push(arena, list, as_value(arena, &context, str_eq(context.name, selected)));
        if (invocation_prints(invocation, "name")) {
            stream_put_format(invocation->out, "%" STR_FMT "\n", STR_ARG(context.name));
        }
    }
    if (invocation_prints(invocation, "table")) {
        table_print(&table, invocation->out);
    } else if (output_wants_value(invocation)) {
        Map *map = map_new(arena, 3);
        map_set_str(arena, map, STR("format"), value_string(STR("eden.contexts-list/1")));
        map_set_str(arena, map, STR("file"),
                    directory.len > 0
                        ? value_string(arena_format(arena, "%" STR_FMT "/" CONTEXTS_FILE,
                                                    STR_ARG(directory)))
                        : value_null());
        map_set_str(arena, map, STR("contexts"), value_list(list));
        return output_response(invocation, value_map(map));
    }
    return EXIT_OK;
}

/* --- show ------------------------------------------------------------------------------------ */

/* Sets `*problem` if the CA cannot be read; it is empty otherwise. */
static void describe_ca(Arena *arena, Str directory, const Context *context, Str *pin, Str *expires,
                        Str *problem)
{
    ContextCredentials credentials;
    Certificate *items;
    uint32_t count;
    Error err;
    char text[PIN_TEXT + 1];
    *pin = *expires = *problem = STR_EMPTY;
    if (context_credentials(arena, directory, context, &credentials, &err) &&
        certificates_from_pem(arena, credentials.ca, &items, &count, &err)) {
        pin_text(&items[0].pin, text);
        *pin = arena_copy(arena, str_from_c(text));
        *expires = utc_text(arena, items[0].not_after_ms);
    } else {
        *problem = arena_format(arena, "%s", err.text);
    }
}

static void put_line(const Invocation *invocation, const char *name, Str value)
{
    if (value.len > 0) {
        output_line(invocation->out, "%-12s%" STR_FMT, name, STR_ARG(value));
    }
}

static int run_show(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Str directory = contexts_directory(arena), pin = STR_EMPTY, expires = STR_EMPTY,
        problem = STR_EMPTY;
    Contexts contexts;
    Error err;
    if (!contexts_load(arena, directory, &contexts, &err)) {
        return fail(invocation, &err);
    }
    Str selected = selected_name(&contexts);
    Str name = invocation->arg_count > 0 ? str_from_c(invocation->args[0]) : selected;
    const Context *found = contexts_find(&contexts, name);
    if (found == NULL && !str_eq_c(name, CONTEXT_LOCAL)) {
        return report_unknown(invocation, &contexts, name);
    }
    Context context = found != NULL ? *found : local_context();
    if (found != NULL) {
        describe_ca(arena, directory, &context, &pin, &expires, &problem);
    }
    if (output_wants_value(invocation)) {
        Value value = as_value(arena, &context, str_eq(name, selected));
        map_set_str(arena, value.map, STR("ca_pin"), text_or_null(pin));
        map_set_str(arena, value.map, STR("ca_expires"), text_or_null(expires));
        map_set_str(arena, value.map, STR("problem"), text_or_null(problem));
        return output_response(invocation, value);
    }
    put_line(invocation, "context", context.name);
    put_line(invocation, "current", str_eq(name, selected) ? STR("yes") : STR("no"));
    for (uint32_t i = 0; i < context.server_count; i++) {
        put_line(invocation, i == 0 ? "server" : "", context.servers[i]);
    }
    if (found == NULL) {
        put_line(invocation, "server", STR("the socket on this machine"));
        return EXIT_OK;
    }
    put_line(invocation, "ca", pin);
    put_line(invocation, "ca expires", expires);
    put_line(invocation, "problem", problem);
    put_line(invocation, "user", context.user);
    put_line(invocation, "roles", context.roles);
    put_line(invocation, "credential", credential_text(arena, &context));
    put_line(invocation, "expires", context.expires);
    return EXIT_OK;
}

/* --- use, remove ----------------------------------------------------------------------------- */

/* Checks that the context exists in the current file. */
static int check_name(const Invocation *invocation, Str directory, Str name, bool is_removal,
                      Contexts *out)
{
    bool is_local = str_eq_c(name, CONTEXT_LOCAL);
    Error err;
    if (!contexts_load(invocation->arena, directory, out, &err)) {
        return fail(invocation, &err);
    }
    if (contexts_find(out, name) != NULL || (is_local && !is_removal)) {
        return EXIT_OK;
    }
    return is_local
               ? usage_error(invocation, "'" CONTEXT_LOCAL "' always exists and cannot be removed")
               : report_unknown(invocation, out, name);
}

static int update(Invocation *invocation, bool is_removal)
{
    Arena *arena = invocation->arena;
    Str directory = contexts_directory(arena), name = str_from_c(invocation->args[0]);
    AUTO_CLEAR(FileLock) lock = { .descriptor = -1 };
    Contexts contexts;
    Error err;
    /* Must come before the lock, which creates the directory. */
    int code = check_name(invocation, directory, name, is_removal, &contexts);
    if (code != EXIT_OK) {
        return code;
    }
    if (!contexts_lock(arena, directory, &lock, &err)) {
        return fail(invocation, &err);
    }
    code = check_name(invocation, directory, name, is_removal, &contexts);
    if (code != EXIT_OK) {
        return code;
    }
    Str notice = STR_EMPTY;
    if (is_removal) {
        notice = credential_revoke_hint(arena, contexts_find(&contexts, name));
        contexts_remove(&contexts, name);
    } else {
        contexts.current = name;
    }
    if (!contexts_save(arena, directory, &contexts, &err)) {
        return fail(invocation, &err);
    }
    if (output_wants_value(invocation)) {
        Map *map = map_new(arena, 3);
        map_set_str(arena, map, STR("format"), value_string(STR("eden.done/1")));
        map_set_str(arena, map, STR("context"), value_string(name));
        map_set_str(arena, map, STR("current"), text_or_null(contexts.current));
        return output_response(invocation, value_map(map));
    }
    stream_put_format(invocation->out, "context '%" STR_FMT "' is %s\n", STR_ARG(name),
                      is_removal ? "removed" : "the current context");
    if (notice.len > 0) {
        output_line(invocation->err, "%" STR_FMT, STR_ARG(notice));
    }
    return EXIT_OK;
}

static int run_use(Invocation *invocation)
{
    return update(invocation, false);
}

static int run_remove(Invocation *invocation)
{
    return update(invocation, true);
}

static const Option options[] = {
    OUTPUT_OPTION("table|json|yaml|name", "table", "output format"),
    { 0 },
};

static const Verb verbs[] = {
    { .name = "list",
      .is_default = true,
      .help = "List contexts; '*' marks the current one.",
      .examples = { { "eden context", "list contexts" } },
      .run = run_list },
    { .name = "use",
      .args = { { "CONTEXT", WORD_CONTEXT } },
      .help = "Switch to a context.",
      .examples = { { "eden context use prod", "use a context for all subsequent commands" },
                    { "eden nodes list --context prod", "use a context for one command" },
                    { "eden context use local", "use the server on this machine again" } },
      .run = run_use },
    { .name = "show",
      .args = { { "[CONTEXT]", WORD_CONTEXT } },
      .help = "Show a context, by default the current one.",
      .run = run_show },
    { .name = "remove",
      .args = { { "CONTEXT", WORD_CONTEXT } },
      .help = "Remove a context.",
      .examples = { { "eden context remove prod", "remove a context and its token" } },
      .run = run_remove },
    { 0 },
};

const Command command_context = {
    .name = "context",
    .alias = "contexts",
    .group = GROUP_CLUSTER,
    .help = "List and select the clusters that commands use.",
    .text = "A context stores a cluster's servers, its CA and your token. Commands use the\n"
            "current context unless --context or EDEN_CONTEXT selects another one. The\n"
            "context 'local' always exists; it is the server on this machine, accessed\n"
            "through its socket. Secrets are not shown.",
    .options = options,
    .verbs = verbs,
};
