#include "cli/cluster_client.h"

#include "audit/audit_entry.h"
#include "base/bug.h"
#include "base/suggest.h"
#include "base/visible.h"
#include "cli/refusal.h"
#include "cli/remote_hint.h"
#include "lang/duration.h"
#include "lang/json.h"
#include "membership/node_state.h"
#include "net/http_client.h"
#include "server/create_cluster.h"
#include "sys/clock.h"
#include "sys/file.h"

enum {
    EXCERPT_MAX = 200,         /* maximum bytes shown of a response that is not from eden */
    SUGGESTED_NAMES_MAX = 500, /* maximum number of names for "did you mean" */
};

/* --- Sending --------------------------------------------------------------------------------- */

typedef struct Exchange {
    Loop *loop;
    Arena *arena;
    bool responded, has_head;
    ClusterResponse *response;
    Error err;
    const ClusterStreamHandler *handler; /* NULL: the body is buffered */
    const Invocation *invocation;
    bool stopped;
    LoopTimer tick;
} Exchange;

/* Warns once per command that data may be stale. Not needed for error responses, which state the
 * reason. */
static void warn_stale(const Exchange *exchange, const Http1Head *head)
{
    const Invocation *invocation = exchange->invocation;
    const Str *since = http1_find(head, "Eden-Stale-Since");
    if (since == NULL || head->status >= 300 || invocation->stale_warned == NULL ||
        *invocation->stale_warned) {
        return;
    }
    Buf shown = buf_make_in(exchange->arena, BUF_UNLIMITED);
    visible_put(&shown, *since);
    *invocation->stale_warned = true;
    stream_put_format(invocation->err,
                      "warning: the server's store is unavailable; data may be out of date since "
                      "%" STR_FMT "\n",
                      STR_ARG(buf_str(&shown)));
}

static void handle_head(Exchange *exchange, const Http1Head *head)
{
    bool is_first = !exchange->has_head;
    exchange->has_head = true;
    if (is_first) {
        warn_stale(exchange, head);
    }
    if (is_first && exchange->handler != NULL && exchange->handler->on_head != NULL) {
        exchange->handler->on_head(exchange->handler->context, head);
    }
}

static void on_done(void *context, const HttpResponse *response, const Error *err)
{
    Exchange *exchange = context;
    exchange->responded = response != NULL;
    if (response != NULL) {
        handle_head(exchange, response->head);
        exchange->response->status = response->head->status;
        exchange->response->body = arena_copy(exchange->arena, response->body);
    } else {
        exchange->err = *err;
    }
    loop_stop(exchange->loop);
}

static void on_chunk(void *context, const Http1Head *head, Str bytes)
{
    Exchange *exchange = context;
    handle_head(exchange, head);
    exchange->response->status = head->status;
    if (!exchange->stopped && !exchange->handler->on_chunk(exchange->handler->context, bytes)) {
        exchange->stopped = true;
        loop_stop(exchange->loop);
    }
}

static void on_tick(void *context)
{
    Exchange *exchange = context;
    exchange->handler->on_tick(exchange->handler->context);
    loop_timer_start(&exchange->tick, exchange->handler->tick_ms);
}

ErrorKind cluster_status_kind(int status)
{
    return status < 300 ? ERROR_NONE : refusal_row_of_status(status)->kind;
}

/* Whether the response is an error from an eden server, which has a detail, rather than the error
 * page of a proxy. */
static bool has_reason(Value response)
{
    return value_get_text(response, "detail").len > 0;
}

ErrorKind cluster_response_kind(Arena *arena, const ClusterResponse *received)
{
    Value response;
    Error ignored;
    ErrorKind kind = cluster_status_kind(received->status);
    if (received->status < 300 ||
        (json_parse_text(arena, received->body, NULL, &response, &ignored) &&
         has_reason(response))) {
        return kind;
    }
    /* A gateway error means that the server is unreachable; any other status comes from the proxy
     * itself. */
    return received->status == 502                              ? ERROR_UNAVAILABLE
           : kind == ERROR_UNAVAILABLE || kind == ERROR_TIMEOUT ? kind
                                                                : ERROR_OS;
}

/* Returns ": Access denied": the first printable line of a foreign body, shortened; empty if there
 * is none. */
