/* eden login: stores a server and a credential for it as a context, which later commands use. */
#include <stdlib.h>
#include <string.h>

#include "cli/cluster_client.h"
#include "cli/contexts.h"
#include "cli/credential_hint.h"
#include "cli/inputs.h"
#include "cli/invocation.h"
#include "cli/output.h"
#include "cli/remote_hint.h"
#include "cli/server_ca.h"
#include "lang/duration.h"
#include "lang/json.h"
#include "pki/certificate.h"
#include "pki/csr.h"
#include "pki/token.h"
#include "sys/file.h"
#include "sys/terminal.h"

/* --- Output ----------------------------------------------------------------------------------- */

/* Output of a successful `eden login`: the current identity, and what it replaced. */

typedef struct LoginResult {
    const Context *context;
    const Context *previous; /* NULL: there was none of this name */
    Str cluster;
    Str directory; /* directory that relative paths in contexts refer to */
} LoginResult;

static Str ca_pin(const Invocation *invocation, Str directory, const Context *context)
{
    Arena *arena = invocation->arena;
    ContextCredentials has;
    Certificate *items;
    uint32_t count;
    Error err;
    char text[PIN_TEXT + 1];
    if (!context_credentials(arena, directory, context, &has, &err) ||
        !certificates_from_pem(arena, has.ca, &items, &count, &err)) {
        return STR_EMPTY;
    }
    pin_text(&items[0].pin, text);
    return arena_copy(arena, str_from_c(text));
}

/* --- Previous context ------------------------------------------------------------------------- */

typedef struct ContextSummary {
    Str server, user, roles, ca;
} ContextSummary;

static ContextSummary summarize_context(const Invocation *invocation, Str directory,
                                        const Context *context)
{
    return (ContextSummary){ .server = context->servers[0],
                             .user = context->user,
                             .roles = context->roles,
                             .ca = ca_pin(invocation, directory, context) };
}

static bool print_change(const Invocation *invocation, const char *what, Str was, Str now)
{
    if (str_eq(was, now)) {
        return false;
    }
    output_line(invocation->out, "  %-7s %" STR_FMT " -> %" STR_FMT, what,
                STR_ARG(was.len > 0 ? was : STR("unknown")),
                STR_ARG(now.len > 0 ? now : STR("unknown")));
    return true;
}

static bool has_same_credential(Arena *arena, const Context *was, const Context *now)
{
    return str_eq(was->token, now->token) &&
           str_eq(credential_serial(arena, was), credential_serial(arena, now));
}

static void print_replaced(const Invocation *invocation, const LoginResult *result)
{
    ContextSummary was = summarize_context(invocation, result->directory, result->previous),
                   now = summarize_context(invocation, result->directory, result->context);
    output_line(invocation->out,
                "replaces the previous context '%" STR_FMT "':", STR_ARG(result->previous->name));
    bool changed = print_change(invocation, "server", was.server, now.server);
    changed = print_change(invocation, "CA", was.ca, now.ca) || changed;
    changed = print_change(invocation, "user", was.user, now.user) || changed;
    changed = print_change(invocation, "roles", was.roles, now.roles) || changed;
    if (!changed) {
        output_line(invocation->out, "  the same server, CA, user and roles");
    }
    Str left = credential_revoke_hint(invocation->arena, result->previous);
    if (left.len > 0 &&
        !has_same_credential(invocation->arena, result->previous, result->context)) {
        output_line(invocation->err, "%" STR_FMT, STR_ARG(left));
    }
}

/* --- Output ----------------------------------------------------------------------------------- */

static Value text_or_null(Str text)
{
    return text.len > 0 ? value_string(text) : value_null();
}

