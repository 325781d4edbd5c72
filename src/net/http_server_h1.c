/* HTTP/1.1 on a connection of the server: one request at a time.
 *
 * The next request is not read before the response to the last one was sent: a peer that does
 * not read its responses can make us keep one of them, and one read of its further input. */
#include <stdlib.h>

#include "base/memory.h"
#include "net/http_server_inner.h"

enum {
    AHEAD_MAX = 64 * 1024, /* limit on bytes of further requests while one is in progress */
    TURN_MAX = 8,          /* pipelined requests that are answered in one iteration of the loop */
    /* bytes of a body that a connection may always hold, even on a busy server */
    SHARE = 16 * 1024,
    CLOSE_TIMEOUT_MS = 5000
};

/* A connection and its current request. */
typedef struct Client {
    HttpClient base; /* first, so that it can be cast */
    Http1Reader reader;
    LoopTimer timer;
    /* reports pieces that were sent immediately, in the next iteration of the loop */
    LoopTask drain;
    LoopTask resume;    /* continues with pipelined requests, after other connections were served */
    size_t stalled_at;  /* unsent bytes when the timer was started */
    size_t held;        /* bytes of the body, counted in the server's total */
    uint32_t responded; /* responses since bytes arrived or it became idle */
    HttpRequest request;
    Buf ahead;          /* bytes after the current request */
    bool has_started;   /* bytes of the next request have arrived */
    bool is_processing; /* within take(): responses do not start the next request themselves */
    bool is_yielding;   /* until `resume` runs */
    bool finishing;     /* nothing more is read */
} Client;