static Str first_line(Arena *arena, Str body)
{
    Buf shown = buf_make_in(arena, BUF_UNLIMITED);
    Str line = STR_EMPTY;
    while (line.len == 0 && str_split_next(&body, '\n', &line)) {
        line = str_trim(line);
    }
    bool is_cut = line.len > EXCERPT_MAX;
    line = is_cut ? str_slice(line, 0, EXCERPT_MAX) : line;
    if (line.len > 0) {
        buf_put_c(&shown, ": ");
        visible_put(&shown, line);
        buf_put_c(&shown, is_cut ? "..." : "");
    }
    return buf_str(&shown);
}

bool cluster_response_read(Arena *arena, const ClusterResponse *received, Value *out, Error *err)
{
    bool is_json = json_parse_text(arena, received->body, NULL, out, err);
    Str excerpt = first_line(arena, received->body);
    if (received->status < 300) {
        return (is_json && out->kind == VALUE_MAP) ||
               error_set(err, ERROR_OS, "the server's response is not a JSON object%" STR_FMT,
                         STR_ARG(excerpt));
    }
    ErrorKind kind = cluster_response_kind(arena, received);
    if (is_json && has_reason(*out)) {
        return error_set(err, kind, "%" STR_FMT, STR_ARG(value_get_text(*out, "detail")));
    }
    *out = value_null();
    return error_set(err, kind,
                     "the response is not from an eden server but from a proxy or another program, "
                     "with status %d%" STR_FMT,
                     received->status, STR_ARG(excerpt));
}

/* Sends the request to one server, over TLS if `tls_material` is set. Sets `*sent` if the server
 * may have received part of it. */
static bool send_to(HttpCallOptions *options, const TlsMaterial *tls_material, Exchange *exchange,
                    bool *sent, Error *err)
{
    AUTO(Loop) *loop = loop_new();
    AUTO(TlsContext) *tls = NULL;
    *sent = false;
    if (tls_material != NULL &&
        !tls_context_new(loop, &(TlsOptions){ .role = TLS_CLIENT, .protocol = "http/1.1" },
                         tls_material, &tls, err)) {
        err->kind = ERROR_OS;
        return error_wrap(err, "credentials of the context");
    }
    exchange->loop = options->loop = loop;
    options->tls = tls;
    options->tls_host = tls == NULL ? NULL : options->address.host;
    HttpCall *call = http_call_new(options);
    loop_timer_init(&exchange->tick, loop, on_tick, exchange);
    if (exchange->handler != NULL && exchange->handler->on_tick != NULL) {
        loop_timer_start(&exchange->tick, exchange->handler->tick_ms);
    }
    loop_run(loop);
    loop_timer_stop(&exchange->tick);
    *sent = http_call_is_sent(call);
    http_call_free(call);
    *err = exchange->err;
    /* Neither a malformed response nor a name that cannot be resolved is a usage error. */
    if (err->kind == ERROR_INVALID || err->kind == ERROR_NOT_FOUND) {
        err->kind = ERROR_UNAVAILABLE;
    }
    return exchange->responded || exchange->stopped;
}

/* Tries the servers of a context in order. Moves on to the next one only if this one cannot have
 * received the request, or if the request is safe to repeat. */
static bool send_remote(Arena *arena, const ClusterEndpoint *endpoint, HttpCallOptions *options,
                        Exchange *exchange, Error *err)
{
    const ContextCredentials *credentials = &endpoint->credentials;
    int64_t deadline_us = clock_monotonic_us() + options->timeout_ms * 1000;
    HttpCallField *fields = ARENA_ARRAY(arena, HttpCallField, options->field_count + 1);
    for (uint32_t i = 0; i < options->field_count; i++) {
        fields[i] = options->fields[i];
    }
    options->fields = fields;
    if (credentials->token.len > 0) {
        Str value = arena_format(arena, "Bearer %" STR_FMT, STR_ARG(credentials->token));
        fields[options->field_count++] = (HttpCallField){ "Authorization", value };
    }
    TlsMaterial tls_material = { .ca = credentials->ca,
                                 .certificate = credentials->certificate,
                                 .key = credentials->key };
    for (uint32_t i = 0; i < endpoint->context.server_count; i++) {
        bool sent;
        int64_t remaining_ms = (deadline_us - clock_monotonic_us()) / 1000;
        options->timeout_ms = remaining_ms > 0 ? remaining_ms : 1;
        if (!context_server_parse(endpoint->context.servers[i], &options->address, err)) {
            return false;
        }
        if (send_to(options, &tls_material, exchange, &sent, err)) {
            return true;
        }
        if (exchange->has_head || (sent && strcmp(options->method, "GET") != 0)) {
            break;
        }
    }
    return false;
}

