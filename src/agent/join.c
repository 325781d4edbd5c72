/* The state machine of a join. Each step is written to disk before it takes effect, so that a
 * killed join continues where it was. */
#include "agent/join.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "base/sm.h"
#include "base/utc.h"
#include "lang/json.h"
#include "net/http_client.h"
#include "pki/credential.h"
#include "pki/join_reply.h"
#include "rpc/backoff.h"
#include "sys/file_lock.h"

#define LOCK_FILE "lock"

struct NodeJoin {
    NodeJoinOptions options;
    Sm sm;
    Token token;
    Directory agent, directory; /* the agent's directory; the directory of the join in progress */
    FileLock lock;
    Joining joining;
    Pin key;
    TlsContext *tls;
    HttpCall *call;
    char nonce[JOIN_NONCE_TEXT + 1];
    int64_t requested_ms; /* wall clock time of the request */
    LoopTimer timer;
    bool has_ca;               /* the pin in use: given, or shown by the server */
    uint32_t polls, failures;  /* consecutive polls and failures */
    NodeJoinState last_reason; /* last reason reported to `waits` */
    char why[JOIN_TEXT_MAX];
};

static const SmState states[] = {
    [NODE_JOIN_REQUESTING] = { "requesting", SM_TO(NODE_JOIN_PENDING) |
                                                 SM_TO(NODE_JOIN_UNREACHABLE) |
                                                 SM_TO(NODE_JOIN_DONE) },
    [NODE_JOIN_PENDING] = { "pending", SM_TO(NODE_JOIN_REQUESTING) },
    [NODE_JOIN_UNREACHABLE] = { "unreachable", SM_TO(NODE_JOIN_REQUESTING) },
    [NODE_JOIN_DONE] = { "done", 0 },
};
static const SmTable table = { "join", states, COUNT_OF(states), NULL };

/* --- Completion ------------------------------------------------------------------------------ */

static void finish(NodeJoin *join, const NodeState *state, const Error *err)
{
    sm_move(&join->sm, NODE_JOIN_DONE);
    join->options.done(join->options.context, state, err);
}

/* --- Waiting --------------------------------------------------------------------------------- */

/* The CA that is not verified yet. */
static const Pin *claim_of(const NodeJoin *join)
{
    const Joining *joining = &join->joining;
    return join->has_ca && joining->is_claim && !joining_is_trusted(&join->directory, &joining->ca)
               ? &joining->ca
               : NULL;
}

static void wait_as(NodeJoin *join, NodeJoinState state, const char *why, int64_t delay_ms)
{
    bool is_new = join->last_reason != state || strcmp(join->why, why) != 0;
    join->last_reason = state;
    snprintf(join->why, sizeof join->why, "%s", why);
    sm_move(&join->sm, state);
    loop_timer_start(&join->timer, delay_ms);
    if (is_new && join->options.waits != NULL) {
        join->options.waits(join->options.context, &(NodeJoinWait){ .state = state,
                                                                    .name = join->joining.name,
                                                                    .key = join->key,
                                                                    .claim = claim_of(join),
                                                                    .why = join->why });
    }
}

/* Polls soon at first, because an operator may be waiting to approve the machine, then less often;
 * with jitter, so that many machines started at the same time do not connect at the same time. */
static void wait_pending(NodeJoin *join, const char *why)
{
    int64_t delay = JOIN_POLL_MS;
    for (uint32_t i = 0; i < join->polls && delay < JOIN_POLL_MAX_MS; i++) {
        delay *= 2;
    }
    delay = delay > JOIN_POLL_MAX_MS ? JOIN_POLL_MAX_MS : delay;
    join->polls++;
    join->failures = 0;
    delay -= (int64_t)(loop_random(join->options.loop) % (uint64_t)(delay / 4 + 1));
    wait_as(join, NODE_JOIN_PENDING, why, delay);
}

static void wait_unreachable(NodeJoin *join, const char *why)
{
    join->failures++;
    wait_as(join, NODE_JOIN_UNREACHABLE, why,
            BACKOFF_FIRST_MS + backoff_ms(join->failures, loop_random(join->options.loop)));
}

/* --- Response -------------------------------------------------------------------------------- */