static Client *client_of(const HttpRequest *request)
{
    return (Client *)request->client;
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static void release_request(Client *client)
{
    client->base.server->held -= client->held;
    client->held = 0;
}

static void client_free(HttpClient *base)
{
    Client *client = (Client *)base;
    http_request_cancel(&client->request);
    release_request(client);
    loop_timer_stop(&client->timer);
    loop_task_stop(base->server->options.loop, &client->drain);
    loop_task_stop(base->server->options.loop, &client->resume);
    connection_free(base->connection);
    http1_reader_clear(&client->reader);
    http_request_reset(&client->request);
    buf_clear(&client->ahead);
    http_client_remove(base);
    free(client);
}

/* The peer must keep reading some of the unsent bytes. */
static void watch_unsent(Client *client)
{
    if (!client->base.is_disconnected) {
        client->stalled_at = connection_unsent(client->base.connection);
        loop_timer_start(&client->timer, client->base.server->options.idle_timeout_ms);
    }
}

static void disconnect(HttpClient *base)
{
    Client *client = (Client *)base;
    client->finishing = true;
    loop_timer_start(&client->timer, 0);
}

static void write_out(Client *client, Str bytes)
{
    connection_write(client->base.connection, bytes);
    http_client_count_unsent(&client->base, connection_unsent(client->base.connection));
}

/* Sends the last bytes; `closed` follows. */
static void finish(Client *client)
{
    client->finishing = true;
    if (connection_unsent(client->base.connection) > 0) {
        watch_unsent(client);
    } else if (!client->base.is_disconnected) {
        loop_timer_stop(&client->timer);
        connection_finish(client->base.connection, CLOSE_TIMEOUT_MS);
    }
}

static void stop(HttpClient *base)
{
    Client *client = (Client *)base;
    if (client->request.in_pieces) {
        client_free(base);
    } else if (!client->request.in_progress && !client->finishing) {
        finish(client);
    }
}

/* --- Responses ------------------------------------------------------------------------------- */

static void put_head(Client *client, Buf *out, int status, const char *content_type, bool last)
{
    http1_put_status(out, status);
    http_request_put_fields(&client->request, out, content_type);
    if (last) {
        http1_put_header(out, "Connection", STR("close"));
    }
}

static void write_response(Client *client, int status, const char *content_type, Str body,
                           bool last)
{
    Buf out = buf_make(BUF_UNLIMITED);
    put_head(client, &out, status, content_type, last);
    if (http_status_has_body(status)) {
        http1_put_end_length(&out, body.len);
        buf_put(&out, http_request_needs_body(&client->request) ? body : STR_EMPTY);
    } else {
        http1_put_end_bare(&out);
    }
    write_out(client, buf_str(&out));
    buf_clear(&out);
}

static void refuse(Client *client, int status, const char *why)
{
    Buf text = buf_make(BUF_UNLIMITED);
    const char *type = http_server_write_error(client->base.server, status, why, &text);
    write_response(client, status, type, buf_str(&text), true);
    buf_clear(&text);
    buf_clear(&client->request.body);
    release_request(client);
    finish(client);
}

static void expire(void *context)
{
    Client *client = context;
    size_t unsent = connection_unsent(client->base.connection);
    bool waits = client->request.in_pieces || client->finishing || !client->has_started;
    if (waits && unsent > 0 && unsent < client->stalled_at && !client->base.is_disconnected) {
        watch_unsent(client);
    } else if (waits) {
        client_free(&client->base);
    } else {
        refuse(client, 408, "the request was not received in time");
    }
}

/* --- Requests -------------------------------------------------------------------------------- */

static void begin(Client *client)
{
    if (!client->has_started) {
        client->has_started = true;
        loop_timer_start(&client->timer, client->base.server->options.request_timeout_ms);
    }
}

/* The bodies of all connections share one limit. */
static void receive_body(Client *client, Str bytes)
{
    HttpServer *server = client->base.server;
    client->held += bytes.len;
    server->held += bytes.len;
    bool has_room = http_request_hold_body(&client->request, bytes.len) &&
                    server->held <= server->options.memory_max;
    if (!has_room && client->held > SHARE) {
        http_request_add_header(&client->request, "Retry-After", STR("1"));
        refuse(client, 429, "too many request bytes in memory; try again later");
        return;
    }
    buf_put(&client->request.body, bytes);
}

static void dispatch(Client *client)
{
    loop_timer_stop(&client->timer);
    http_request_dispatch(&client->request);
}

static void receive_head(Client *client)
{
    const Http1Head *head = &client->reader.head;
    if (head->body == HTTP1_BODY_NONE) {
        return;
    }
    if (!http_request_reads_body(&client->request, &client->reader.body_max)) {
        dispatch(client);
    } else if (head->expects_continue) {
        write_out(client, STR("HTTP/1.1 100 Continue\r\n\r\n"));
    }
}

static void handle(Client *client, Http1Event event)
{
    if (event == HTTP1_HEAD) {
        receive_head(client);
    } else if (event == HTTP1_DATA) {
        receive_body(client, client->reader.data);
    } else if (event == HTTP1_END) {
        dispatch(client);
    }
}

static bool is_blocked(const Client *client)
{
    return client->request.in_progress || client->finishing || client->is_yielding ||
           connection_unsent(client->base.connection) > 0;
}

/* Buffers bytes that cannot be processed yet. The connection is still read during a request, to
 * notice when the peer closes it. */
static void buffer_ahead(Client *client, Str bytes)
{
    if (client->request.is_unread) {
        return; /* part of its body */
    }
    buf_put(&client->ahead, bytes);
    if (client->ahead.overflow) {
        finish(client);
    } else if (!client->request.in_progress) {
        connection_pause(client->base.connection);
    }
}

static void process_input(Client *client, Str bytes)
{
    Http1Event event = HTTP1_HEAD;
    client->is_processing = true;
    while (event != HTTP1_MORE && !is_blocked(client)) {
        Error err;
        if (bytes.len > 0) {
            begin(client);
        }
        if (!http1_read(&client->reader, &bytes, &event, &err)) {
            refuse(client, client->reader.error_status, err.text);
        } else {
            handle(client, event);
        }
    }
    client->is_processing = false;
    if (bytes.len > 0 && !client->finishing) {
        buffer_ahead(client, bytes);
    }
}

/* Processes the buffered bytes. */
static void process_buffered(Client *client)
{
    if (client->is_processing || is_blocked(client)) {
        return;
    }
    connection_resume(client->base.connection);
    if (client->ahead.len > 0) {
        Buf ahead = client->ahead;
        client->ahead = buf_make(AHEAD_MAX);
        process_input(client, buf_str(&ahead));
        buf_clear(&ahead);
    }
}

static void received(void *context, Str bytes)
{
    Client *client = context;
    client->responded = 0;
    if (!client->finishing) {
        process_input(client, bytes);
    }
}

static void resume_pipelined(void *context)
{
    Client *client = context;
    client->is_yielding = false;
    client->responded = 0;
    process_buffered(client);
}

/* A peer that sends thousands of requests at once must not block the loop for others. */
static void count_response(Client *client)
{
    if (++client->responded >= TURN_MAX && !client->is_yielding) {
        client->is_yielding = true;
        loop_defer(client->base.server->options.loop, &client->resume);
    }
}

static void nothing(void *context)
{
}

static void closed(void *context, const Error *why)
{
    client_free(context);
}

static void on_all_sent(void *context)
{
    Client *client = context;
    http_client_count_unsent(&client->base, 0);
    if (client->base.is_disconnected) {
        return;
    }
    if (client->request.in_pieces) {
        loop_timer_stop(&client->timer);
        client->request.drained(client->request.drained_context);
    } else if (client->finishing) {
        finish(client);
    } else {
        if (!client->has_started) {
            loop_timer_start(&client->timer, client->base.server->options.idle_timeout_ms);
        }
        process_buffered(client);
    }
}

static const ConnectionEvents events = { nothing, received, on_all_sent, closed };

/* For pieces that were sent immediately. Pieces queued since then are reported when they are
 * sent. */
static void report_drained(void *context)
{
    Client *client = context;
    if (connection_unsent(client->base.connection) == 0) {
        on_all_sent(client);
    }
}

/* Called when the response is complete; the next request may start. */
static void finish_response(Client *client, bool last)
{
    client->has_started = false;
    client->reader.body_max = client->base.server->options.body_max;
    loop_task_stop(client->base.server->options.loop, &client->drain);
    http_request_reset(&client->request);
    release_request(client);
    if (last) {
        finish(client);
        return;
    }
    count_response(client);
    watch_unsent(client);
    process_buffered(client);
}

static bool is_last(const Client *client)
{
    return !client->reader.head.keep_alive || client->request.is_unread || client->finishing ||
           client->base.server->stopping;
}

static void answer(HttpRequest *request, int status, const char *content_type, Str body)
{
    Client *client = client_of(request);
    bool last = is_last(client);
    write_response(client, status, content_type, body, last);
    finish_response(client, last);
}

static void begin_response(HttpRequest *request, int status, const char *content_type)
{
    Client *client = client_of(request);
    Buf out = buf_make(BUF_UNLIMITED);
    put_head(client, &out, status, content_type, is_last(client));
    http1_put_end_chunked(&out);
    write_out(client, buf_str(&out));
    buf_clear(&out);
}

static void put_piece(HttpRequest *request, Str piece)
{
    Client *client = client_of(request);
    if (client->finishing) {
        return; /* `disconnected` is about to be called */
    }
    if (http_request_needs_body(request)) {
        Buf out = buf_make(BUF_UNLIMITED);
        http1_put_chunk(&out, piece);
        write_out(client, buf_str(&out));
        buf_clear(&out);
    }
    if (connection_unsent(client->base.connection) == 0) {
        loop_defer(client->base.server->options.loop, &client->drain);
    } else if (!loop_timer_started(&client->timer)) {
        watch_unsent(client);
    }
}

static size_t count_unsent(HttpRequest *request)
{
    return connection_unsent(request->client->connection);
}

static void end_response(HttpRequest *request)
{
    Client *client = client_of(request);
    if (http_request_needs_body(request)) {
        Buf out = buf_make(BUF_UNLIMITED);
        http1_put_chunk(&out, STR_EMPTY);
        write_out(client, buf_str(&out));
        buf_clear(&out);
    }
    finish_response(client, is_last(client));
}

static void abort_response(HttpRequest *request)
{
    finish_response(client_of(request), true);
}

static const HttpKind kind = {
    .respond = answer,
    .begin = begin_response,
    .piece = put_piece,
    .unsent = count_unsent,
    .end = end_response,
    .abort = abort_response,
    .stop = stop,
    .disconnect = disconnect,
    .free = client_free,
};

void http_h1_adopt(HttpServer *server, Connection *connection)
{
    Client *client = memory_new(sizeof *client);
    http_client_add(&client->base, server, &kind, connection);
    http_request_init(&client->request, &client->base, &client->reader.head);
    client->ahead = buf_make(AHEAD_MAX);
    http1_reader_init(&client->reader, HTTP1_REQUEST, server->options.body_max);
    loop_timer_init(&client->timer, server->options.loop, expire, client);
    loop_timer_start(&client->timer, server->options.idle_timeout_ms);
    loop_task_init(&client->drain, report_drained, client);
    loop_task_init(&client->resume, resume_pipelined, client);
    connection_set_events(connection, &events, client);
}
