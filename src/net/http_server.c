#include "net/http_server.h"

#include <stdlib.h>

#include "base/bug.h"

enum {
    LISTENERS_MAX = 8,
    AHEAD_MAX = 64 * 1024, /* bytes of further requests while one is under way */
    GOODBYE_MS = 5000
};

typedef struct Client Client;

struct HttpRequest {
    Client *client;
    Buf body;
    Buf fields; /* of the answer, beside those that each has */
    void *data;
    void (*drained)(void *context); /* of an answer in pieces */
    void *drained_context;
};

/* A connection, and the request that is read or under way on it. */
struct Client {
    HttpServer *server;
    Client *next, *previous;
    Connection *connection;
    Http1Reader reader;
    LoopTimer timer;
    LoopTask drain; /* pieces that have left at once are told of in a turn of its own */
    size_t stuck;   /* bytes that were unsent when the timer was started */
    HttpRequest request;
    Buf ahead;      /* bytes behind the request under way */
    bool began;     /* bytes of the next request are there */
    bool under_way; /* the request was handed on */
    bool in_pieces; /* and its answer has begun */
    bool taking;    /* within take(): answers do not start the next request themselves */
    bool finishing; /* nothing more is read */
};

struct HttpServer {
    HttpServerOptions options;
    Client *clients;
    Listener *listeners[LISTENERS_MAX];
    uint32_t listener_count;
    bool stopping;
    LoopTimer grace;
    LoopTask stopped;
    LoopRun *done;
    void *done_context;
};

static const HttpField default_fields[] = {
    { "Cache-Control", "no-store" },
    { "X-Content-Type-Options", "nosniff" },
};

HttpServerOptions http_server_defaults(void)
{
    return (HttpServerOptions){ .body_max = 1024 * 1024,
                                .fields = default_fields,
                                .field_count = COUNT_OF(default_fields),
                                .request_timeout_ms = 30000,
                                .idle_timeout_ms = 60000 };
}

/* --- A client's life ------------------------------------------------------------------------- */

static void client_free(Client *client)
{
    HttpServer *server = client->server;
    if (client->under_way && server->options.gone != NULL) {
        server->options.gone(server->options.context, &client->request);
    }
    if (client->previous != NULL) {
        client->previous->next = client->next;
    } else {
        server->clients = client->next;
    }
    if (client->next != NULL) {
        client->next->previous = client->previous;
    }
    loop_timer_stop(&client->timer);
    loop_task_stop(server->options.loop, &client->drain);
    connection_free(client->connection);
    http1_reader_clear(&client->reader);
    buf_clear(&client->request.body);
    buf_clear(&client->request.fields);
    buf_clear(&client->ahead);
    free(client);
    if (server->stopping && server->clients == NULL) {
        loop_defer(server->options.loop, &server->stopped);
    }
}

/* The last bytes go out, then `closed` comes. */
static void finish(Client *client)
{
    client->finishing = true;
    loop_timer_stop(&client->timer);
    connection_finish(client->connection, GOODBYE_MS);
}

/* --- Answers --------------------------------------------------------------------------------- */

/* Names of fields end at the colon of their line. */
static bool has_field(Str fields, const char *name)
{
    Str line, wanted = str_from_c(name);
    while (fields.len > 0 && str_split_next(&fields, '\n', &line)) {
        if (line.len > wanted.len && line.data[wanted.len] == ':' &&
            str_eq_ignore_case(str_slice(line, 0, wanted.len), wanted)) {
            return true;
        }
    }
    return false;
}

/* To be followed by one of the ends. */
static void put_head(Client *client, Buf *out, int status, const char *content_type, bool last)
{
    http1_put_status(out, status);
    http1_put_header(out, "Content-Type", str_from_c(content_type));
    const HttpServerOptions *options = &client->server->options;
    Str own = buf_str(&client->request.fields);
    for (uint32_t i = 0; i < options->field_count; i++) {
        if (!has_field(own, options->fields[i].name)) {
            http1_put_header(out, options->fields[i].name, str_from_c(options->fields[i].value));
        }
    }
    buf_put(out, own);
    if (last) {
        http1_put_header(out, "Connection", STR("close"));
    }
}

static bool wants_body(const Client *client)
{
    return !client->under_way || !str_eq(client->reader.head.method, STR("HEAD"));
}

