/* The server side of gRPC: admits calls and tracks connections. The shared part of a call is in
 * grpc_call.c.
 *
 * A call is checked in the order of grpc_server.h, and a rejected one never reaches a handler.
 * Connections are counted per node; beyond the limit the oldest connection of that node is closed,
 * because it is most likely left over from a network failure. */
#include "net/grpc_server.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/str_map.h"
#include "net/grpc_inner.h"
#include "net/origin_counts.h"

enum {
    LISTENERS_MAX = 8
};

struct GrpcServer {
    GrpcServerOptions options;
    Arena arena; /* initial capacity of the arena that holds the map */
    StrMap methods;
    Listener *listeners[LISTENERS_MAX];
    uint32_t listener_count;
    GrpcSession *first; /* the newest session */
    OriginCounts nodes; /* connections per node */
    GrpcMemory memory;
    GrpcServerCounts counts;
    LoopTimer stop_timer;
    LoopTask stopped;
    LoopRun *done;
    void *done_context;
    bool stopping, is_stopped;
};

GrpcServerOptions grpc_server_defaults(void)
{
    return (GrpcServerOptions){
        .http2 = http2_defaults(),
        .queue_max = 64 << 10,
        .connection_max = 8 << 20,
        .memory_max = 256 << 20,
        .request_timeout_ms = 30000,
    };
}

/* --- Calls ----------------------------------------------------------------------------------- */

static void refuse(GrpcCall *call, GrpcStatus status, const char *text)
{
    GrpcServer *server = call->session->owner;
    server->counts.refused++;
    grpc_call_finish(call, status, str_from_c(text));
    grpc_call_report_end(call, status, STR_EMPTY);
}

/* Not gRPC at all: respond as any HTTP server would. */
static void refuse_http(GrpcCall *call, Str status)
{
    Http2Header header = { STR(":status"), status };
    GrpcServer *server = call->session->owner;
    server->counts.refused++;
    call->answered = call->finished = true;
    http2_respond(&call->stream, &header, 1, true);
    grpc_call_report_end(call, GRPC_INVALID_ARGUMENT, STR_EMPTY);
}

static bool is_grpc(Str content_type)
{
    Str prefix = STR("application/grpc");
    if (!str_starts(content_type, prefix)) {
        return false;
    }
    return content_type.len == prefix.len || content_type.data[prefix.len] == '+' ||
           content_type.data[prefix.len] == ';';
}

static bool authorize(GrpcCall *call, const GrpcMethod *method)
{
    GrpcServer *server = call->session->owner;
    const Peer *peer = grpc_call_peer(call);
    Error err = { 0 };
    if (server->options.authorize == NULL ||
        server->options.authorize(server->options.context, peer, method, &err)) {
        return true;
    }
    bool is_known = peer->is_local || peer->tls.has_identity;
    refuse(call,
           err.kind == ERROR_DENIED && !is_known ? GRPC_UNAUTHENTICATED
                                                 : grpc_status_from_error(err.kind),
           err.text);
    return false;
}

static void start_call(GrpcCall *call, const Http2Headers *headers)
{
    GrpcServer *server = call->session->owner;
    int64_t now = loop_now_ms(server->options.loop), timeout_ms;
    Str timeout = http2_headers_find(headers, "grpc-timeout");
    Str encoding = http2_headers_find(headers, "grpc-encoding");
    if (headers->too_large) {
        refuse(call, GRPC_RESOURCE_EXHAUSTED, "too many header fields");
        return;
    }
    if (!str_eq(http2_headers_find(headers, ":method"), STR("POST"))) {
        refuse_http(call, STR("405"));
        return;
    }
    if (!is_grpc(http2_headers_find(headers, "content-type"))) {
        refuse_http(call, STR("415"));
        return;
    }
    const GrpcMethod *method = str_map_find(&server->methods, http2_headers_find(headers, ":path"));
    if (!authorize(call, method)) {
        return;
    }
    if (method == NULL) {
        refuse(call, GRPC_UNIMPLEMENTED, "unknown method");
        return;
    }
    if (encoding.len > 0 && !str_eq(encoding, STR("identity"))) {
        refuse(call, GRPC_UNIMPLEMENTED, "compressed messages are not supported");
        return;
    }
    if (timeout.len > 0) {
        if (!grpc_timeout_parse(timeout, &timeout_ms)) {
            refuse(call, GRPC_INVALID_ARGUMENT, "invalid grpc-timeout header");
            return;
        }
        call->deadline_ms = now + timeout_ms;
    }
    if (method->kind == GRPC_UNARY || method->kind == GRPC_SERVER_STREAM) {
        call->arrive_ms = now + server->options.request_timeout_ms;
    }
    server->counts.calls++;
    call->method = method;
    call->kind = method->kind;
    call->handler = method->handler;
    grpc_call_start_decoder(call, method->request_max);
    grpc_call_arm_timer(call);
    if (call->handler->started != NULL) {
        call->headers = headers;
        call->handler->started(call);
        call->headers = NULL;
    }
}