static Value result_value(const Invocation *invocation, const LoginResult *result)
{
    Arena *arena = invocation->arena;
    Map *map = map_new(arena, 8);
    map_set_str(arena, map, STR("format"), value_string(STR("eden.login/1")));
    map_set_str(arena, map, STR("context"), value_string(result->context->name));
    map_set_str(arena, map, STR("server"), value_string(result->context->servers[0]));
    map_set_str(arena, map, STR("cluster"), value_string(result->cluster));
    map_set_str(arena, map, STR("name"), text_or_null(result->context->user));
    map_set_str(arena, map, STR("roles"), context_roles(arena, result->context));
    map_set_str(arena, map, STR("expires"), text_or_null(result->context->expires));
    if (result->previous == NULL) {
        map_set_str(arena, map, STR("replaced"), value_null());
        return value_map(map);
    }
    ContextSummary was = summarize_context(invocation, result->directory, result->previous);
    Map *replaced = map_new(arena, 4);
    map_set_str(arena, replaced, STR("server"), value_string(was.server));
    map_set_str(arena, replaced, STR("ca_pin"), text_or_null(was.ca));
    map_set_str(arena, replaced, STR("name"), text_or_null(was.user));
    map_set_str(arena, replaced, STR("roles"), context_roles(arena, result->previous));
    map_set_str(arena, map, STR("replaced"), value_map(replaced));
    return value_map(map);
}

/* Returns the exit code. */
static int login_print(const Invocation *invocation, const LoginResult *result)
{
    const Context *now = result->context;
    if (invocation_prints(invocation, "json")) {
        return output_json(invocation, result_value(invocation, result));
    }
    Buf line = buf_make_in(invocation->arena, BUF_UNLIMITED);
    if (now->user.len > 0) {
        buf_put_format(&line, " as '%" STR_FMT "'", STR_ARG(now->user));
    }
    if (now->roles.len > 0) {
        buf_put_format(&line, " (%" STR_FMT ")", STR_ARG(now->roles));
    }
    if (now->expires.len > 0) {
        buf_put_format(&line, " until %" STR_FMT, STR_ARG(now->expires));
    }
    output_line(invocation->out, "logged in to %" STR_FMT "%" STR_FMT, STR_ARG(now->servers[0]),
                STR_ARG(buf_str(&line)));
    output_line(invocation->out, "switched to context '%" STR_FMT "'", STR_ARG(now->name));
    if (result->previous != NULL) {
        print_replaced(invocation, result);
    }
    return EXIT_OK;
}

enum {
    TOKEN_INPUT_MAX = 4096, /* size limit of a file or standard input, in bytes */
    REPLY_MAX = 16,         /* size limit of a yes or no answer, in bytes */
};

typedef struct Login {
    Invocation *invocation;
    Arena *arena;
    Str directory;
    Contexts contexts;
    Context context;  /* the context being created */
    bool is_named;    /* --name was given */
    Context existing; /* existing context of the same name and server */
    Address server;
    int64_t timeout_ms;
    Str cluster;      /* as reported by the server */
    Value session;    /* identity reported by the server; null if it reports none */
    Context previous; /* previous context of the same name */
    bool had_previous;
    Str hint; /* hint for the error; may be empty */
} Login;

/* --- Server ----------------------------------------------------------------------------------- */

/* Without SERVER, `eden login` renews the current context. */
static Str requested_name(const Login *login)
{
    const char *option = invocation_text(login->invocation, "name"),
               *env_value = getenv("EDEN_CONTEXT");
    if (option != NULL || login->invocation->arg_count > 0) {
        return str_from_c(option == NULL ? "" : option);
    }
    return env_value != NULL && env_value[0] != '\0' ? str_from_c(env_value)
                                                     : login->contexts.current;
}

static bool find_context(Login *login, Error *err)
{
    Str name = requested_name(login);
    const Context *old = contexts_find(&login->contexts, name);
    login->is_named = name.len > 0;
    login->context = old != NULL ? *old : (Context){ .name = name };
    if (name.len > 0 && !context_name_check(name, err)) {
        return false;
    }
    login->existing = login->context;
    if (login->invocation->arg_count > 0) {
        Str text = str_from_c(login->invocation->args[0]);
        if (!context_server_parse(text, &login->server, err)) {
            return error_wrap(err, "SERVER");
        }
        Str server = context_server_text(login->arena, &login->server);
        bool is_known = false;
        for (uint32_t i = 0; i < login->context.server_count; i++) {
            is_known = is_known || str_eq(login->context.servers[i], server);
        }
        if (!is_known) {
            login->context = (Context){ .name = name, .servers = { server }, .server_count = 1 };
            login->existing = (Context){ 0 };
        }
        return true;
    }
    if (old == NULL) {
        return error_set(
            err, ERROR_INVALID,
            "SERVER is required, such as https://eden1:1338: there is no context to renew");
    }
    return context_server_parse(old->servers[0], &login->server, err);
}