static void put_answer(Client *client, int status, const char *content_type, Str body, bool last)
{
    Buf out = buf_make(BUF_UNLIMITED);
    put_head(client, &out, status, content_type, last);
    if (status == 204 || status == 304) {
        http1_put_end_bare(&out);
    } else {
        http1_put_end_length(&out, body.len);
        buf_put(&out, wants_body(client) ? body : STR_EMPTY);
    }
    connection_write(client->connection, buf_str(&out));
    buf_clear(&out);
}

static void refuse(Client *client, int status, const char *why)
{
    Buf text = buf_make(BUF_UNLIMITED);
    buf_put_format(&text, "%s\n", why);
    put_answer(client, status, "text/plain; charset=utf-8", buf_str(&text), true);
    buf_clear(&text);
    finish(client);
}

static void watch_unsent(Client *client)
{
    client->stuck = connection_unsent(client->connection);
    loop_timer_start(&client->timer, client->server->options.idle_timeout_ms);
}

static void expire(void *context)
{
    Client *client = context;
    if (client->in_pieces && connection_unsent(client->connection) < client->stuck) {
        watch_unsent(client);
    } else if (client->in_pieces) {
        client_free(client);
    } else if (client->began) {
        refuse(client, 408, "the request took too long");
    } else {
        client_free(client);
    }
}

/* --- Requests -------------------------------------------------------------------------------- */

static void begin(Client *client)
{
    if (!client->began) {
        client->began = true;
        loop_timer_start(&client->timer, client->server->options.request_timeout_ms);
    }
}

static void handle(Client *client, Http1Event event)
{
    const HttpServerOptions *options = &client->server->options;
    if (event == HTTP1_HEAD && client->reader.head.expects_continue) {
        connection_write(client->connection, STR("HTTP/1.1 100 Continue\r\n\r\n"));
    } else if (event == HTTP1_DATA) {
        buf_put(&client->request.body, client->reader.data);
    } else if (event == HTTP1_END) {
        loop_timer_stop(&client->timer);
        client->under_way = true;
        options->requested(options->context, &client->request);
    }
}

static void take(Client *client, Str bytes)
{
    Http1Event event = HTTP1_HEAD;
    client->taking = true;
    while (event != HTTP1_MORE && !client->under_way && !client->finishing) {
        Error err;
        if (bytes.len > 0) {
            begin(client);
        }
        if (!http1_read(&client->reader, &bytes, &event, &err)) {
            refuse(client, client->reader.refusal, err.text);
        } else {
            handle(client, event);
        }
    }
    client->taking = false;
    if (client->under_way && bytes.len > 0) {
        buf_put(&client->ahead, bytes);
        if (client->ahead.overflow) {
            finish(client);
        }
    }
}

static void received(void *context, Str bytes)
{
    Client *client = context;
    if (!client->finishing) {
        take(client, bytes);
    }
}

static void nothing(void *context)
{
}

static void closed(void *context, const Error *why)
{
    client_free(context);
}

static void all_sent(void *context)
{
    Client *client = context;
    if (client->in_pieces) {
        loop_timer_stop(&client->timer);
        client->request.drained(client->request.drained_context);
    }
}

static const ConnectionEvents events = { nothing, received, all_sent, closed };

void http_request_add_header(HttpRequest *request, const char *name, Str value)
{
    http1_put_header(&request->fields, name, value);
}

/* The answer is given; the next request may begin. */
static void conclude(Client *client, bool last)
{
    HttpRequest *request = &client->request;
    client->under_way = false;
    client->in_pieces = false;
    client->began = false;
    loop_task_stop(client->server->options.loop, &client->drain);
    buf_clear(&request->body);
    buf_clear(&request->fields);
    request->data = NULL;
    if (last) {
        finish(client);
        return;
    }
    loop_timer_start(&client->timer, client->server->options.idle_timeout_ms);
    if (!client->taking && client->ahead.len > 0) {
        Buf ahead = client->ahead;
        client->ahead = buf_make(AHEAD_MAX);
        take(client, buf_str(&ahead));
        buf_clear(&ahead);
    }
}

static bool is_last(const Client *client)
{
    return !client->reader.head.keep_alive || client->finishing || client->server->stopping;
}

void http_request_answer(HttpRequest *request, int status, const char *content_type, Str body)
{
    Client *client = request->client;
    bool last = is_last(client);
    BUG_IF(!client->under_way || client->in_pieces);
    put_answer(client, status, content_type, body, last);
    conclude(client, last);
}