static JoinParams params_of(const NodeJoin *join)
{
    return (JoinParams){ .name = str_from_c(join->joining.name),
                         .ca = join->joining.ca,
                         .token = join->options.token,
                         .key = join->joining.key,
                         .now_ms = join->requested_ms };
}

static void make_state(Arena *arena, const NodeJoin *join, const JoinReply *reply,
                       const JoinAdmission *admission, NodeState *out)
{
    Address address = join->options.server;
    Buf api = buf_make_in(arena, BUF_UNLIMITED), rpc = buf_make_in(arena, BUF_UNLIMITED);
    NodeServer *server = ARENA_NEW(arena, NodeServer);
    address_format(&address, &api);
    address.port = reply->rpc_port;
    address_format(&address, &rpc);
    snprintf(server->node, sizeof server->node, "%s", reply->server);
    server->api = buf_str(&api);
    server->rpc = buf_str(&rpc);
    *out = (NodeState){ .servers = server, .server_count = 1 };
    snprintf(out->cluster, sizeof out->cluster, "%s", admission->identity.cluster);
    snprintf(out->node, sizeof out->node, "%s", admission->identity.node);
}

/* The file that makes the machine a node is written last; the files needed for a retry are removed
 * after it. */
static bool save_admission(NodeJoin *join, Arena *arena, const JoinAdmission *admission,
                           const NodeState *state, Error *err)
{
    if (!credential_save(&join->agent, AGENT_CREDENTIAL, join->joining.key, admission->chain,
                         err) ||
        !directory_write(&join->agent, AGENT_BUNDLE, certificates_pem(arena, admission->bundle),
                         true, err) ||
        !node_state_save(&join->agent, state, err)) {
        return false;
    }
    joining_drop(&join->directory);
    return true;
}

static void admitted(NodeJoin *join, Arena *arena, const JoinReply *reply)
{
    JoinParams params = params_of(join);
    JoinAdmission admission;
    NodeState state;
    Error err = { 0 };
    if (claim_of(join) != NULL) {
        error_set(&err, ERROR_DENIED,
                  "the server admitted this machine, but its CA is not trusted here; join with "
                  "--ca-pin, or remove '%s' on the server and approve it there with --ssh",
                  join->joining.name);
        finish(join, NULL, &err);
        return;
    }
    bool ok = join_reply_accept(arena, reply, &params, join->nonce, &admission, &err);
    if (ok) {
        make_state(arena, join, reply, &admission, &state);
        ok = save_admission(join, arena, &admission, &state, &err);
    }
    finish(join, ok ? &state : NULL, &err);
}

/* The handshake ignores the clock, so that a wrong clock is reported with both times. This check
 * replaces that of the handshake: the clocks agree, and the certificate is valid at this time. */
static bool check_time(const NodeJoin *join, Arena *arena, int64_t server_ms, Error *err)
{
    const TlsPeer *peer = &http_call_peer(join->call)->tls;
    int64_t server_s = server_ms / 1000;
    if (!join_clocks_check(server_ms, loop_wall_ms(join->options.loop), JOIN_SKEW_MS, err)) {
        return false;
    }
    return (peer->not_before_s <= server_s && server_s <= peer->not_after_s) ||
           error_set(err, ERROR_DENIED,
                     "the certificate of %s is valid from %" STR_FMT " to %" STR_FMT
                     ", but its clock shows %" STR_FMT,
                     join->joining.server, STR_ARG(utc_text(arena, peer->not_before_s * 1000)),
                     STR_ARG(utc_text(arena, peer->not_after_s * 1000)),
                     STR_ARG(utc_text(arena, server_ms)));
}

static void reply_received(NodeJoin *join, Arena *arena, Str body)
{
    JoinReply reply;
    Error err;
    if (!join_reply_read(arena, body, &reply, &err) ||
        !check_time(join, arena, reply.time_ms, &err)) {
        finish(join, NULL, &err);
    } else if (reply.result == JOIN_ADMITTED) {
        admitted(join, arena, &reply);
    } else if (reply.result == JOIN_PENDING) {
        wait_pending(join, reply.text);
    } else {
        error_set(&err, ERROR_DENIED, "the server rejected this machine: %s", reply.text);
        finish(join, NULL, &err);
    }
}