/* Reports that no trusted server responded. */
static bool fail_remote(Login *login, Error *err)
{
    Context context = login->context;
    err->kind = err->kind == ERROR_NOT_FOUND ? ERROR_UNAVAILABLE : err->kind;
    context.name = login->is_named ? context.name : STR_EMPTY;
    login->hint = remote_hint(login->arena, &context, true, err);
    return error_wrap(err, "%" STR_FMT, STR_ARG(login->context.servers[0]));
}

/* --- CA --------------------------------------------------------------------------------------- */

/* Without a pin the user has to compare it at the terminal. */
static bool confirm(Login *login, const ServerCa *presented, Error *err)
{
    char response[REPLY_MAX];
    Str server = login->context.servers[0];
    Str question = arena_format(login->arena,
                                "%" STR_FMT " claims to be a server of cluster '%" STR_FMT
                                "', whose CA has the pin\n"
                                "  %s\n"
                                "Compare it with the output of 'eden pki rotate --status' on the "
                                "server. Is it the same? [y/N] ",
                                STR_ARG(server), STR_ARG(presented->cluster), presented->pin);
    if (!terminal_ask(arena_copy_c(login->arena, question), false, response, sizeof response,
                      err)) {
        return false;
    }
    return strcmp(response, "y") == 0 || strcmp(response, "yes") == 0 ||
           error_set(err, ERROR_DENIED, "the pin was not confirmed");
}

static bool fetch_ca(Login *login, Str ca_pin, Error *err)
{
    ServerCa presented;
    if (ca_pin.len == 0 && !terminal_is_available()) {
        return error_set(err, ERROR_INVALID,
                         "--ca-pin or --ca is required to verify the server; 'eden pki rotate "
                         "--status' and 'eden tokens create' on the server print the pin");
    }
    if (!server_ca_fetch(login->arena, &login->server, ca_pin, login->timeout_ms, &presented,
                         err)) {
        return fail_remote(login, err);
    }
    login->context.ca = presented.pem;
    login->cluster = presented.cluster;
    return ca_pin.len > 0 || confirm(login, &presented, err);
}

static bool find_ca(Login *login, Error *err)
{
    const char *ca_pin = invocation_text(login->invocation, "ca-pin");
    const char *file = invocation_text(login->invocation, "ca");
    Certificate *items;
    uint32_t count;
    if (ca_pin != NULL && file != NULL) {
        return error_set(err, ERROR_INVALID, "--ca-pin and --ca are mutually exclusive");
    }
    if (file == NULL) {
        return ca_pin == NULL && login->context.ca.len > 0
                   ? true
                   : fetch_ca(login, str_from_c(ca_pin == NULL ? "" : ca_pin), err);
    }
    if (!file_read(login->arena, file, CONTEXT_FILE_MAX, &login->context.ca, err)) {
        return false;
    }
    return certificates_from_pem(login->arena, login->context.ca, &items, &count, err) ||
           error_wrap(err, "%s", file);
}

/* --- Credential ------------------------------------------------------------------------------- */

/* With --certificate, the stored token is used to request a certificate that replaces it. It is
 * sent only to the server it belongs to, verified by the same CA. */
static bool reuse_token(Login *login, Str *out)
{
    const Context *existing = &login->existing;
    ContextCredentials credentials;
    Error ignored;
    if (!invocation_flag(login->invocation, "certificate") || existing->server_count == 0 ||
        !context_credentials(login->arena, login->directory, existing, &credentials, &ignored)) {
        return false;
    }
    bool same_ca = str_eq(login->context.ca, existing->ca) ||
                   str_eq(str_trim(login->context.ca), str_trim(credentials.ca));
    if (credentials.token.len == 0 || !same_ca) {
        return false;
    }
    *out = credentials.token;
    output_line(login->invocation->err, "using the token of context '%" STR_FMT "'",
                STR_ARG(existing->name));
    return true;
}

