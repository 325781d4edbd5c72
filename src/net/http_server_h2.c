/* HTTP/2 on a connection of the server: a stream is a request.
 *
 * The memory that a peer can make us hold is bounded. A body may exceed the first window of its
 * stream only once space for all of it is reserved, so streams wait for each other, but none
 * forever; the total space depends on the largest body that the peer may send. Requests are passed
 * on only while responses are being read. Everything else is bounded by http2.h. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "net/http2.h"
#include "net/http_h2_head.h"
#include "net/http_server_inner.h"

enum {
    STREAMS_MAX = 100,
    INITIAL_WINDOW = 16 << 10, /* window of a stream without reserved space */
    BODY_WINDOW = 256 << 10,   /* window of a stream with reserved space */
    /* total space, as a multiple of the largest body that the peer may send */
    RESERVED_BODIES = 2,
    CONCURRENT_MAX = 16,    /* limit on requests whose response has not started */
    LINGER_MS = 2000,       /* time for a peer to stop sending after the response */
    QUEUED_MAX = 256 << 10, /* unsent response bytes beyond which requests wait */
    /* bytes that a connection may always hold, even on a busy server */
    SHARE = 64 << 10,
    RESPONSE_FIELDS_MAX = 60,
};

typedef enum StreamState {
    STREAM_HEAD,      /* receiving the header block */
    STREAM_BODY,      /* receiving the body */
    STREAM_WAITING,   /* complete, waiting to be passed on */
    STREAM_HANDLING,  /* passed on to the handler */
    STREAM_RESPONDED, /* only the response remains to be sent */
} StreamState;

typedef struct Session {
    HttpClient base; /* first, so that it can be cast */
    Http2 *http2;
    LoopTimer idle;
    LoopTask dispatch_task; /* passes on waiting requests, in the next iteration of the loop */
    size_t held;            /* bytes of heads and bodies */
    size_t reserved;        /* bytes that streams have reserved for bodies */
    uint64_t body_max;      /* the largest body that the peer could send so far */
    uint32_t unanswered;    /* requests passed on whose response has not started */
} Session;

typedef struct Stream {
    Http2Stream http2; /* first, so that it can be cast */
    HttpRequest request;
    Http1Reader reader; /* reads the head, which is rewritten as HTTP/1.1 */
    StreamState state;
    LoopTimer timer;
    LoopTask drain;       /* reports pieces that were sent, in the next iteration of the loop */
    size_t held;          /* bytes counted in the session's and the server's total */
    size_t reserved;      /* bytes counted in the session's total */
    size_t unreleased;    /* bytes of the body for which the window was not reopened */
    size_t stalled_at;    /* queued bytes when the timer was started */
    bool is_counted;      /* counted in `unanswered` */
    bool is_body_decided; /* `reads_body` was called */
} Stream;

static Session *session_of(const Stream *stream)
{
    return (Session *)stream->request.client;
}

static HttpServer *server_of(const Stream *stream)
{
    return stream->request.client->server;
}

static Stream *stream_of(HttpRequest *request)
{
    return (Stream *)((char *)request - offsetof(Stream, request));
}

/* The stream that was opened first. */
static Stream *find_oldest(const Session *session, bool (*fits)(const Stream *stream))
{
    Stream *found = NULL;
    for (Http2Stream *one = http2_first_stream(session->http2); one != NULL; one = one->next) {
        if (fits((Stream *)one) && (found == NULL || one->id < found->http2.id)) {
            found = (Stream *)one;
        }
    }
    return found;
}

/* --- Memory accounting ----------------------------------------------------------------------- */

static void hold(Stream *stream, size_t bytes)
{
    stream->held += bytes;
    session_of(stream)->held += bytes;
    server_of(stream)->held += bytes;
}

static uint64_t body_length(const Stream *stream)
{
    const Http1Head *head = &stream->reader.head;
    return head->body == HTTP1_BODY_LENGTH ? head->length : stream->reader.body_max;
}

static bool is_starved(const Stream *stream)
{
    return stream->state == STREAM_BODY && stream->reserved == 0 &&
           stream->unreleased >= INITIAL_WINDOW / 2;
}

