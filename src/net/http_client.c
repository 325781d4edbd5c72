#include "net/http_client.h"

#include <stdlib.h>

#include "base/bug.h"

struct HttpCall {
    HttpCallOptions options;
    Connection *connection;
    Http1Reader reader;
    LoopTimer timer;
    Buf request, body;
    bool over; /* `done` was called */
};

static void end(HttpCall *call, const HttpAnswer *answer, const Error *err)
{
    if (!call->over) {
        call->over = true;
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
    fail(context, ERROR_TIMEOUT, "no answer came in time");
}

static void ready(void *context)
{
    HttpCall *call = context;
    connection_write(call->connection, buf_str(&call->request));
}

static void succeed(HttpCall *call)
{
    HttpAnswer answer = { &call->reader.head, buf_str(&call->body) };
    Error none = { 0 };
    end(call, &answer, &none);
}

static void received(void *context, Str bytes)
{
    HttpCall *call = context;
    Http1Event event = HTTP1_HEAD;
    Error err;
    while (!call->over && event != HTTP1_MORE) {
        if (!http1_read(&call->reader, &bytes, &event, &err)) {
            end(call, NULL, &err);
            return;
        }
        if (event == HTTP1_DATA) {
            buf_put(&call->body, call->reader.data);
        } else if (event == HTTP1_END && call->reader.head.status >= 200) {
            succeed(call);
            return;
        }
    }
}

static void nothing(void *context)
{
}

static void closed(void *context, const Error *why)
{
    HttpCall *call = context;
    Http1Event event;
    Error err;
    if (call->over) {
        return;
    }
    if (why->kind != ERROR_NONE) {
        end(call, NULL, why);
    } else if (!http1_read_end(&call->reader, &event, &err)) {
        end(call, NULL, &err);
    } else if (event == HTTP1_END && call->reader.head.status >= 200) {
        succeed(call);
    } else {
        fail(call, ERROR_UNAVAILABLE, "the connection ended without an answer");
    }
}

static const ConnectionEvents events = { ready, received, nothing, closed };

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
    http1_put_end_length(&call->request, options->body.len);
    buf_put(&call->request, options->body);
}

HttpCall *http_call_new(const HttpCallOptions *options)
{
    HttpCall *call = calloc(1, sizeof *call);
    if (call == NULL) {
        memory_exhausted(sizeof *call);
    }
    call->options = *options;
    call->request = buf_make(BUF_UNLIMITED);
    call->body = buf_make(BUF_UNLIMITED);
    write_request(call);
    call->options.body = STR_EMPTY; /* the caller's */
    http1_reader_init(&call->reader, HTTP1_RESPONSE, options->answer_max);
    loop_timer_init(&call->timer, options->loop, expire, call);
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
    if (call == NULL) {
        return;
    }
    loop_timer_stop(&call->timer);
    connection_free(call->connection);
    http1_reader_clear(&call->reader);
    buf_clear(&call->request);
    buf_clear(&call->body);
    free(call);
}

const Peer *http_call_peer(const HttpCall *call)
{
    return connection_peer(call->connection);
}
