#include "cli/cluster_client.h"

#include "audit/audit_entry.h"
#include "base/bug.h"
#include "base/visible.h"
#include "cli/far_hint.h"
#include "cli/refusal.h"
#include "lang/duration.h"
#include "lang/json.h"
#include "membership/node_state.h"
#include "net/http_client.h"
#include "server/create_cluster.h"
#include "sys/clock.h"
#include "sys/file.h"

enum {
    LINE_SHOWN_MAX = 200 /* bytes shown of a foreign response */
};

/* --- Sending --------------------------------------------------------------------------------- */

typedef struct Waiting {
    Loop *loop;
    Arena *arena;
    bool answered, told_head;
    ClusterAnswer *answer;
    Error err;
    const ClusterPieces *pieces; /* NULL: the body is buffered */
    const Invocation *invocation;
    bool enough;
} Waiting;

/* Warns once per command that data may be stale. Error responses carry their own reason. */
static void tell_stale(const Waiting *waiting, const Http1Head *head)
{
    const Invocation *invocation = waiting->invocation;
    const Str *since = http1_find(head, "Eden-Stale-Since");
    if (since == NULL || head->status >= 300 || invocation->told_stale == NULL ||
        *invocation->told_stale) {
        return;
    }
    Buf shown = buf_make_in(waiting->arena, BUF_UNLIMITED);
    visible_put(&shown, *since);
    *invocation->told_stale = true;
    stream_put_format(invocation->err,
                      "warning: the server's store is unavailable; data may be out of date since "
                      "%" STR_FMT "\n",
                      STR_ARG(buf_str(&shown)));
}

static void tell_head(Waiting *waiting, const Http1Head *head)
{
    bool is_first = !waiting->told_head;
    waiting->told_head = true;
    if (is_first) {
        tell_stale(waiting, head);
    }
    if (is_first && waiting->pieces != NULL && waiting->pieces->head != NULL) {
        waiting->pieces->head(waiting->pieces->context, head);
    }
}

static void done(void *context, const HttpResponse *answer, const Error *err)
{
    Waiting *waiting = context;
    waiting->answered = answer != NULL;
    if (answer != NULL) {
        tell_head(waiting, answer->head);
        waiting->answer->status = answer->head->status;
        waiting->answer->body = arena_copy(waiting->arena, answer->body);
    } else {
        waiting->err = *err;
    }
    loop_stop(waiting->loop);
}

static void piece(void *context, const Http1Head *head, Str bytes)
{
    Waiting *waiting = context;
    tell_head(waiting, head);
    waiting->answer->status = head->status;
    if (!waiting->enough && !waiting->pieces->piece(waiting->pieces->context, bytes)) {
        waiting->enough = true;
        loop_stop(waiting->loop);
    }
}

ErrorKind cluster_status_kind(int status)
{
    return status < 300 ? ERROR_NONE : refusal_row_of_status(status)->kind;
}

/* Tells an error of an eden server, which is JSON with a title, from the error page of a proxy. */
static bool has_reason(Value answer)
{
    return value_get_text(answer, "detail").len > 0;
}

ErrorKind cluster_answer_kind(Arena *arena, const ClusterAnswer *got)
{
    Value answer;
    Error ignored;
    ErrorKind kind = cluster_status_kind(got->status);
    if (got->status < 300 ||
        (json_parse_text(arena, got->body, NULL, &answer, &ignored) && has_reason(answer))) {
        return kind;
    }
    /* A gateway error means that the server is unreachable; any other status is the proxy's own. */
    return got->status == 502                                   ? ERROR_UNAVAILABLE
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
    bool is_cut = line.len > LINE_SHOWN_MAX;
    line = is_cut ? str_slice(line, 0, LINE_SHOWN_MAX) : line;
    if (line.len > 0) {
        buf_put_c(&shown, ": ");
        visible_put(&shown, line);
        buf_put_c(&shown, is_cut ? "..." : "");
    }
    return buf_str(&shown);
}

bool cluster_answer_read(Arena *arena, const ClusterAnswer *got, Value *out, Error *err)
{
    bool is_json = json_parse_text(arena, got->body, NULL, out, err);
    Str said = first_line(arena, got->body);
    if (got->status < 300) {
        return (is_json && out->kind == VALUE_MAP) ||
               error_set(err, ERROR_OS, "the server's response is not a JSON object%" STR_FMT,
                         STR_ARG(said));
    }
    ErrorKind kind = cluster_answer_kind(arena, got);
    if (is_json && has_reason(*out)) {
        return error_set(err, kind, "%" STR_FMT, STR_ARG(value_get_text(*out, "detail")));
    }
    *out = value_null();
    return error_set(err, kind,
                     "the response is not from an eden server but from something in between, with "
                     "status %d%" STR_FMT,
                     got->status, STR_ARG(said));
}