/* Never read from the command line, which other users can see. */
static bool read_token(Login *login, Error *err)
{
    const char *file = invocation_text(login->invocation, "token-file");
    const char *env_value = getenv("EDEN_TOKEN");
    char input[TOKEN_TEXT_MAX + 80];
    AUTO_CLEAR(Token) token = { 0 };
    Str text;
    if (file != NULL) {
        if (!file_read_secret(login->arena, file, TOKEN_INPUT_MAX, &text, err)) {
            return false;
        }
    } else if (env_value != NULL && env_value[0] != '\0') {
        text = str_from_c(env_value);
    } else if (reuse_token(login, &text)) {
        /* the token is in `text` */
    } else if (!terminal_is_available()) {
        return error_set(err, ERROR_INVALID,
                         "a token is required: use --token-file FILE, --token-file - for standard "
                         "input, or EDEN_TOKEN");
    } else {
        if (!terminal_ask("Token: ", true, input, sizeof input, err)) {
            return false;
        }
        text = arena_copy(login->arena, str_from_c(input));
        explicit_bzero(input, sizeof input);
    }
    text = str_trim(text);
    if (!token_parse(TOKEN_API, text, &token, err)) {
        return false;
    }
    login->context.token = text;
    login->context.token_file = login->context.certificate = login->context.key = STR_EMPTY;
    return true;
}

/* --- Verification ----------------------------------------------------------------------------- */

static bool send_get(Login *login, Str target, ClusterResponse *response, Error *err)
{
    ClusterEndpoint endpoint = { .context = login->context };
    return context_credentials(login->arena, login->directory, &login->context,
                               &endpoint.credentials, err) &&
           (cluster_exchange_at(login->invocation, &endpoint,
                                &(ClusterRequest){ .method = "GET",
                                                   .target = target,
                                                   .timeout_ms = login->timeout_ms },
                                NULL, response, err) ||
            fail_remote(login, err));
}

/* "admin, viewer" */
static Str roles_text(Arena *arena, Value session)
{
    const List *roles = value_get_list(session, "roles");
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < roles->len; i++) {
        if (value_is_string(roles->items[i])) {
            buf_put_c(&text, text.len > 0 ? ", " : "");
            buf_put(&text, value_str(roles->items[i]));
        }
    }
    return buf_str(&text);
}

/* The request does not come from the user, so a 4xx response is not a usage error. */
static bool read_response(Login *login, const ClusterResponse *response, Value *out, Error *err)
{
    if (cluster_response_read(login->arena, response, out, err)) {
        return true;
    }
    err->kind = err->kind == ERROR_INVALID ? ERROR_OS : err->kind;
    if (out->kind != VALUE_MAP) {
        login->hint = STR("is there a proxy in between, or a different program at this address? "
                          "SERVER must be the address of a server's API; the port is 1338 unless "
                          "server.json sets a different one");
    }
    return false;
}

/* The cluster's name is needed only if --name was not given. */
static bool find_cluster(Login *login, Error *err)
{
    ClusterResponse response;
    Value health;
    if (login->cluster.len > 0) {
        return true;
    }
    if (send_get(login, STR("/v1/health"), &response, err) &&
        read_response(login, &response, &health, err)) {
        login->cluster = value_get_text(health, "cluster");
        return true;
    }
    if (login->is_named) {
        login->hint = STR_EMPTY;
        return true;
    }
    return error_wrap(err, "the server did not report the name of its cluster");
}

static bool verify_token(Login *login, Error *err)
{
    ClusterResponse response;
    if (!send_get(login, STR("/v1/session"), &response, err)) {
        return false;
    }
    if (!read_response(login, &response, &login->session, err)) {
        if (login->session.kind != VALUE_MAP) {
            return error_wrap(err, "cannot verify the token");
        }
        if (response.status == 401) {
            login->hint = STR("create a token with 'eden tokens create --role ROLE' on a server; "
                              "'eden roles list' lists the roles");
        }
        return error_wrap(err, "the server rejected the token");
    }
    login->context.user = arena_copy(login->arena, value_get_text(login->session, "name"));
    login->context.roles = roles_text(login->arena, login->session);
    login->context.expires = arena_copy(login->arena, value_get_text(login->session, "expires"));
    return find_cluster(login, err);
}

static Str certificate_body(Arena *arena, Value session, Str csr)
{
    Map *spec = map_new(arena, 3), *body = map_new(arena, 1);
    const Value *roles = value_get(session, STR("roles"));
    map_set_str(arena, spec, STR("user"), value_string(value_get_text(session, "name")));
    map_set_str(arena, spec, STR("roles"), roles != NULL ? *roles : value_list(list_new(arena, 0)));
    map_set_str(arena, spec, STR("csr"), value_string(csr));
    map_set_str(arena, body, STR("spec"), value_map(spec));
    return cluster_body(arena, value_map(body));
}