bool http_request_takes_pieces(const HttpRequest *request)
{
    return request->client->reader.head.is_newer;
}

void http_request_begin(HttpRequest *request, int status, const char *content_type,
                        void (*drained)(void *context), void *context)
{
    Client *client = request->client;
    Buf out = buf_make(BUF_UNLIMITED);
    BUG_IF(!client->under_way || client->in_pieces || !http_request_takes_pieces(request));
    request->drained = drained;
    request->drained_context = context;
    put_head(client, &out, status, content_type, is_last(client));
    http1_put_end_chunked(&out);
    connection_write(client->connection, buf_str(&out));
    buf_clear(&out);
    client->in_pieces = true;
}

void http_request_piece(HttpRequest *request, Str piece)
{
    Client *client = request->client;
    BUG_IF(!client->in_pieces || piece.len == 0);
    if (client->finishing) {
        return; /* `gone` is about to come */
    }
    if (wants_body(client)) {
        Buf out = buf_make(BUF_UNLIMITED);
        http1_put_chunk(&out, piece);
        connection_write(client->connection, buf_str(&out));
        buf_clear(&out);
    }
    if (connection_unsent(client->connection) == 0) {
        loop_defer(client->server->options.loop, &client->drain);
    } else if (!loop_timer_started(&client->timer)) {
        watch_unsent(client);
    }
}

void http_request_end(HttpRequest *request)
{
    Client *client = request->client;
    BUG_IF(!client->in_pieces);
    if (wants_body(client)) {
        Buf out = buf_make(BUF_UNLIMITED);
        http1_put_chunk(&out, STR_EMPTY);
        connection_write(client->connection, buf_str(&out));
        buf_clear(&out);
    }
    conclude(client, is_last(client));
}

void http_request_break(HttpRequest *request)
{
    BUG_IF(!request->client->in_pieces);
    conclude(request->client, true);
}

const Http1Head *http_request_head(const HttpRequest *request)
{
    return &request->client->reader.head;
}

Str http_request_body(const HttpRequest *request)
{
    return buf_str(&request->body);
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

/* --- The server ------------------------------------------------------------------------------ */

static void close_listeners(HttpServer *server)
{
    while (server->listener_count > 0) {
        listener_close(server->listeners[--server->listener_count]);
    }
}

static void cut(void *context)
{
    HttpServer *server = context;
    while (server->clients != NULL) {
        client_free(server->clients);
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
    HttpServer *server = calloc(1, sizeof *server);
    if (server == NULL) {
        memory_exhausted(sizeof *server);
    }
    server->options = *options;
    loop_timer_init(&server->grace, options->loop, cut, server);
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
    for (Client *client = server->clients, *next; client != NULL; client = next) {
        next = client->next;
        if (client->in_pieces) {
            client_free(client);
        } else if (!client->under_way && !client->finishing) {
            finish(client);
        }
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
    cut(server);
    loop_timer_stop(&server->grace);
    loop_task_stop(server->options.loop, &server->stopped);
    free(server);
}

void http_server_adopt(HttpServer *server, Connection *connection)
{
    Client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        memory_exhausted(sizeof *client);
    }
    client->server = server;
    client->next = server->clients;
    if (server->clients != NULL) {
        server->clients->previous = client;
    }
    server->clients = client;
    client->connection = connection;
    client->request = (HttpRequest){ .client = client,
                                     .body = buf_make(BUF_UNLIMITED),
                                     .fields = buf_make(BUF_UNLIMITED) };
    client->ahead = buf_make(AHEAD_MAX);
    http1_reader_init(&client->reader, HTTP1_REQUEST, server->options.body_max);
    loop_timer_init(&client->timer, server->options.loop, expire, client);
    loop_timer_start(&client->timer, server->options.idle_timeout_ms);
    loop_task_init(&client->drain, all_sent, client);
    connection_set_events(connection, &events, client);
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
    if (server->listener_count == LISTENERS_MAX) {
        return error_set(err, ERROR_LIMIT, "a server listens on %d addresses at most",
                         LISTENERS_MAX);
    }
    Listener **place = &server->listeners[server->listener_count];
    if (!listener_open(&own, address, place, err)) {
        return false;
    }
    server->listener_count++;
    *out = *place;
    return true;
}