static void on_headers(GrpcCall *call, const Http2Headers *headers)
{
    /* A second header block would be trailers, which gRPC requests do not have. */
    if (call->method == NULL) {
        start_call(call, headers);
    }
}

static void peer_ended(GrpcCall *call)
{
    if (call->messages == 0 && (call->kind == GRPC_UNARY || call->kind == GRPC_SERVER_STREAM)) {
        grpc_call_break(call, GRPC_INVALID_ARGUMENT, "missing request message");
    } else if (call->handler->half_closed != NULL) {
        call->handler->half_closed(call);
    }
}

static void closed(GrpcCall *call, uint32_t code)
{
    if (call->finished && code == HTTP2_NO_ERROR) {
        grpc_call_report_end(call, call->status, STR_EMPTY);
    } else {
        const char *reason = http2_end_reason(call->session->http2);
        grpc_call_report_end(call, GRPC_CANCELLED,
                             str_from_c(reason == NULL ? "canceled by the client" : reason));
    }
}

void *grpc_call_context(const GrpcCall *call)
{
    const GrpcServer *server = call->session->owner;
    return server == NULL ? NULL : server->options.context;
}

/* --- Connections ----------------------------------------------------------------------------- */

static void remove_session(GrpcServer *server, GrpcSession *session)
{
    *(session->previous == NULL ? &server->first : &session->previous->next) = session->next;
    if (session->next != NULL) {
        session->next->previous = session->previous;
    }
    server->counts.connections--;
    bool is_counted = session->nodes != NULL;
    uint64_t node = session->node;
    grpc_session_free(session);
    if (is_counted) {
        origin_counts_remove(&server->nodes, node);
    }
    if (server->stopping && server->first == NULL) {
        loop_defer(server->options.loop, &server->stopped);
    }
}

static void ready(GrpcSession *session)
{
}

static void session_closed(GrpcSession *session, const Error *why)
{
    log_debug("connection closed", LOG_C("reason", why->text));
    remove_session(session->owner, session);
}

static const GrpcSide side = {
    .headers = on_headers,
    .peer_ended = peer_ended,
    .closed = closed,
    .ready = ready,
    .session_closed = session_closed,
};

/* Limits one node, or anyone who obtained its key, so that it cannot use up the connections of the
 * others. */
static void count_node(GrpcServer *server, GrpcSession *session)
{
    const Peer *peer = connection_peer(http2_connection(session->http2));
    if (server->options.per_node_max == 0 || !peer->tls.has_identity) {
        return;
    }
    GrpcSession *oldest = NULL;
    session->node = hash_str(str_from_c(peer->tls.identity.node));
    if (origin_counts_get(&server->nodes, session->node) >= server->options.per_node_max) {
        for (GrpcSession *other = server->first; other != NULL; other = other->next) {
            oldest = other->nodes != NULL && other->node == session->node ? other : oldest;
        }
    }
    session->nodes = &server->nodes;
    origin_counts_add(&server->nodes, session->node);
    if (oldest != NULL) {
        log_debug("node has too many connections; closing the oldest",
                  LOG_C("node", peer->tls.identity.node));
        remove_session(server, oldest);
    }
}