/* Reserves space for the entire body, if there is enough, and opens the window. */
static void open_window(Stream *stream)
{
    Session *session = session_of(stream);
    uint64_t body_bytes = body_length(stream);
    if (stream->reserved == 0) {
        if (session->reserved + body_bytes > RESERVED_BODIES * session->body_max) {
            return; /* wait until other bodies are processed */
        }
        stream->reserved = body_bytes;
        session->reserved += body_bytes;
    }
    http2_stream_open_window(&stream->http2, stream->unreleased, BODY_WINDOW);
    stream->unreleased = 0;
}

/* Releases the memory that is counted for the request. */
static void release_request(Stream *stream)
{
    Session *session = session_of(stream);
    session->held -= stream->held;
    server_of(stream)->held -= stream->held;
    session->reserved -= stream->reserved;
    session->unanswered -= stream->is_counted;
    stream->held = stream->reserved = 0;
    stream->is_counted = false;
    http_request_reset(&stream->request);
    stream->state = STREAM_RESPONDED;
    loop_defer(server_of(stream)->options.loop, &session->dispatch_task);
}

/* --- Passing on requests --------------------------------------------------------------------- */

static bool is_waiting(const Stream *stream)
{
    return stream->state == STREAM_WAITING;
}

static void dispatch(Session *session)
{
    Stream *stream;
    while (session->unanswered < CONCURRENT_MAX && http2_queued(session->http2) < QUEUED_MAX &&
           (stream = find_oldest(session, is_waiting)) != NULL) {
        stream->state = STREAM_HANDLING;
        stream->is_counted = true;
        session->unanswered++;
        http_request_dispatch(&stream->request);
    }
}

static void dispatch_waiting(void *context)
{
    Session *session = context;
    Stream *stream;
    if (session->base.is_disconnected) {
        session->base.kind->free(&session->base);
        return;
    }
    http_client_count_unsent(&session->base, http2_queued(session->http2));
    while ((stream = find_oldest(session, is_starved)) != NULL) {
        open_window(stream);
        if (stream->reserved == 0) {
            break;
        }
    }
    dispatch(session);
}

/* --- Responses ------------------------------------------------------------------------------- */

static void lower(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        text[i] = ascii_lower(text[i]);
    }
}

/* Header names of HTTP/2 are lowercase. Connection-specific headers are not among them. */
static uint32_t split_fields(Buf *lines, Http2Header *out, uint32_t count)
{
    Str rest = buf_str(lines), line;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        size_t colon = str_find(line, STR(":"), 0);
        BUG_IF(count == RESPONSE_FIELDS_MAX);
        lower(lines->data + (line.data - lines->data), colon);
        out[count++] =
            (Http2Header){ str_slice(line, 0, colon), str_slice(line, colon + 2, line.len - 1) };
    }
    return count;
}

/* `length` is NULL if unknown. */
static void respond(Stream *stream, int status, const char *content_type, const size_t *length,
                    bool ended)
{
    Http2Header fields[RESPONSE_FIELDS_MAX];
    char status_text[16], length_text[24];
    Buf lines = buf_make(BUF_UNLIMITED);
    uint32_t count = 0;
    snprintf(status_text, sizeof status_text, "%d", status);
    fields[count++] = (Http2Header){ STR(":status"), str_from_c(status_text) };
    if (length != NULL) {
        snprintf(length_text, sizeof length_text, "%zu", *length);
        fields[count++] = (Http2Header){ STR("content-length"), str_from_c(length_text) };
    }
    http_request_put_fields(&stream->request, &lines, content_type);
    count = split_fields(&lines, fields, count);
    http2_respond(&stream->http2, fields, count, ended);
    buf_clear(&lines);
}

static void watch_queue(Stream *stream)
{
    bool has_answer = stream->http2.ended && !stream->http2.peer_ended;
    stream->stalled_at = http2_stream_queued(&stream->http2);
    loop_timer_start(&stream->timer,
                     has_answer ? LINGER_MS : server_of(stream)->options.idle_timeout_ms);
}

/* Called when the response is complete; its last bytes may still be queued. */
static void finish_response(Stream *stream)
{
    loop_task_stop(server_of(stream)->options.loop, &stream->drain);
    release_request(stream);
    watch_queue(stream);
}