/* Sends the request to one server, over TLS if `material` is set. Sets `*sent` if the server may
 * have received part of it. */
static bool ask_one(HttpCallOptions *options, const TlsMaterial *material, Waiting *waiting,
                    bool *sent, Error *err)
{
    AUTO(Loop) *loop = loop_new();
    AUTO(TlsContext) *tls = NULL;
    *sent = false;
    if (material != NULL &&
        !tls_context_new(loop, &(TlsOptions){ .role = TLS_CLIENT, .protocol = "http/1.1" },
                         material, &tls, err)) {
        err->kind = ERROR_OS;
        return error_wrap(err, "credentials of the context");
    }
    waiting->loop = options->loop = loop;
    options->tls = tls;
    options->tls_host = tls == NULL ? NULL : options->address.host;
    HttpCall *call = http_call_new(options);
    loop_run(loop);
    *sent = http_call_is_sent(call);
    http_call_free(call);
    *err = waiting->err;
    /* Neither a malformed response nor an unresolvable name is an error of the command line. */
    if (err->kind == ERROR_INVALID || err->kind == ERROR_NOT_FOUND) {
        err->kind = ERROR_UNAVAILABLE;
    }
    return waiting->answered || waiting->enough;
}

/* Tries the servers of a context in order. Moves on to the next one only if this one cannot have
 * received the request, or if the request is safe to repeat. */
static bool ask_far(Arena *arena, const ClusterEnd *end, HttpCallOptions *options, Waiting *waiting,
                    Error *err)
{
    const ContextMaterial *has = &end->has;
    int64_t until_us = clock_monotonic_us() + options->timeout_ms * 1000;
    HttpCallField *fields = ARENA_ARRAY(arena, HttpCallField, options->field_count + 1);
    for (uint32_t i = 0; i < options->field_count; i++) {
        fields[i] = options->fields[i];
    }
    options->fields = fields;
    if (has->token.len > 0) {
        Str value = arena_format(arena, "Bearer %" STR_FMT, STR_ARG(has->token));
        fields[options->field_count++] = (HttpCallField){ "Authorization", value };
    }
    TlsMaterial material = { .ca = has->ca, .certificate = has->certificate, .key = has->key };
    for (uint32_t i = 0; i < end->context.server_count; i++) {
        bool sent;
        int64_t left_ms = (until_us - clock_monotonic_us()) / 1000;
        options->timeout_ms = left_ms > 0 ? left_ms : 1;
        if (!context_server_parse(end->context.servers[i], &options->address, err)) {
            return false;
        }
        if (ask_one(options, &material, waiting, &sent, err)) {
            return true;
        }
        if (waiting->told_head || (sent && strcmp(options->method, "GET") != 0)) {
            break;
        }
    }
    return false;
}