/* Builds the request headers, including the reason for the audit log. */
static bool build_fields(const Invocation *invocation, const ClusterRequest *request,
                         HttpCallOptions *options, Error *err)
{
    bool has_reason_option =
        option_find(invocation->command, invocation->verb, STR("reason")) != NULL;
    const char *reason = has_reason_option ? invocation_text(invocation, "reason") : NULL;
    HttpCallField *fields = ARENA_ARRAY(invocation->arena, HttpCallField, request->field_count + 1);
    for (uint32_t i = 0; i < request->field_count; i++) {
        fields[i] = request->fields[i];
    }
    options->fields = fields;
    options->field_count = request->field_count;
    if (reason != NULL && strcmp(request->method, "GET") != 0) {
        Str text = str_from_c(reason);
        if (text.len == 0 || text.len > AUDIT_REASON_MAX ||
            !http1_is_field(STR("Eden-Reason"), text)) {
            return error_set(err, ERROR_INVALID,
                             "--reason must be a single line of 1 to %d bytes without leading or "
                             "trailing spaces",
                             AUDIT_REASON_MAX);
        }
        fields[options->field_count++] = (HttpCallField){ "Eden-Reason", text };
    }
    return true;
}

/* The option that limits the wait for a response. */
static const char *timeout_option(const Invocation *invocation)
{
    const char *own = "response-timeout";
    return option_find(invocation->command, invocation->verb, str_from_c(own)) != NULL ? own
                                                                                       : "timeout";
}

bool cluster_exchange_at(const Invocation *invocation, const ClusterEndpoint *endpoint,
                         const ClusterRequest *request, const ClusterStreamHandler *handler,
                         ClusterResponse *out, Error *err)
{
    Arena *arena = invocation->arena;
    Exchange exchange = {
        .arena = arena, .response = out, .handler = handler, .invocation = invocation
    };
    HttpCallOptions options = {
        .method = request->method,
        .target = arena_copy_c(arena, request->target),
        .body = request->body,
        .response_max = request->response_max > 0 ? request->response_max : CLUSTER_RESPONSE_MAX,
        .timeout_ms = request->timeout_ms,
        .done = on_done,
        .context = &exchange,
    };
    bool sent;
    *out = (ClusterResponse){ 0 };
    if (request->body.len > 0) {
        options.content_type =
            request->content_type == NULL ? "application/json" : request->content_type;
    }
    if (handler != NULL) {
        options.response_max = UINT64_MAX;
        options.piece = on_chunk;
        options.idle_timeout_ms = handler->idle_timeout_ms;
    }
    const char *timeout = timeout_option(invocation);
    if (options.timeout_ms == 0 &&
        !duration_parse(str_from_c(invocation_text(invocation, timeout)), &options.timeout_ms)) {
        return error_set(err, ERROR_INVALID, "--%s must be a duration, such as '5s' or '1m'",
                         timeout);
    }
    if (!build_fields(invocation, request, &options, err)) {
        return false;
    }
    options.address = endpoint->socket;
    return endpoint->is_local ? send_to(&options, NULL, &exchange, &sent, err)
                              : send_remote(arena, endpoint, &options, &exchange, err);
}

bool cluster_exchange(const Invocation *invocation, const ClusterRequest *request,
                      const ClusterStreamHandler *handler, ClusterResponse *out, Error *err)
{
    ClusterEndpoint endpoint = { .is_local = true };
    if (request->socket != NULL) {
        Str path = arena_format(invocation->arena, "%s/%s", invocation_text(invocation, "run-dir"),
                                request->socket);
        if (!address_unix(path, &endpoint.socket, err)) {
            return false;
        }
    } else if (!cluster_endpoint_select(invocation, &endpoint, err)) {
        return false;
    }
    return cluster_exchange_at(invocation, &endpoint, request, handler, out, err);
}