void grpc_server_adopt(GrpcServer *server, Connection *connection)
{
    Http2Options http2 = server->options.http2;
    http2.is_server = true;
    GrpcSession *session = grpc_session_new(
        connection, &http2, &side, server,
        (GrpcLimits){ server->options.queue_max, server->options.connection_max }, &server->memory);
    session->next = server->first;
    if (server->first != NULL) {
        server->first->previous = session;
    }
    server->first = session;
    server->counts.connections++;
    count_node(server, session);
    if (server->stopping) {
        http2_shut_down(session->http2);
    }
}

static void accepted(void *context, Connection *connection)
{
    grpc_server_adopt(context, connection);
}

bool grpc_server_listen(GrpcServer *server, const ListenerOptions *options, const Address *address,
                        const Listener **out, Error *err)
{
    if (server->listener_count == LISTENERS_MAX) {
        return error_set(err, ERROR_LIMIT, "a server can have at most %d listeners", LISTENERS_MAX);
    }
    ListenerOptions own = *options;
    own.loop = server->options.loop;
    own.accepted = accepted;
    own.context = server;
    Listener *listener;
    if (!listener_open(&own, address, &listener, err)) {
        return false;
    }
    server->listeners[server->listener_count++] = listener;
    *out = listener;
    return true;
}

void grpc_server_drop(GrpcServer *server, bool (*matches)(void *context, const Peer *peer),
                      void *context)
{
    for (GrpcSession *session = server->first, *next; session != NULL; session = next) {
        next = session->next;
        if (matches(context, connection_peer(http2_connection(session->http2)))) {
            remove_session(server, session);
        }
    }
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static void close_listeners(GrpcServer *server)
{
    while (server->listener_count > 0) {
        listener_close(server->listeners[--server->listener_count]);
    }
}

static void close_sessions(void *context)
{
    GrpcServer *server = context;
    while (server->first != NULL) {
        remove_session(server, server->first);
    }
}

static void stopped(void *context)
{
    GrpcServer *server = context;
    loop_timer_stop(&server->stop_timer);
    if (!server->is_stopped) {
        server->is_stopped = true;
        if (server->done != NULL) {
            server->done(server->done_context);
        }
    }
}

GrpcServer *grpc_server_new(const GrpcServerOptions *options)
{
    GrpcServer *server = memory_new(sizeof *server);
    server->options = *options;
    server->memory.max = options->memory_max;
    arena_init(&server->arena, ARENA_UNLIMITED);
    str_map_init(&server->methods, &server->arena);
    for (uint32_t i = 0; i < options->method_count; i++) {
        const GrpcMethod *method = &options->methods[i];
        if (!str_map_put(&server->methods, str_from_c(method->path), (void *)method)) {
            BUG("duplicate method %s", method->path);
        }
    }
    loop_timer_init(&server->stop_timer, options->loop, close_sessions, server);
    loop_task_init(&server->stopped, stopped, server);
    return server;
}

void grpc_server_stop(GrpcServer *server, int64_t grace_ms, LoopRun *done, void *context)
{
    if (server->stopping) {
        return;
    }
    server->stopping = true;
    server->done = done;
    server->done_context = context;
    close_listeners(server);
    for (GrpcSession *session = server->first; session != NULL; session = session->next) {
        http2_shut_down(session->http2);
    }
    if (server->first == NULL) {
        loop_defer(server->options.loop, &server->stopped);
    } else {
        loop_timer_start(&server->stop_timer, grace_ms);
    }
}

void grpc_server_free(GrpcServer *server)
{
    if (server == NULL) {
        return;
    }
    server->stopping = false;
    close_listeners(server);
    while (server->first != NULL) {
        GrpcSession *session = server->first;
        remove_session(server, session);
    }
    loop_timer_stop(&server->stop_timer);
    loop_task_stop(server->options.loop, &server->stopped);
    origin_counts_clear(&server->nodes);
    arena_clear(&server->arena);
    free(server);
}

GrpcServerCounts grpc_server_counts(const GrpcServer *server)
{
    GrpcServerCounts counts = server->counts;
    counts.memory = server->memory.held;
    return counts;
}
