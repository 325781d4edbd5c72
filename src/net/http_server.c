/* The part of the HTTP server that both protocols share: listeners, the list of clients, common
 * headers, and the limits across all connections. A connection is given to HTTP/1.1 or HTTP/2 once
 * the TLS handshake has negotiated one. */
#include "net/http_server.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/hash.h"
#include "base/memory.h"
#include "net/http_server_inner.h"

static const HttpField default_fields[] = {
    { "Cache-Control", "no-store" },
    { "X-Content-Type-Options", "nosniff" },
};

HttpServerOptions http_server_defaults(void)
{
    return (HttpServerOptions){ .body_max = 1024 * 1024,
                                .fields = default_fields,
                                .field_count = COUNT_OF(default_fields),
                                .memory_max = 64 << 20,
                                .request_timeout_ms = 30000,
                                .idle_timeout_ms = 60000 };
}

/* --- Requests -------------------------------------------------------------------------------- */

void http_request_init(HttpRequest *request, HttpClient *client, const Http1Head *head)
{
    *request = (HttpRequest){ .client = client,
                              .head = head,
                              .body = buf_make(BUF_UNLIMITED),
                              .fields = buf_make(BUF_UNLIMITED) };
}

/* What one caller may use of memory_max: 1/N. */
enum {
    ANONYMOUS_SHARE = 8, /* all unauthenticated ones together */
    CALLER_SHARE = 2,
};

bool http_request_hold_body(HttpRequest *request, size_t bytes)
{
    HttpServer *server = request->client->server;
    if (server->options.body_caller == NULL) {
        return true;
    }
    size_t *held = &server->held_by_caller[request->body_caller];
    request->held_bytes += bytes;
    *held += bytes;
    return *held <= server->options.memory_max /
                        (request->body_caller == HTTP_ANONYMOUS ? ANONYMOUS_SHARE : CALLER_SHARE);
}

static uint32_t share_of(const HttpRequest *request)
{
    const HttpServerOptions *options = &request->client->server->options;
    uint64_t owner = options->body_caller == NULL ? HTTP_ANONYMOUS
                                                  : options->body_caller(options->context, request);
    return owner == HTTP_ANONYMOUS
               ? HTTP_ANONYMOUS
               : 1 + (uint32_t)(hash_u64(owner ^ hash_seed()) % (HTTP_SHARES - 1));
}

void http_request_reset(HttpRequest *request)
{
    if (request->held_bytes > 0) {
        request->client->server->held_by_caller[request->body_caller] -= request->held_bytes;
        request->held_bytes = 0;
    }
    buf_clear(&request->body);
    buf_clear(&request->fields);
    request->data = NULL;
    request->in_progress = false;
    request->in_pieces = false;
    request->is_unread = false;
}

bool http_request_reads_body(HttpRequest *request, uint64_t *max)
{
    const HttpServerOptions *options = &request->client->server->options;
    *max = options->body_max;
    request->is_unread =
        options->reads_body != NULL && !options->reads_body(options->context, request, max);
    request->body_caller = request->is_unread ? HTTP_ANONYMOUS : share_of(request);
    return !request->is_unread;
}

void http_request_dispatch(HttpRequest *request)
{
    const HttpServerOptions *options = &request->client->server->options;
    request->in_progress = true;
    options->requested(options->context, request);
}

void http_request_cancel(HttpRequest *request)
{
    const HttpServerOptions *options = &request->client->server->options;
    if (request->in_progress) {
        request->in_progress = false;
        request->in_pieces = false;
        if (options->disconnected != NULL) {
            options->disconnected(options->context, request);
        }
    }
}

bool http_request_needs_body(const HttpRequest *request)
{
    return !request->in_progress || !str_eq(request->head->method, STR("HEAD"));
}

bool http_status_has_body(int status)
{
    return status != 204 && status != 304;
}

/* Names end at the colon of their line. */
static bool has_field(Str fields, const char *name)
{
    Str line, name_text = str_from_c(name);
    while (fields.len > 0 && str_split_next(&fields, '\n', &line)) {
        if (line.len > name_text.len && line.data[name_text.len] == ':' &&
            str_eq_ignore_case(str_slice(line, 0, name_text.len), name_text)) {
            return true;
        }
    }
    return false;
}

void http_request_put_fields(const HttpRequest *request, Buf *out, const char *content_type)
{
    http1_put_header(out, "Content-Type", str_from_c(content_type));
    const HttpServerOptions *options = &request->client->server->options;
    Str own = buf_str(&request->fields);
    for (uint32_t i = 0; i < options->field_count; i++) {
        if (!has_field(own, options->fields[i].name)) {
            http1_put_header(out, options->fields[i].name, str_from_c(options->fields[i].value));
        }
    }
    buf_put(out, own);
}

const char *http_server_write_error(const HttpServer *server, int status, const char *why, Buf *out)
{
    const HttpServerOptions *options = &server->options;
    if (options->write_error != NULL) {
        return options->write_error(options->context, status, why, out);
    }
    buf_put_format(out, "%s\n", why);
    return "text/plain; charset=utf-8";
}

void http_request_add_header(HttpRequest *request, const char *name, Str value)
{
    http1_put_header(&request->fields, name, value);
}

void http_request_drop_headers(HttpRequest *request)
{
    buf_clear(&request->fields);
}

void http_request_respond(HttpRequest *request, int status, const char *content_type, Str body)
{
    BUG_IF(!request->in_progress || request->in_pieces);
    request->client->kind->respond(request, status, content_type, body);
}

bool http_request_supports_pieces(const HttpRequest *request)
{
    return request->head->is_http11;
}