static void send_whole(Stream *stream, int status, const char *content_type, Str body)
{
    bool has_length = http_status_has_body(status);
    /* Applies to rejections too: a body in a response to HEAD would be a protocol error. */
    bool has_body = has_length && body.len > 0 && !str_eq_c(stream->reader.head.method, "HEAD");
    respond(stream, status, content_type, has_length ? &body.len : NULL, !has_body);
    if (has_body) {
        http2_send(&stream->http2, body);
        http2_end(&stream->http2, NULL, 0);
    }
    finish_response(stream);
}

static void send_response(HttpRequest *request, int status, const char *content_type, Str body)
{
    send_whole(stream_of(request), status, content_type, body);
}

static void refuse(Stream *stream, int status, const char *why)
{
    Buf text = buf_make(BUF_UNLIMITED);
    const HttpServer *server = session_of(stream)->base.server;
    const char *type = http_server_write_error(server, status, why, &text);
    send_whole(stream, status, type, buf_str(&text));
    buf_clear(&text);
}

/* Resets the stream without a response, or in the middle of one. */
static void reset_stream(Stream *stream, uint32_t code)
{
    http_request_cancel(&stream->request);
    finish_response(stream);
    http2_reset(&stream->http2, code);
}

static void begin_response(HttpRequest *request, int status, const char *content_type)
{
    Stream *stream = stream_of(request);
    Session *session = session_of(stream);
    respond(stream, status, content_type, NULL, false);
    session->unanswered--;
    stream->is_counted = false;
    loop_defer(session->base.server->options.loop, &session->dispatch_task);
}

static void send_piece(HttpRequest *request, Str piece)
{
    Stream *stream = stream_of(request);
    if (!http_request_needs_body(request)) {
        loop_defer(server_of(stream)->options.loop, &stream->drain);
        return;
    }
    http2_send(&stream->http2, piece);
    loop_defer(server_of(stream)->options.loop, &session_of(stream)->dispatch_task);
    if (!loop_timer_started(&stream->timer)) {
        watch_queue(stream);
    }
}

static size_t count_unsent(HttpRequest *request)
{
    return http2_stream_queued(&stream_of(request)->http2);
}

static void end_response(HttpRequest *request)
{
    Stream *stream = stream_of(request);
    http2_end(&stream->http2, NULL, 0);
    finish_response(stream);
}

static void abort_response(HttpRequest *request)
{
    Stream *stream = stream_of(request);
    finish_response(stream);
    http2_reset(&stream->http2, HTTP2_INTERNAL_ERROR);
}

static void drained(void *context)
{
    Stream *stream = context;
    /* Pieces queued since then are reported when they are sent. */
    if (stream->request.in_pieces && http2_stream_queued(&stream->http2) == 0) {
        stream->request.drained(stream->request.drained_context);
    }
}

static void expire(void *context)
{
    Stream *stream = context;
    if (stream->state == STREAM_HEAD) {
        /* While a header block is incomplete, nothing else can arrive on this connection. */
        http2_abort(session_of(stream)->http2, HTTP2_ENHANCE_YOUR_CALM,
                    "a header block was not received in time");
    } else if (stream->state == STREAM_BODY) {
        refuse(stream, 408, "the request was not received in time");
    } else if (stream->http2.ended) {
        http2_reset(&stream->http2, HTTP2_NO_ERROR);
    } else if (http2_stream_queued(&stream->http2) < stream->stalled_at) {
        watch_queue(stream);
    } else {
        reset_stream(stream, HTTP2_CANCEL);
    }
}

/* --- Requests -------------------------------------------------------------------------------- */

static Http2Stream *opened(void *context)
{
    Session *session = context;
    const HttpServerOptions *options = &session->base.server->options;
    Stream *stream = memory_new(sizeof *stream);
    http_request_init(&stream->request, &session->base, &stream->reader.head);
    http1_reader_init(&stream->reader, HTTP1_REQUEST, options->body_max);
    loop_timer_init(&stream->timer, options->loop, expire, stream);
    loop_task_init(&stream->drain, drained, stream);
    loop_timer_start(&stream->timer, options->request_timeout_ms);
    loop_timer_stop(&session->idle);
    return &stream->http2;
}