/* Generates a key and requests a certificate with the roles of the session; the context stores it
 * instead of the token. The key never leaves this machine. */
static bool get_certificate(Login *login, const ClusterEndpoint *endpoint, Error *err)
{
    Arena *arena = login->arena;
    Context *context = &login->context;
    AUTO(P256Private) *key = NULL;
    AUTO_CLEAR(KeyText) text = { .len = 0 };
    ClusterResponse response;
    Value created;
    Str csr, user = value_get_text(login->session, "name");
    if (!user_name_check(user, err)) {
        return error_set(err, ERROR_OS,
                         "the token belongs to '%" STR_FMT
                         "', which is not valid in a certificate; create one with 'eden tokens "
                         "create --role ROLE --label NAME', where NAME consists of a-z, 0-9, '-' "
                         "and '.'",
                         STR_ARG(user));
    }
    if (!p256_private_make(&key, err) || !csr_make(arena, key, &csr, err) ||
        !p256_private_text(key, &text, err)) {
        return false;
    }
    if (!cluster_exchange_at(
            login->invocation, endpoint,
            &(ClusterRequest){ .method = "POST",
                               .target = STR("/v1/certificates"),
                               .body = certificate_body(arena, login->session, csr),
                               .timeout_ms = login->timeout_ms },
            NULL, &response, err)) {
        return false;
    }
    if (!cluster_response_read(arena, &response, &created, err)) {
        /* The request does not come from the user, so a rejection is not a usage error. */
        err->kind = err->kind == ERROR_INVALID ? ERROR_OS : err->kind;
        return error_wrap(err, "the server issued no certificate");
    }
    Value status = value_get_map(created, "status");
    Str certificate = value_get_text(status, "certificate");
    if (certificate.len == 0) {
        return error_set(err, ERROR_OS, "the server's response has no certificate");
    }
    context->certificate = certificate;
    context->key = arena_copy(arena, str_from(text.text, text.len));
    context->expires = value_get_text(status, "expires");
    context->token = context->token_file = STR_EMPTY;
    return true;
}

/* Switches to the certificate, after checking that the server accepts it. */
static bool switch_to_certificate(Login *login, Error *err)
{
    ClusterEndpoint endpoint = { .context = login->context };
    ClusterResponse response;
    if (!invocation_flag(login->invocation, "certificate")) {
        return true;
    }
    return context_credentials(login->arena, login->directory, &login->context,
                               &endpoint.credentials, err) &&
           get_certificate(login, &endpoint, err) &&
           send_get(login, STR("/v1/session"), &response, err) &&
           (read_response(login, &response, &login->session, err) ||
            error_wrap(err, login->session.kind == VALUE_MAP ? "the server rejected the certificate"
                                                             : "cannot verify the certificate"));
}

/* Uses the name of the cluster unless another cluster's context has it. */
static bool name_context(Login *login, Error *err)
{
    if (login->is_named) {
        return true;
    }
    Error ignored;
    login->context.name = arena_copy(login->arena, login->cluster);
    if (!context_name_check(login->context.name, &ignored)) {
        return error_set(err, ERROR_INVALID,
                         "--name is required: the cluster is named '%" STR_FMT "'",
                         STR_ARG(login->cluster));
    }
    const Context *old = contexts_find(&login->contexts, login->context.name);
    return old == NULL || str_eq(str_trim(old->ca), str_trim(login->context.ca)) ||
           error_set(err, ERROR_CONFLICT,
                     "context '%" STR_FMT "' already exists, for a cluster with a different "
                     "CA: use --name, or remove it with 'eden context remove %" STR_FMT "'",
                     STR_ARG(login->context.name), STR_ARG(login->context.name));
}

/* --- Command ---------------------------------------------------------------------------------- */

/* Reloads the file under the lock, since other processes may have changed it while the user was at
 * the prompt. */
static bool save_context(Login *login, Error *err)
{
    AUTO_CLEAR(FileLock) lock = { .descriptor = -1 };
    if (!contexts_lock(login->arena, login->directory, &lock, err) ||
        !contexts_load(login->arena, login->directory, &login->contexts, err)) {
        err->kind = err->kind == ERROR_INVALID ? ERROR_OS : err->kind;
        return false;
    }
    const Context *old = contexts_find(&login->contexts, login->context.name);
    login->had_previous = old != NULL;
    login->previous = old != NULL ? *old : (Context){ 0 };
    contexts_put(login->arena, &login->contexts, &login->context);
    login->contexts.current = login->context.name;
    return contexts_save(login->arena, login->directory, &login->contexts, err);
}