void http_request_begin(HttpRequest *request, int status, const char *content_type,
                        void (*drained)(void *context), void *context)
{
    BUG_IF(!request->in_progress || request->in_pieces || !http_request_supports_pieces(request));
    request->drained = drained;
    request->drained_context = context;
    request->in_pieces = true;
    request->client->kind->begin(request, status, content_type);
}

void http_request_send_piece(HttpRequest *request, Str piece)
{
    BUG_IF(!request->in_pieces || piece.len == 0);
    request->client->kind->piece(request, piece);
}

size_t http_request_unsent(HttpRequest *request)
{
    return request->client->kind->unsent(request);
}

void http_request_end(HttpRequest *request)
{
    BUG_IF(!request->in_pieces);
    request->client->kind->end(request);
}

void http_request_abort(HttpRequest *request)
{
    BUG_IF(!request->in_pieces);
    request->client->kind->abort(request);
}

const Http1Head *http_request_head(const HttpRequest *request)
{
    return request->head;
}

Str http_request_body(const HttpRequest *request)
{
    return buf_str(&request->body);
}

bool http_request_is_unread(const HttpRequest *request)
{
    return request->is_unread;
}

const Peer *http_request_peer(const HttpRequest *request)
{
    return connection_peer(request->client->connection);
}

void http_request_own_address(const HttpRequest *request, char out[ADDRESS_TEXT_MAX])
{
    connection_own_address(request->client->connection, out);
}

void http_request_set_data(HttpRequest *request, void *data)
{
    request->data = data;
}

void *http_request_data(const HttpRequest *request)
{
    return request->data;
}

/* --- Connections ----------------------------------------------------------------------------- */

void http_client_add(HttpClient *client, HttpServer *server, const HttpKind *kind,
                     Connection *connection)
{
    *client = (HttpClient){
        .server = server, .next = server->clients, .kind = kind, .connection = connection
    };
    if (server->clients != NULL) {
        server->clients->previous = client;
    }
    server->clients = client;
}

static void disconnect_largest(HttpServer *server)
{
    HttpClient *largest = server->clients;
    for (HttpClient *client = largest->next; client != NULL; client = client->next) {
        if (client->unsent > largest->unsent) {
            largest = client;
        }
    }
    server->unsent -= largest->unsent;
    largest->unsent = 0;
    largest->is_disconnected = true;
    largest->kind->disconnect(largest);
}

void http_client_count_unsent(HttpClient *client, size_t unsent)
{
    HttpServer *server = client->server;
    if (client->is_disconnected) {
        return;
    }
    server->unsent = server->unsent - client->unsent + unsent;
    client->unsent = unsent;
    while (server->unsent > server->options.memory_max) {
        disconnect_largest(server);
    }
}

void http_client_remove(HttpClient *client)
{
    HttpServer *server = client->server;
    server->unsent -= client->unsent;
    *(client->previous == NULL ? &server->clients : &client->previous->next) = client->next;
    if (client->next != NULL) {
        client->next->previous = client->previous;
    }
    if (server->stopping && server->clients == NULL) {
        loop_defer(server->options.loop, &server->stopped);
    }
}

/* Takes ownership of a connection that is ready. */
static void http_server_adopt(HttpServer *server, Connection *connection)
{
    const char *protocol = connection_peer(connection)->tls.protocol;
    bool is_h2 = protocol != NULL && strcmp(protocol, "h2") == 0;
    (is_h2 ? http_h2_adopt : http_h1_adopt)(server, connection);
}

/* --- Server ---------------------------------------------------------------------------------- */

static void close_listeners(HttpServer *server)
{
    while (server->listener_count > 0) {
        listener_close(server->listeners[--server->listener_count]);
    }
}

static void disconnect(void *context)
{
    HttpServer *server = context;
    while (server->clients != NULL) {
        server->clients->kind->free(server->clients);
    }
}

static void stopped(void *context)
{
    HttpServer *server = context;
    loop_timer_stop(&server->grace);
    server->done(server->done_context);
}

HttpServer *http_server_new(const HttpServerOptions *options)
{
    HttpServer *server = memory_new(sizeof *server);
    server->options = *options;
    loop_timer_init(&server->grace, options->loop, disconnect, server);
    loop_task_init(&server->stopped, stopped, server);
    return server;
}

void http_server_stop(HttpServer *server, int64_t grace_ms, LoopRun *done, void *context)
{
    BUG_IF(server->stopping);
    server->done = done;
    server->done_context = context;
    server->stopping = true;
    close_listeners(server);
    for (HttpClient *client = server->clients, *next; client != NULL; client = next) {
        next = client->next;
        client->kind->stop(client);
    }
    if (server->clients == NULL) {
        loop_defer(server->options.loop, &server->stopped);
    } else {
        loop_timer_start(&server->grace, grace_ms);
    }
}

void http_server_free(HttpServer *server)
{
    if (server == NULL) {
        return;
    }
    server->stopping = false;
    close_listeners(server);
    disconnect(server);
    loop_timer_stop(&server->grace);
    loop_task_stop(server->options.loop, &server->stopped);
    free(server);
}

static void accepted(void *context, Connection *connection)
{
    http_server_adopt(context, connection);
}

bool http_server_listen(HttpServer *server, const ListenerOptions *options, const Address *address,
                        const Listener **out, Error *err)
{
    ListenerOptions own = *options;
    own.accepted = accepted;
    own.context = server;
    if (server->listener_count == HTTP_LISTENERS_MAX) {
        return error_set(err, ERROR_LIMIT, "a server can listen on at most %d addresses",
                         HTTP_LISTENERS_MAX);
    }
    Listener **slot = &server->listeners[server->listener_count];
    if (!listener_open(&own, address, slot, err)) {
        return false;
    }
    server->listener_count++;
    *out = *slot;
    return true;
}