/* Whether all connections together hold so much memory that this one has to wait. */
static bool is_over_share(const Session *session)
{
    const HttpServer *server = session->base.server;
    return server->held > server->options.memory_max && session->held > SHARE;
}

/* Called once, before the body is read. Returns false if it is not read; the request is then passed
 * on without it. */
static bool decide_body(Stream *stream)
{
    Session *session = session_of(stream);
    uint64_t max;
    if (stream->is_body_decided) {
        return true;
    }
    stream->is_body_decided = true;
    if (!http_request_reads_body(&stream->request, &max)) {
        loop_timer_stop(&stream->timer);
        stream->state = STREAM_WAITING;
        dispatch(session);
        return false;
    }
    stream->reader.body_max = max;
    if (max > session->body_max) {
        session->body_max = max;
    }
    return true;
}

static void read_head(Stream *stream, const Http2Headers *headers)
{
    Session *session = session_of(stream);
    Error err;
    if (session->base.server->stopping || is_over_share(session)) {
        reset_stream(stream, HTTP2_REFUSED_STREAM);
        return;
    }
    if (!http_h2_head_read(headers, &stream->reader, &err)) {
        refuse(stream, stream->reader.error_status, err.text);
        return;
    }
    hold(stream, stream->reader.text.len);
    stream->state = STREAM_BODY;
    if (stream->reader.head.body != HTTP1_BODY_NONE && !decide_body(stream)) {
        return;
    }
    if (stream->reader.head.expects_continue) {
        http2_send_interim(&stream->http2, STR("100"));
    }
}

static void headers_received(void *context, Http2Stream *http2, const Http2Headers *headers)
{
    Stream *stream = (Stream *)http2;
    if (stream->state == STREAM_HEAD) {
        read_head(stream, headers);
    } else if (stream->state == STREAM_BODY) {
        refuse(stream, 400, "invalid HTTP: headers after the body");
    }
}

static size_t held_max(const Session *session)
{
    return STREAMS_MAX * (size_t)(INITIAL_WINDOW + HTTP1_HEAD_MAX) +
           RESERVED_BODIES * session->body_max + BODY_WINDOW;
}

static void on_data(void *context, Http2Stream *http2, Str bytes)
{
    Session *session = context;
    Stream *stream = (Stream *)http2;
    http2_consumed(session->http2, bytes.len);
    if (stream->state != STREAM_BODY || bytes.len == 0 || !decide_body(stream)) {
        return;
    }
    if (bytes.len > stream->reader.body_max - stream->request.body.len) {
        refuse(stream, 413, "the request body is too large");
        return;
    }
    buf_put(&stream->request.body, bytes);
    hold(stream, bytes.len);
    if (!http_request_hold_body(&stream->request, bytes.len) && session->held > SHARE) {
        refuse(stream, 429, "too many request bytes in memory; try again later");
        return;
    }
    stream->unreleased += bytes.len;
    if (session->held > held_max(session)) {
        /* The peer has not acknowledged our window size and exceeds it. */
        http2_abort(session->http2, HTTP2_ENHANCE_YOUR_CALM,
                    "the peer exceeds the flow-control window");
    } else if (stream->reserved > 0 || is_starved(stream)) {
        open_window(stream);
    }
}

static bool matches_length(const Stream *stream)
{
    const Http1Head *head = &stream->reader.head;
    return http1_find(head, "Content-Length") == NULL || head->length == stream->request.body.len;
}

static void request_ended(void *context, Http2Stream *http2)
{
    Session *session = context;
    Stream *stream = (Stream *)http2;
    if (stream->state != STREAM_BODY) {
        return;
    }
    loop_timer_stop(&stream->timer);
    if (!matches_length(stream)) {
        refuse(stream, 400, "invalid HTTP: the body does not match its Content-Length");
        return;
    }
    if (stream->reader.head.body == HTTP1_BODY_NONE && stream->request.body.len > 0) {
        stream->reader.head.body = HTTP1_BODY_CHUNKED; /* its length was not announced */
    }
    stream->state = STREAM_WAITING;
    dispatch(session);
}