static bool log_in(Login *login, Error *err)
{
    if (!duration_parse(str_from_c(invocation_text(login->invocation, "timeout")),
                        &login->timeout_ms)) {
        return error_set(err, ERROR_INVALID, "--timeout must be a duration, such as '5s' or '1m'");
    }
    if (!contexts_load(login->arena, login->directory, &login->contexts, err)) {
        err->kind = err->kind == ERROR_INVALID ? ERROR_OS : err->kind;
        return false;
    }
    if (!find_context(login, err) || !find_ca(login, err) || !read_token(login, err) ||
        !verify_token(login, err) || !name_context(login, err) ||
        !switch_to_certificate(login, err)) {
        return false;
    }
    return save_context(login, err);
}

static int fail(const Login *login, const Error *err)
{
    Inputs inputs;
    inputs_init(&inputs, login->arena);
    problems_add(&inputs.problems, "E0816", NULL, 0, 0, "%s", err->text)->hint = login->hint;
    (void)inputs_report(&inputs, login->invocation);
    return error_kind_exit_code(err->kind);
}

static int login_run(Invocation *invocation)
{
    Login login = { .invocation = invocation,
                    .arena = invocation->arena,
                    .directory = contexts_directory(invocation->arena),
                    .session = value_null() };
    Error err;
    if (log_in(&login, &err)) {
        return login_print(invocation,
                           &(LoginResult){ .context = &login.context,
                                           .previous = login.had_previous ? &login.previous : NULL,
                                           .cluster = login.cluster,
                                           .directory = login.directory });
    }
    return err.kind == ERROR_INVALID ? usage_error(invocation, "%s", err.text) : fail(&login, &err);
}

static const Option options[] = {
    { .name = "name",
      .argument = "CONTEXT",
      .word = WORD_CONTEXT,
      .help = "name of the context; default: the name of the cluster" },
    { .name = "ca-pin",
      .argument = "PIN",
      .help = "pin of the cluster's CA (sha256:...), used to verify the server" },
    { .name = "ca", .argument = "FILE", .word = WORD_FILE, .help = "CA certificate, in PEM" },
    { .name = "token-file",
      .argument = "FILE",
      .word = WORD_FILE,
      .help = "file with the token; - reads standard input" },
    { .name = "certificate",
      .help = "replace the token with a certificate that has the same roles" },
    { .name = "timeout",
      .argument = "TIME",
      .fallback = "30s",
      .help = "how long to wait for a response" },
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden login https://eden1:1338 --name prod --ca-pin sha256:9c1e...",
      "log in; prompts for the token without echoing it" },
    { "pass eden/prod | eden login eden1 --ca-pin sha256:9c1e... --token-file -",
      "read the token from another program" },
    { "eden login --certificate", "replace the token with a certificate" },
    { "eden login", "renew the token of the current context" },
    { 0 },
};

const Command command_login = {
    .name = "login",
    .group = GROUP_CLUSTER,
    .args = { { "[SERVER]" } },
    .help = "Log in to a cluster.",
    .text =
        "SERVER is https://NAME:PORT; the default port is 1338. After logging in, cluster\n"
        "commands use that server instead of the one on this machine; 'eden context' lists and\n"
        "switches contexts. Without SERVER, the token of the current context, or of the context\n"
        "given with --name, is renewed.\n"
        "\n"
        "The server is verified against the cluster's CA: use --ca-pin with the pin printed by\n"
        "'eden init', 'eden tokens create' or 'eden pki rotate --status', or use --ca. Without\n"
        "either, you must confirm the pin at the terminal; without a terminal, the login fails.\n"
        "\n"
        "The token is read from --token-file, from EDEN_TOKEN, or at the terminal; never from\n"
        "the command line, which other users can see. With --certificate, a key is generated on\n"
        "this machine, and the server issues a certificate for it, which replaces the token. If\n"
        "the server and CA are unchanged, the context's existing token is used to request the\n"
        "certificate.\n"
        "\n"
        "The context is verified and then stored in eden/contexts.json under XDG_CONFIG_HOME or\n"
        "~/.config, readable only by you.",
    .options = options,
    .examples = examples,
    .run = login_run,
};