/* Builds the request headers, including the reason for the audit log. */
static bool make_fields(const Invocation *invocation, const ClusterRequest *request,
                        HttpCallOptions *options, Error *err)
{
    bool can_say = option_find(invocation->command, invocation->verb, STR("reason")) != NULL;
    const char *reason = can_say ? invocation_text(invocation, "reason") : NULL;
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

bool cluster_exchange_at(const Invocation *invocation, const ClusterEnd *end,
                         const ClusterRequest *request, const ClusterPieces *pieces,
                         ClusterAnswer *out, Error *err)
{
    Arena *arena = invocation->arena;
    Waiting waiting = { .arena = arena, .answer = out, .pieces = pieces, .invocation = invocation };
    HttpCallOptions options = {
        .method = request->method,
        .target = arena_copy_c(arena, request->target),
        .body = request->body,
        .answer_max = request->answer_max > 0 ? request->answer_max : CLUSTER_ANSWER_MAX,
        .timeout_ms = request->timeout_ms,
        .done = done,
        .context = &waiting,
    };
    bool sent;
    *out = (ClusterAnswer){ 0 };
    if (request->body.len > 0) {
        options.content_type =
            request->content_type == NULL ? "application/json" : request->content_type;
    }
    if (pieces != NULL) {
        options.answer_max = UINT64_MAX;
        options.piece = piece;
        options.idle_timeout_ms = pieces->idle_timeout_ms;
    }
    if (options.timeout_ms == 0 &&
        !duration_parse(str_from_c(invocation_text(invocation, "timeout")), &options.timeout_ms)) {
        return error_set(err, ERROR_INVALID, "--timeout must be a duration, such as '5s' or '1m'");
    }
    if (!make_fields(invocation, request, &options, err)) {
        return false;
    }
    options.address = end->socket;
    return end->is_local ? ask_one(&options, NULL, &waiting, &sent, err)
                         : ask_far(arena, end, &options, &waiting, err);
}

bool cluster_exchange(const Invocation *invocation, const ClusterRequest *request,
                      const ClusterPieces *pieces, ClusterAnswer *out, Error *err)
{
    ClusterEnd end = { .is_local = true };
    if (request->socket != NULL) {
        Str path = arena_format(invocation->arena, "%s/%s", invocation_text(invocation, "run-dir"),
                                request->socket);
        if (!address_unix(path, &end.socket, err)) {
            return false;
        }
    } else if (!cluster_end_choose(invocation, &end, err)) {
        return false;
    }
    return cluster_exchange_at(invocation, &end, request, pieces, out, err);
}

bool cluster_ask(const Invocation *invocation, const ClusterRequest *request, Value *answer,
                 bool *asked, Error *err)
{
    ClusterAnswer got;
    *answer = value_null();
    *asked = cluster_exchange(invocation, request, NULL, &got, err);
    return *asked && cluster_answer_read(invocation->arena, &got, answer, err);
}

bool cluster_stream(const Invocation *invocation, const ClusterRequest *request,
                    const ClusterPieces *pieces, ClusterRefusal *refusal, Error *err)
{
    ClusterEnd end;
    *refusal = (ClusterRefusal){ .answer = value_null() };
    return cluster_end_choose(invocation, &end, err) &&
           cluster_stream_at(invocation, &end, request, pieces, refusal, err);
}

bool cluster_stream_at(const Invocation *invocation, const ClusterEnd *end,
                       const ClusterRequest *request, const ClusterPieces *pieces,
                       ClusterRefusal *refusal, Error *err)
{
    ClusterAnswer got;
    *refusal = (ClusterRefusal){ .target = request->target, .answer = value_null() };
    refusal->asked = cluster_exchange_at(invocation, end, request, pieces, &got, err);
    return refusal->asked && (got.status < 300 ||
                              cluster_answer_read(invocation->arena, &got, &refusal->answer, err));
}

/* --- Errors ---------------------------------------------------------------------------------- */

/* Returns "a, b", the servers of the cluster that this machine is a node of; empty if unknown. */
static Str known_servers(const Invocation *invocation)
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
    /* either may be missing on a damaged server */
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

static void tell_no_server(const Invocation *invocation, Problems *problems, const Error *err)
{
    Str servers = known_servers(invocation);
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

static void tell_far(const Invocation *invocation, const ClusterEnd *end, Problems *problems,
                     const Error *err)
{
    Arena *arena = invocation->arena;
    Str who = cluster_end_text(arena, end);
    bool is_distrust = err->kind == ERROR_DENIED;
    Problem *problem =
        problems_add(problems, is_distrust ? "E0814" : "E0810", NULL, 0, 0, "%" STR_FMT " %s: %s",
                     STR_ARG(who), is_distrust ? "is not trusted" : "is unreachable", err->text);
    problem->hint = far_hint(arena, &end->context, false, err);
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
static int tell_choice(const Invocation *invocation, const Error *err)
{
    if (err->kind == ERROR_NOT_FOUND || err->kind == ERROR_CONFLICT) {
        return usage_error(invocation, "%s", err->text);
    }
    return cluster_fail(invocation, "E0815", err);
}

/* Returns "nodes" of "/v1/nodes/web1?limit=1". */
static Str plural_of(Str target)
{
    Str rest = str_starts(target, STR("/v1/")) ? str_from_offset(target, 4) : STR_EMPTY;
    size_t end = 0;
    while (end < rest.len && rest.data[end] != '/' && rest.data[end] != '?') {
        end++;
    }
    return str_slice(rest, 0, end);
}

static void tell_refusal(const Invocation *invocation, const ClusterEnd *end, Problems *problems,
                         const ClusterRefusal *refusal, const Error *err)
{
    RefusedRequest request = { .plural = plural_of(refusal->target) };
    refusal_add(problems, &request, refusal->answer, err);
    if (!end->is_local) {
        bool is_server = refusal->answer.kind == VALUE_MAP;
        problem_add_note(invocation->arena, &problems->items[problems->count - 1],
                         arena_format(invocation->arena, "reported by %" STR_FMT "%s",
                                      STR_ARG(cluster_end_text(invocation->arena, end)),
                                      is_server ? "" : " or by something in between"),
                         STR_EMPTY, 0);
    }
}

/* Adds a problem for a failed request, except for usage errors. */
static int add_refusal(const Invocation *invocation, const ClusterEnd *end,
                       const ClusterRefusal *refusal, const Error *err, Problems *problems)
{
    const char *who = end->is_local ? "the server" : cluster_end_text(invocation->arena, end).data;
    if (refusal->asked) {
        tell_refusal(invocation, end, problems, refusal, err);
    } else if (err->kind == ERROR_TIMEOUT) {
        Problem *problem =
            problems_add(problems, "E0813", NULL, 0, 0, "%s did not respond: %s", who, err->text);
        problem->hint = STR("'--timeout 2m' waits longer; 'eden doctor' and the server's log show "
                            "whether it is stuck");
    } else if (err->kind == ERROR_LIMIT) {
        problems_add(problems, "E0812", NULL, 0, 0, "the response of %s is too large: %s", who,
                     err->text);
    } else if (!end->is_local) {
        tell_far(invocation, end, problems, err);
    } else if (err->kind == ERROR_DENIED) {
        Problem *problem = problems_add(problems, "E0811", NULL, 0, 0, "%s", err->text);
        problem->hint = STR("only root and members of the server's group may use its socket; "
                            "everyone else needs 'eden login'");
    } else {
        tell_no_server(invocation, problems, err);
    }
    return error_kind_exit_code(err->kind);
}

int cluster_tell_refusal_at(const Invocation *invocation, const ClusterEnd *end,
                            const ClusterRefusal *refusal, const Error *err)
{
    Inputs inputs;
    if (!refusal->asked && err->kind == ERROR_INVALID) {
        return usage_error(invocation, "%s", err->text);
    }
    inputs_init(&inputs, invocation->arena);
    int code = add_refusal(invocation, end, refusal, err, &inputs.problems);
    (void)inputs_report(&inputs, invocation);
    return code;
}

int cluster_tell_refusal(Invocation *invocation, const ClusterRefusal *refusal, const Error *err)
{
    ClusterEnd end;
    Error why;
    return cluster_end_choose(invocation, &end, &why)
               ? cluster_tell_refusal_at(invocation, &end, refusal, err)
               : tell_choice(invocation, &why);
}

int cluster_add_refusal(const Invocation *invocation, const ClusterRefusal *refusal,
                        const Error *err, Problems *problems)
{
    ClusterEnd end;
    Error why;
    if (cluster_end_choose(invocation, &end, &why)) {
        return add_refusal(invocation, &end, refusal, err, problems);
    }
    problems_add(problems, "E0815", NULL, 0, 0, "%s", why.text);
    return error_kind_exit_code(why.kind);
}

int cluster_tell_at(const Invocation *invocation, const ClusterEnd *end, const Error *err,
                    bool asked)
{
    ClusterRefusal nothing_more = { .asked = asked, .answer = value_null() };
    return cluster_tell_refusal_at(invocation, end, &nothing_more, err);
}

int cluster_tell(Invocation *invocation, const Error *err, bool asked)
{
    ClusterRefusal nothing_more = { .asked = asked, .answer = value_null() };
    return cluster_tell_refusal(invocation, &nothing_more, err);
}

int cluster_call(Invocation *invocation, const ClusterRequest *request, Value *answer)
{
    bool asked;
    Error err;
    if (cluster_ask(invocation, request, answer, &asked, &err)) {
        return EXIT_OK;
    }
    ClusterRefusal refusal = { .asked = asked, .target = request->target, .answer = *answer };
    return cluster_tell_refusal(invocation, &refusal, &err);
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

Str cluster_target_with(Arena *arena, const char *before, Str part, const char *behind)
{
    Buf target = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_c(&target, before);
    put_encoded(&target, part);
    buf_put_c(&target, behind);
    return buf_str(&target);
}

Str cluster_target(Arena *arena, const char *before, Str part)
{
    return cluster_target_with(arena, before, part, "");
}

Str cluster_body(Arena *arena, Value value)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    bool ok = json_print(&text, value, NULL, &err);
    BUG_IF(!ok);
    return buf_str(&text);
}
