/* One HTTP/1.1 request and its response on its own connection.
 *
 * Input that arrives while the call is paused is buffered in `rest` and processed by a deferred
 * task after it is resumed. Any callback may free the call, so handle() reports whether it still
 * exists. */
#include "net/http_client.h"

#include <stdlib.h>

#include "base/memory.h"

enum {
    REFUSAL_MAX = 64 << 10 /* maximum size of an error response when `piece` is set */
};

struct HttpCall {
    HttpCallOptions options;
    Connection *connection;
    Http1Reader reader;
    LoopTimer timer;
    LoopTask task; /* delivers buffered input after http_call_resume */
    Buf request, body;
    Buf unprocessed; /* received but not processed */
    uint32_t busy;   /* calls on the stack that still use this memory */
    bool ended;      /* `done` was called */
    bool sent;
    bool paused, freed;
};

static void leave(HttpCall *call)
{
    if (--call->busy == 0 && call->freed) {
        free(call);
    }
}

static void end(HttpCall *call, const HttpResponse *answer, const Error *err)
{
    if (!call->ended) {
        call->ended = true;
        loop_timer_stop(&call->timer);
        call->options.done(call->options.context, answer, err);
    }
}

static void fail(HttpCall *call, ErrorKind kind, const char *why)
{
    Error err;
    error_set(&err, kind, "%s", why);
    end(call, NULL, &err);
}

static void expire(void *context)
{
    fail(context, ERROR_TIMEOUT, "no response in time");
}

static void ready(void *context)
{
    HttpCall *call = context;
    call->sent = true;
    connection_write(call->connection, buf_str(&call->request));
}

static void succeed(HttpCall *call)
{
    HttpResponse answer = { &call->reader.head, buf_str(&call->body) };
    Error none = { 0 };
    end(call, &answer, &none);
}

static bool is_for_pieces(const HttpCall *call)
{
    int status = call->reader.head.status;
    return call->options.piece != NULL && status >= 200 && status < 300;
}

/* Returns false if the call was freed or has ended. */
static bool handle(HttpCall *call, Http1Event event)
{
    if (event == HTTP1_DATA && is_for_pieces(call)) {
        call->options.piece(call->options.context, &call->reader.head, call->reader.data);
    } else if (event == HTTP1_DATA) {
        if (call->options.piece != NULL && call->body.len + call->reader.data.len > REFUSAL_MAX) {
            fail(call, ERROR_LIMIT, "the error response is too large");
            return false;
        }
        buf_put(&call->body, call->reader.data);
    } else if (event == HTTP1_END && call->reader.head.status >= 200) {
        succeed(call);
    }
    return !call->freed && !call->ended;
}

static void process(HttpCall *call, Str bytes)
{
    Http1Event event = HTTP1_HEAD;
    Error err;
    call->busy++;
    while (!call->paused && event != HTTP1_MORE) {
        if (!http1_read(&call->reader, &bytes, &event, &err)) {
            end(call, NULL, &err);
            break;
        }
        if (!handle(call, event)) {
            break;
        }
    }
    if (!call->freed && call->paused) {
        buf_put(&call->unprocessed, bytes);
    }
    leave(call);
}

static void received(void *context, Str bytes)
{
    HttpCall *call = context;
    if (call->ended) {
        return;
    }
    if (call->options.piece != NULL) {
        loop_timer_start(&call->timer, call->options.idle_timeout_ms);
    }
    process(call, bytes);
}

static void ignore(void *context)
{
}

static void closed(void *context, const Error *why)
{
    HttpCall *call = context;
    Http1Event event;
    Error err;
    if (call->ended) {
        return;
    }
    if (why->kind != ERROR_NONE) {
        end(call, NULL, why);
    } else if (!http1_read_end(&call->reader, &event, &err)) {
        end(call, NULL, &err);
    } else if (event == HTTP1_END && call->reader.head.status >= 200) {
        succeed(call);
    } else {
        fail(call, ERROR_UNAVAILABLE, "the connection was closed without a response");
    }
}

static const ConnectionEvents events = { ready, received, ignore, closed };

/* Continues after a pause. The connection is resumed only now, so that its data comes after the
 * buffered data. */
static void continue_reading(void *context)
{
    HttpCall *call = context;
    Buf rest = call->unprocessed;
    call->unprocessed = buf_make(BUF_UNLIMITED);
    call->busy++;
    process(call, buf_str(&rest));
    if (!call->freed && !call->ended && !call->paused) {
        connection_resume(call->connection);
    }
    leave(call);
    buf_clear(&rest);
}

static void write_request(HttpCall *call)
{
    const HttpCallOptions *options = &call->options;
    Buf host = buf_make(BUF_UNLIMITED);
    if (options->address.kind == ADDRESS_UNIX) {
        buf_put_c(&host, "localhost");
    } else {
        address_format(&options->address, &host);
    }
    http1_put_request(&call->request, options->method, str_from_c(options->target), buf_str(&host));
    buf_clear(&host);
    http1_put_header(&call->request, "Connection", STR("close"));
    if (options->content_type != NULL) {
        http1_put_header(&call->request, "Content-Type", str_from_c(options->content_type));
    }
    for (uint32_t i = 0; i < options->field_count; i++) {
        http1_put_header(&call->request, options->fields[i].name, options->fields[i].value);
    }
    http1_put_end_length(&call->request, options->body.len);
    buf_put(&call->request, options->body);
}

HttpCall *http_call_new(const HttpCallOptions *options)
{
    HttpCall *call = memory_new(sizeof *call);
    call->options = *options;
    call->request = buf_make(BUF_UNLIMITED);
    call->body = buf_make(BUF_UNLIMITED);
    call->unprocessed = buf_make(BUF_UNLIMITED);
    write_request(call);
    call->options.body = STR_EMPTY; /* belongs to the caller, as do the headers */
    call->options.fields = NULL;
    http1_reader_init(&call->reader, HTTP1_RESPONSE, options->response_max);
    loop_timer_init(&call->timer, options->loop, expire, call);
    loop_task_init(&call->task, continue_reading, call);
    loop_timer_start(&call->timer, options->timeout_ms);
    call->connection =
        connection_connect(&(ConnectionOptions){ .loop = options->loop,
                                                 .tls = options->tls,
                                                 .tls_host = options->tls_host,
                                                 .open_timeout_ms = options->timeout_ms,
                                                 .events = &events,
                                                 .context = call },
                           &options->address);
    return call;
}

void http_call_free(HttpCall *call)
{
    if (call == NULL || call->freed) {
        return;
    }
    call->freed = true;
    loop_timer_stop(&call->timer);
    loop_task_stop(call->options.loop, &call->task);
    connection_free(call->connection);
    http1_reader_clear(&call->reader);
    buf_clear(&call->request);
    buf_clear(&call->body);
    buf_clear(&call->unprocessed);
    if (call->busy == 0) {
        free(call);
    }
}

void http_call_pause(HttpCall *call)
{
    if (!call->ended && !call->paused) {
        call->paused = true;
        loop_timer_stop(&call->timer);
        loop_task_stop(call->options.loop, &call->task);
        connection_pause(call->connection);
    }
}

void http_call_resume(HttpCall *call)
{
    if (!call->ended && call->paused) {
        call->paused = false;
        loop_timer_start(&call->timer, call->options.idle_timeout_ms);
        loop_defer(call->options.loop, &call->task);
    }
}

bool http_call_is_sent(const HttpCall *call)
{
    return call->sent;
}

const Peer *http_call_peer(const HttpCall *call)
{
    return connection_peer(call->connection);
}