/* The error response of the API if it is not a join reply: {"detail":...}. */
static Str error_message(Arena *arena, int status, Str body)
{
    Value value;
    Error err;
    const Value *message = NULL;
    if (json_parse_text(arena, body, NULL, &value, &err) && value.kind == VALUE_MAP) {
        message = value_get(value, STR("detail"));
    }
    return message != NULL && value_is_string(*message)
               ? value_str(*message)
               : arena_format(arena, "HTTP status %d", status);
}

static void response_received(NodeJoin *join, Arena *arena, const HttpResponse *response)
{
    int status = response->head->status;
    if (status == 200 || status == 202 || status == 403) {
        reply_received(join, arena, response->body);
        return;
    }
    Str message = error_message(arena, status, response->body);
    Error err;
    error_set(&err, ERROR_INVALID, "the server did not accept the request: %" STR_FMT,
              STR_ARG(message));
    if (status >= 500 || status == 429) {
        wait_unreachable(join, err.text);
    } else {
        finish(join, NULL, &err);
    }
}

static void server_not_verified(NodeJoin *join, const Error *why)
{
    Error err;
    error_set(&err, ERROR_DENIED,
              "cannot verify %s under that name with the pinned CA: %s; 'eden tokens create' on "
              "the server prints the current name, port and pin",
              join->joining.server, why->text);
    finish(join, NULL, &err);
}

static void ca_presented(NodeJoin *join);

static void call_done(void *context, const HttpResponse *response, const Error *err)
{
    NodeJoin *join = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    if (response != NULL && !join->has_ca) {
        ca_presented(join);
    } else if (response != NULL) {
        response_received(join, &arena, response);
    } else if (err->kind == ERROR_DENIED) {
        server_not_verified(join, err);
    } else {
        wait_unreachable(join, err->text);
    }
}

/* --- Request --------------------------------------------------------------------------------- */

static void start_call(NodeJoin *join, const char *method, const char *target, Str body)
{
    http_call_free(TAKE(join->call));
    join->call =
        http_call_new(&(HttpCallOptions){ .loop = join->options.loop,
                                          .address = join->options.server,
                                          .tls = join->tls,
                                          .tls_host = join->options.server.host,
                                          .method = method,
                                          .target = target,
                                          .content_type = body.len > 0 ? "application/json" : NULL,
                                          .body = body,
                                          .response_max = JOIN_REPLY_MAX,
                                          .timeout_ms = JOIN_REQUEST_MS,
                                          .done = call_done,
                                          .context = join });
}

static void send_request(NodeJoin *join)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str message;
    Error err;
    join->requested_ms = loop_wall_ms(join->options.loop);
    JoinParams params = params_of(join);
    if (!join_request_make(&arena, &params, &message, join->nonce, &err)) {
        finish(join, NULL, &err);
        return;
    }
    start_call(join, "POST", "/v1/join", message);
}

/* Any response contains the CA; from now on this machine uses that one. */
static void ca_presented(NodeJoin *join)
{
    char text[TLS_PIN_TEXT + 1];
    Error err = { 0 };
    if (!tls_context_accepted_ca(join->tls, text)) {
        error_set(&err, ERROR_DENIED, "%s did not present its CA", join->joining.server);
    } else if (pin_parse(str_from_c(text), &join->joining.ca, &err) &&
               joining_save(&join->directory, &join->joining, &err)) {
        join->has_ca = true;
        send_request(join);
        return;
    }
    finish(join, NULL, &err);
}

/* The next step. With an unverified CA the machine sends one request and then only
 * checks locally: its next request is admitted, so the CA must be verified by then. */
static void next_step(void *context)
{
    NodeJoin *join = context;
    if (join->sm.state == NODE_JOIN_PENDING && claim_of(join) != NULL) {
        loop_timer_start(&join->timer, JOIN_POLL_MS);
        return;
    }
    if (join->sm.state != NODE_JOIN_REQUESTING) {
        sm_move(&join->sm, NODE_JOIN_REQUESTING);
    }
    if (join->has_ca) {
        send_request(join);
    } else {
        start_call(join, "GET", "/v1/health", STR_EMPTY);
    }
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static bool open_directories(NodeJoin *join, Error *err)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str holder;
    if (!directory_make(join->options.state_dir, &state, err) ||
        !directory_make_child(&state, AGENT_DIRECTORY, &join->agent, err) ||
        !directory_make_child(&join->agent, AGENT_JOINING, &join->directory, err)) {
        return false;
    }
    if (!file_lock_take(&join->directory, LOCK_FILE, STR("eden join"), &arena, &join->lock, &holder,
                        err)) {
        return err->kind == ERROR_CONFLICT
                   ? error_set(err, ERROR_CONFLICT,
                               "another 'eden join' is already running on this machine")
                   : false;
    }
    return true;
}