bool cluster_send(const Invocation *invocation, const ClusterRequest *request, Value *response,
                  bool *responded, Error *err)
{
    ClusterResponse received;
    *response = value_null();
    *responded = cluster_exchange(invocation, request, NULL, &received, err);
    return *responded && cluster_response_read(invocation->arena, &received, response, err);
}

bool cluster_stream(const Invocation *invocation, const ClusterRequest *request,
                    const ClusterStreamHandler *handler, ClusterRefusal *refusal, Error *err)
{
    ClusterEndpoint endpoint;
    *refusal = (ClusterRefusal){ .response = value_null() };
    return cluster_endpoint_select(invocation, &endpoint, err) &&
           cluster_stream_at(invocation, &endpoint, request, handler, refusal, err);
}

bool cluster_stream_at(const Invocation *invocation, const ClusterEndpoint *endpoint,
                       const ClusterRequest *request, const ClusterStreamHandler *handler,
                       ClusterRefusal *refusal, Error *err)
{
    ClusterResponse received;
    *refusal = (ClusterRefusal){ .target = request->target, .response = value_null() };
    refusal->responded =
        cluster_exchange_at(invocation, endpoint, request, handler, &received, err);
    return refusal->responded &&
           (received.status < 300 ||
            cluster_response_read(invocation->arena, &received, &refusal->response, err));
}

/* --- Errors ---------------------------------------------------------------------------------- */

/* Returns "a, b", the servers of the cluster that this machine is a node of; empty if unknown. */
static Str configured_servers(const Invocation *invocation)
{
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    Arena *arena = invocation->arena;
    Str path = arena_format(arena, "%s/" AGENT_DIRECTORY, invocation_text(invocation, "state-dir"));
    NodeState state;
    Error err;
    if (!directory_open(path.data, &agent, &err) || !node_state_load(&agent, arena, &state, &err)) {
        return STR_EMPTY;
    }
    Buf names = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < state.server_count; i++) {
        Address address;
        if (address_parse(state.servers[i].rpc, 0, &address, &err)) {
            buf_put_format(&names, "%s%s", names.len > 0 ? ", " : "", address.host);
        }
    }
    return buf_str(&names);
}

/* Whether this machine is set up as a server. False if the user cannot read its state directory. */
static bool is_server(const Invocation *invocation)
{
    /* one of them may be missing on a damaged server */
    static const char *const files[] = { SERVER_SETTINGS_FILE, SERVER_CA };
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        Str path = arena_format(invocation->arena, "%s/" SERVER_DIRECTORY "/%s",
                                invocation_text(invocation, "state-dir"), files[i]);
        if (file_exists(path.data)) {
            return true;
        }
    }
    return false;
}

static void add_no_server(const Invocation *invocation, Problems *problems, const Error *err)
{
    Str servers = configured_servers(invocation);
    Problem *problem = problems_add(problems, "E0810", NULL, 0, 0,
                                    "no server is running on this machine: %s", err->text);
    problem->hint =
        is_server(invocation)
            ? STR("this machine is a server: start it with 'systemctl start eden' or 'eden agent'; "
                  "'eden doctor' explains why it is not running")
        : servers.len > 0
            ? arena_format(invocation->arena,
                           "use 'eden login' to reach the cluster from here, or run the command on "
                           "a server: %" STR_FMT,
                           STR_ARG(servers))
            : STR("use 'eden login' to reach a server elsewhere, 'eden serve' to start one, or "
                  "'eden init' to create a cluster; --run-dir selects the directory of its socket");
}

static void add_remote_failure(const Invocation *invocation, const ClusterEndpoint *endpoint,
                               Problems *problems, const Error *err)
{
    Arena *arena = invocation->arena;
    Str who = cluster_endpoint_text(arena, endpoint);
    bool is_untrusted = err->kind == ERROR_DENIED;
    Problem *problem =
        problems_add(problems, is_untrusted ? "E0814" : "E0810", NULL, 0, 0, "%" STR_FMT " %s: %s",
                     STR_ARG(who), is_untrusted ? "is not trusted" : "is unreachable", err->text);
    problem->hint = remote_hint(arena, &endpoint->context, false, err);
}