static void part_sent(void *context, Http2Stream *http2)
{
    Session *session = context;
    Stream *stream = (Stream *)http2;
    Loop *loop = session->base.server->options.loop;
    if (http2_stream_queued(http2) == 0) {
        loop_timer_stop(&stream->timer);
        if (stream->request.in_pieces) {
            loop_defer(loop, &stream->drain);
        } else if (http2->ended && !http2->peer_ended) {
            loop_timer_start(&stream->timer, LINGER_MS);
        }
    }
    loop_defer(loop, &session->dispatch_task);
}

static void stream_closed(void *context, Http2Stream *http2, uint32_t code)
{
    Session *session = context;
    Stream *stream = (Stream *)http2;
    const HttpServerOptions *options = &session->base.server->options;
    http_request_cancel(&stream->request);
    release_request(stream);
    loop_timer_stop(&stream->timer);
    loop_task_stop(options->loop, &stream->drain);
    http1_reader_clear(&stream->reader);
    free(stream);
    if (http2_stream_count(session->http2) == 0) {
        loop_timer_start(&session->idle, options->idle_timeout_ms);
    }
}

/* --- Connection ------------------------------------------------------------------------------ */

static void session_free(HttpClient *base)
{
    Session *session = (Session *)base;
    http2_free(session->http2); /* closes the streams */
    loop_timer_stop(&session->idle);
    loop_task_stop(base->server->options.loop, &session->dispatch_task);
    http_client_remove(base);
    free(session);
}

static void ready(void *context)
{
}

static void connection_ended(void *context, const Error *why)
{
    session_free(context);
}

static void start_idle_timer(void *context)
{
    Session *session = context;
    http2_shut_down(session->http2);
}

/* Complete requests may still be answered. For others the peer learns that they were not
 * processed. */
static void stop(HttpClient *base)
{
    Session *session = (Session *)base;
    for (Http2Stream *one = http2_first_stream(session->http2), *next; one != NULL; one = next) {
        Stream *stream = (Stream *)one;
        next = one->next;
        if (stream->request.in_pieces) {
            reset_stream(stream, HTTP2_CANCEL);
        } else if (stream->state == STREAM_BODY) {
            reset_stream(stream, HTTP2_REFUSED_STREAM);
        }
    }
    http2_shut_down(session->http2);
}

static void disconnect(HttpClient *base)
{
    Session *session = (Session *)base;
    loop_defer(base->server->options.loop, &session->dispatch_task);
}

static const HttpKind kind = {
    .respond = send_response,
    .begin = begin_response,
    .piece = send_piece,
    .unsent = count_unsent,
    .end = end_response,
    .abort = abort_response,
    .stop = stop,
    .disconnect = disconnect,
    .free = session_free,
};

static const Http2Events events = {
    .opened = opened,
    .headers = headers_received,
    .data = on_data,
    .peer_ended = request_ended,
    .sent = part_sent,
    .closed = stream_closed,
    .ready = ready,
    .connection_closed = connection_ended,
};

static int64_t at_most(int64_t ms, int64_t limit_ms)
{
    return ms < limit_ms ? ms : limit_ms;
}

void http_h2_adopt(HttpServer *server, Connection *connection)
{
    Session *session = memory_new(sizeof *session);
    http_client_add(&session->base, server, &kind, connection);
    loop_timer_init(&session->idle, server->options.loop, start_idle_timer, session);
    loop_timer_start(&session->idle, server->options.idle_timeout_ms);
    loop_task_init(&session->dispatch_task, dispatch_waiting, session);
    Http2Options options = http2_defaults();
    options.is_server = true;
    options.delays_reset = true;
    options.streams_max = STREAMS_MAX;
    options.stream_window = INITIAL_WINDOW;
    options.header_bytes_max = HTTP1_HEAD_MAX;
    options.settings_timeout_ms =
        at_most(options.settings_timeout_ms, server->options.request_timeout_ms);
    options.ping_timeout_ms = at_most(options.ping_timeout_ms, server->options.idle_timeout_ms);
    options.events = &events;
    options.context = session;
    session->http2 = http2_new(connection, &options);
}