static bool refuse_second(const NodeJoin *join, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    NodeState previous;
    if (node_state_load(&join->agent, &arena, &previous, err)) {
        return error_set(err, ERROR_CONFLICT,
                         "this machine is already node '%s' of cluster '%s'; 'eden leave' removes "
                         "it from the cluster",
                         previous.node, previous.cluster);
    }
    return err->kind == ERROR_NOT_FOUND;
}

/* The key of an unfinished join with the same parameters, or a new one. */
static bool prepare_key(NodeJoin *join, Error *err)
{
    const NodeJoinOptions *options = &join->options;
    Joining *joining = &join->joining;
    AUTO_CLEAR(Buf) server = buf_make(JOINING_SERVER_MAX);
    address_format(&options->server, &server);
    P256Public public;
    Error why;
    bool should_continue =
        joining_load(&join->directory, joining, &why) && str_eq_c(options->name, joining->name) &&
        str_eq_c(buf_str(&server), joining->server) &&
        (options->ca_is_unknown ? joining->is_claim : pin_equal(&options->ca, &joining->ca));
    join->has_ca = should_continue || !options->ca_is_unknown;
    if (should_continue && joining->is_claim && !options->ca_is_unknown) {
        joining->is_claim = false; /* the caller has been notified */
        if (!joining_save(&join->directory, joining, err)) {
            return false;
        }
    }
    if (!should_continue) {
        joining_clear(joining);
        joining_drop(&join->directory);
        *joining = (Joining){ .ca = options->ca, .is_claim = options->ca_is_unknown };
        snprintf(joining->name, sizeof joining->name, "%" STR_FMT, STR_ARG(options->name));
        snprintf(joining->server, sizeof joining->server, "%" STR_FMT, STR_ARG(buf_str(&server)));
        if (!p256_private_make(&joining->key, err) ||
            (join->has_ca && !joining_save(&join->directory, joining, err))) {
            return false;
        }
    }
    if (!p256_public_of(joining->key, &public, err)) {
        return false;
    }
    p256_public_pin(&public, &join->key);
    return true;
}

static bool prepare_tls(NodeJoin *join, Error *err)
{
    char pin[PIN_TEXT + 1];
    pin_text(&join->joining.ca, pin);
    TlsMaterial material = { .ca_pin = join->has_ca ? str_from_c(pin) : STR_EMPTY,
                             .ca_on_first_use = !join->has_ca };
    return tls_context_new(
        join->options.loop,
        &(TlsOptions){ .role = TLS_CLIENT, .protocol = "http/1.1", .ignore_validity = true },
        &material, &join->tls, err);
}

bool node_join_new(const NodeJoinOptions *options, NodeJoin **out, Error *err)
{
    BUG_IF(options->ca_is_unknown && options->token != NULL);
    if (!node_name_check(options->name, err)) {
        return false;
    }
    NodeJoin *join = memory_new(sizeof *join);
    join->options = *options;
    join->agent.descriptor = join->directory.descriptor = join->lock.descriptor = -1;
    join->last_reason = NODE_JOIN_REQUESTING;
    if (options->token != NULL) {
        join->token = *options->token;
        join->options.token = &join->token;
    }
    sm_init(&join->sm, &table, join, "join", NODE_JOIN_REQUESTING);
    loop_timer_init(&join->timer, options->loop, next_step, join);
    if (!open_directories(join, err) || !refuse_second(join, err) || !prepare_key(join, err) ||
        !prepare_tls(join, err)) {
        node_join_free(join);
        return false;
    }
    loop_timer_start(&join->timer, 0);
    *out = join;
    return true;
}

void node_join_free(NodeJoin *join)
{
    if (join == NULL) {
        return;
    }
    loop_timer_stop(&join->timer);
    http_call_free(join->call);
    tls_context_free(join->tls);
    joining_clear(&join->joining);
    token_clear(&join->token);
    file_lock_release(&join->lock);
    directory_close(&join->directory);
    directory_close(&join->agent);
    free(join);
}