int cluster_fail(const Invocation *invocation, const char *code, const Error *err)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    problems_add(&inputs.problems, code, NULL, 0, 0, "%s", err->text);
    (void)inputs_report(&inputs, invocation);
    return error_kind_exit_code(err->kind);
}

/* Reports that no server could be selected. */
static int report_selection_error(const Invocation *invocation, const Error *err)
{
    if (err->kind == ERROR_NOT_FOUND || err->kind == ERROR_CONFLICT) {
        return usage_error(invocation, "%s", err->text);
    }
    return cluster_fail(invocation, "E0815", err);
}

/* Returns "nodes" of "/v1/nodes/web1?limit=1". */
static Str collection_of(Str target)
{
    Str rest = str_starts(target, STR("/v1/")) ? str_from_offset(target, 4) : STR_EMPTY;
    size_t end = 0;
    while (end < rest.len && rest.data[end] != '/' && rest.data[end] != '?') {
        end++;
    }
    return str_slice(rest, 0, end);
}

/* Adds "did you mean" with a similar name from the collection, if the user may list it. For nodes,
 * the server does this. */
static void suggest_name(const Invocation *invocation, Str target, Problem *problem)
{
    Arena *arena = invocation->arena;
    Str plural = collection_of(target), near, name;
    Str rest = str_from_offset(target, strlen("/v1/") + plural.len);
    if (plural.len == 0 || !str_starts(rest, STR("/")) || problem->hint.len == 0 ||
        str_eq_c(plural, "nodes") || str_eq_c(plural, "facts") || str_eq_c(plural, "store")) {
        return;
    }
    rest = str_from_offset(rest, 1);
    (void)str_split_next(&rest, '/', &name);
    name = str_slice(name, 0, str_find(name, STR("?"), 0));
    ClusterRequest request = { .method = "GET",
                               .target = arena_format(arena, "/v1/%" STR_FMT "?limit=%d",
                                                      STR_ARG(plural), SUGGESTED_NAMES_MAX) };
    Suggest suggest = suggest_make(name);
    Value list;
    bool responded;
    Error ignored;
    if (!cluster_send(invocation, &request, &list, &responded, &ignored)) {
        return;
    }
    const List *items = value_get_list(list, "items");
    for (uint32_t i = 0; i < items->len; i++) {
        suggest_offer(&suggest, value_get_text(value_get_map(items->items[i], "metadata"), "name"));
    }
    if (suggest_found(&suggest, &near)) {
        problem->hint = arena_format(arena, "did you mean '%" STR_FMT "'? %" STR_FMT, STR_ARG(near),
                                     STR_ARG(problem->hint));
    }
}

static void add_response_error(const Invocation *invocation, const ClusterEndpoint *endpoint,
                               Problems *problems, const ClusterRefusal *refusal, const Error *err)
{
    RefusedRequest request = { .plural = collection_of(refusal->target) };
    refusal_add(problems, &request, refusal->response, err);
    if (err->kind == ERROR_NOT_FOUND && problems->count > 0) {
        suggest_name(invocation, refusal->target, &problems->items[problems->count - 1]);
    }
    if (!endpoint->is_local) {
        bool is_server = refusal->response.kind == VALUE_MAP;
        problem_add_note(invocation->arena, &problems->items[problems->count - 1],
                         arena_format(invocation->arena, "reported by %" STR_FMT "%s",
                                      STR_ARG(cluster_endpoint_text(invocation->arena, endpoint)),
                                      is_server ? "" : " or by a proxy"),
                         STR_EMPTY, 0);
    }
}

/* Adds a problem for a failed request, unless it is a usage error. */
static int add_refusal(const Invocation *invocation, const ClusterEndpoint *endpoint,
                       const ClusterRefusal *refusal, const Error *err, Problems *problems)
{
    const char *who =
        endpoint->is_local ? "the server" : cluster_endpoint_text(invocation->arena, endpoint).data;
    if (refusal->responded) {
        add_response_error(invocation, endpoint, problems, refusal, err);
    } else if (err->kind == ERROR_TIMEOUT) {
        Problem *problem =
            problems_add(problems, "E0813", NULL, 0, 0, "%s did not respond: %s", who, err->text);
        problem->hint = arena_format(
            invocation->arena,
            "use '--%s 2m' to wait longer; 'eden doctor' and the server's log show whether it is "
            "stuck",
            timeout_option(invocation));
    } else if (err->kind == ERROR_LIMIT) {
        problems_add(problems, "E0812", NULL, 0, 0, "the response from %s is too large: %s", who,
                     err->text);
    } else if (!endpoint->is_local) {
        add_remote_failure(invocation, endpoint, problems, err);
    } else if (err->kind == ERROR_DENIED) {
        Problem *problem = problems_add(problems, "E0811", NULL, 0, 0, "%s", err->text);
        problem->hint = STR("only root and members of the server's group may use its socket; "
                            "everyone else needs 'eden login'");
    } else {
        add_no_server(invocation, problems, err);
    }
    return error_kind_exit_code(err->kind);
}

int cluster_report_refusal_at(const Invocation *invocation, const ClusterEndpoint *endpoint,
                              const ClusterRefusal *refusal, const Error *err)
{
    Inputs inputs;
    if (!refusal->responded && err->kind == ERROR_INVALID) {
        return usage_error(invocation, "%s", err->text);
    }
    inputs_init(&inputs, invocation->arena);
    int code = add_refusal(invocation, endpoint, refusal, err, &inputs.problems);
    (void)inputs_report(&inputs, invocation);
    return code;
}

int cluster_report_refusal(Invocation *invocation, const ClusterRefusal *refusal, const Error *err)
{
    ClusterEndpoint endpoint;
    Error why;
    return cluster_endpoint_select(invocation, &endpoint, &why)
               ? cluster_report_refusal_at(invocation, &endpoint, refusal, err)
               : report_selection_error(invocation, &why);
}

int cluster_add_refusal(const Invocation *invocation, const ClusterRefusal *refusal,
                        const Error *err, Problems *problems)
{
    ClusterEndpoint endpoint;
    Error why;
    if (cluster_endpoint_select(invocation, &endpoint, &why)) {
        return add_refusal(invocation, &endpoint, refusal, err, problems);
    }
    problems_add(problems, "E0815", NULL, 0, 0, "%s", why.text);
    return error_kind_exit_code(why.kind);
}

int cluster_report_error_at(const Invocation *invocation, const ClusterEndpoint *endpoint,
                            const Error *err, bool responded)
{
    ClusterRefusal refusal = { .responded = responded, .response = value_null() };
    return cluster_report_refusal_at(invocation, endpoint, &refusal, err);
}

int cluster_report_error(Invocation *invocation, const Error *err, bool responded)
{
    ClusterRefusal refusal = { .responded = responded, .response = value_null() };
    return cluster_report_refusal(invocation, &refusal, err);
}

int cluster_call(Invocation *invocation, const ClusterRequest *request, Value *response)
{
    bool responded;
    Error err;
    if (cluster_send(invocation, request, response, &responded, &err)) {
        return EXIT_OK;
    }
    ClusterRefusal refusal = { .responded = responded,
                               .target = request->target,
                               .response = *response };
    return cluster_report_refusal(invocation, &refusal, &err);
}

/* --- Requests -------------------------------------------------------------------------------- */

static void put_encoded(Buf *out, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (ascii_is_alpha((char)c) || ascii_is_digit((char)c) || memchr("-._~", c, 4) != NULL) {
            buf_put_char(out, (char)c);
        } else {
            buf_put_format(out, "%%%02X", c);
        }
    }
}

Str cluster_target_with(Arena *arena, const char *prefix, Str part, const char *suffix)
{
    Buf target = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_c(&target, prefix);
    put_encoded(&target, part);
    buf_put_c(&target, suffix);
    return buf_str(&target);
}

Str cluster_target(Arena *arena, const char *prefix, Str part)
{
    return cluster_target_with(arena, prefix, part, "");
}

Str cluster_body(Arena *arena, Value value)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    bool ok = json_print(&text, value, NULL, &err);
    BUG_IF(!ok);
    return buf_str(&text);
}
