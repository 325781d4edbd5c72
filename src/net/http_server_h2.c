/* HTTP/2 on a connection of the server: a stream is a request.
 *
 * What a peer may make us hold is bounded: a body goes on beyond the first window of its stream
 * only when there is room for all of it, so that streams wait for one another and none for ever; how
 * much room there is follows from how large a body the peer may send;
 * requests are handed on only while answers leave. The rest is bounded by http2.h. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "net/http2.h"
#include "net/http_h2_head.h"
#include "net/http_server_inner.h"

enum {
    STREAMS_MAX = 100,
    FIRST_WINDOW = 16 << 10, /* of a stream that has no room of its own yet */
    BODY_WINDOW = 256 << 10, /* of one that has */
    ROOM_BODIES = 2,        /* the room for bodies: so many of the largest that the peer may send */
    AT_ONCE_MAX = 16,       /* requests whose answer has not begun */
    LINGER_MS = 2000,       /* for a peer to stop sending when it has its answer */
    QUEUED_MAX = 256 << 10, /* bytes of answers that wait, until the next request has its turn */
    SHARE = 64 << 10,       /* what a connection may hold when all together hold too much */
    ANSWER_FIELDS_MAX = 60,
};

typedef enum StreamState {
    STREAM_HEAD,     /* its header block is coming in */
    STREAM_BODY,     /* its body is */
    STREAM_WAITING,  /* the request is whole and waits for its turn */
    STREAM_TURN,     /* it was handed on */
    STREAM_ANSWERED, /* nothing is expected of anybody but to take the answer */
} StreamState;

typedef struct Session {
    HttpClient base; /* the first, so that one is the other */
    Http2 *http2;
    LoopTimer idle;
    LoopTask turns;      /* hands on what waits, in a turn of its own */
    size_t held;         /* bytes of heads and bodies */
    size_t room;         /* that streams have taken for bodies */
    uint64_t body_max;   /* the largest body that the peer could send so far */
    uint32_t unanswered; /* handed on, and the answer has not begun */
} Session;

typedef struct Stream {
    Http2Stream http2; /* the first, so that one is the other */
    HttpRequest request;
    Http1Reader reader; /* of the head, which is written as one of HTTP/1.1 */
    StreamState state;
    LoopTimer timer;
    LoopTask drain;  /* pieces that have left are told of in a turn of its own */
    size_t held;     /* of the session's and the server's */
    size_t room;     /* of the session's */
    size_t owed;     /* bytes of the body that its window was not opened for again */
    size_t stuck;    /* bytes that were queued when the timer was started */
    bool is_counted; /* among the unanswered */
    bool is_asked;   /* whether its body is read */
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

/* The one that was opened first. */
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

/* --- What is held ---------------------------------------------------------------------------- */

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
    return stream->state == STREAM_BODY && stream->room == 0 && stream->owed >= FIRST_WINDOW / 2;
}

/* Takes room for the whole body, when there is, and lets it come. */
static void open_window(Stream *stream)
{
    Session *session = session_of(stream);
    uint64_t wanted = body_length(stream);
    if (stream->room == 0) {
        if (session->room + wanted > ROOM_BODIES * session->body_max) {
            return; /* until others have gone */
        }
        stream->room = wanted;
        session->room += wanted;
    }
    http2_stream_open_window(&stream->http2, stream->owed, BODY_WINDOW);
    stream->owed = 0;
}

/* Nothing of the request is needed any more. */
static void let_go(Stream *stream)
{
    Session *session = session_of(stream);
    session->held -= stream->held;
    server_of(stream)->held -= stream->held;
    session->room -= stream->room;
    session->unanswered -= stream->is_counted;
    stream->held = stream->room = 0;
    stream->is_counted = false;
    http_request_reset(&stream->request);
    stream->state = STREAM_ANSWERED;
    loop_defer(server_of(stream)->options.loop, &session->turns);
}

/* --- Turns ----------------------------------------------------------------------------------- */

static bool is_waiting(const Stream *stream)
{
    return stream->state == STREAM_WAITING;
}

static void hand_on(Session *session)
{
    Stream *stream;
    while (session->unanswered < AT_ONCE_MAX && http2_queued(session->http2) < QUEUED_MAX &&
           (stream = find_oldest(session, is_waiting)) != NULL) {
        stream->state = STREAM_TURN;
        stream->is_counted = true;
        session->unanswered++;
        http_request_hand_on(&stream->request);
    }
}

static void take_turns(void *context)
{
    Session *session = context;
    Stream *stream;
    if (session->base.is_cut) {
        session->base.kind->free(&session->base);
        return;
    }
    http_client_count_unsent(&session->base, http2_queued(session->http2));
    while ((stream = find_oldest(session, is_starved)) != NULL) {
        open_window(stream);
        if (stream->room == 0) {
            break;
        }
    }
    hand_on(session);
}

/* --- Answers --------------------------------------------------------------------------------- */

static void lower(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        text[i] = ascii_lower(text[i]);
    }
}

/* The names of HTTP/2 are of lower case; what belongs to a connection is not among them. */
static uint32_t split_fields(Buf *lines, Http2Header *out, uint32_t count)
{
    Str rest = buf_str(lines), line;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        size_t colon = str_find(line, STR(":"), 0);
        BUG_IF(count == ANSWER_FIELDS_MAX);
        lower(lines->data + (line.data - lines->data), colon);
        out[count++] =
            (Http2Header){ str_slice(line, 0, colon), str_slice(line, colon + 2, line.len - 1) };
    }
    return count;
}

/* `length` is NULL when nobody knows it. */
static void respond(Stream *stream, int status, const char *content_type, const size_t *length,
                    bool ended)
{
    Http2Header fields[ANSWER_FIELDS_MAX];
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
    stream->stuck = http2_stream_queued(&stream->http2);
    loop_timer_start(&stream->timer,
                     has_answer ? LINGER_MS : server_of(stream)->options.idle_timeout_ms);
}

/* The answer is given; its last bytes may still wait. */
static void conclude(Stream *stream)
{
    loop_task_stop(server_of(stream)->options.loop, &stream->drain);
    let_go(stream);
    watch_queue(stream);
}

static void send_whole(Stream *stream, int status, const char *content_type, Str body)
{
    bool has_length = http_status_has_body(status);
    /* Also of a refusal: a body behind HEAD would be a fault of ours. */
    bool has_body = has_length && body.len > 0 && !str_eq_c(stream->reader.head.method, "HEAD");
    respond(stream, status, content_type, has_length ? &body.len : NULL, !has_body);
    if (has_body) {
        http2_send(&stream->http2, body);
        http2_end(&stream->http2, NULL, 0);
    }
    conclude(stream);
}

static void answer(HttpRequest *request, int status, const char *content_type, Str body)
{
    send_whole(stream_of(request), status, content_type, body);
}

static void refuse(Stream *stream, int status, const char *why)
{
    Buf text = buf_make(BUF_UNLIMITED);
    const HttpServer *server = session_of(stream)->base.server;
    const char *type = http_server_put_refusal(server, status, why, &text);
    send_whole(stream, status, type, buf_str(&text));
    buf_clear(&text);
}

/* Ends it without an answer, or in the middle of one. */
static void drop(Stream *stream, uint32_t code)
{
    http_request_lose(&stream->request);
    conclude(stream);
    http2_reset(&stream->http2, code);
}

static void begin_answer(HttpRequest *request, int status, const char *content_type)
{
    Stream *stream = stream_of(request);
    Session *session = session_of(stream);
    respond(stream, status, content_type, NULL, false);
    session->unanswered--;
    stream->is_counted = false;
    loop_defer(session->base.server->options.loop, &session->turns);
}

static void put_piece(HttpRequest *request, Str piece)
{
    Stream *stream = stream_of(request);
    if (!http_request_wants_body(request)) {
        loop_defer(server_of(stream)->options.loop, &stream->drain);
        return;
    }
    http2_send(&stream->http2, piece);
    loop_defer(server_of(stream)->options.loop, &session_of(stream)->turns);
    if (!loop_timer_started(&stream->timer)) {
        watch_queue(stream);
    }
}

static size_t count_unsent(HttpRequest *request)
{
    return http2_stream_queued(&stream_of(request)->http2);
}

static void end_answer(HttpRequest *request)
{
    Stream *stream = stream_of(request);
    http2_end(&stream->http2, NULL, 0);
    conclude(stream);
}

static void break_off(HttpRequest *request)
{
    Stream *stream = stream_of(request);
    conclude(stream);
    http2_reset(&stream->http2, HTTP2_INTERNAL_ERROR);
}

static void drained(void *context)
{
    Stream *stream = context;
    /* Others may wait since then, and are told of when they have left. */
    if (stream->request.in_pieces && http2_stream_queued(&stream->http2) == 0) {
        stream->request.drained(stream->request.drained_context);
    }
}

static void expire(void *context)
{
    Stream *stream = context;
    if (stream->state == STREAM_HEAD) {
        /* Nothing else can come on this connection meanwhile. */
        http2_abort(session_of(stream)->http2, HTTP2_ENHANCE_YOUR_CALM,
                    "a header block was not received in time");
    } else if (stream->state == STREAM_BODY) {
        refuse(stream, 408, "the request was not received in time");
    } else if (stream->http2.ended) {
        http2_reset(&stream->http2, HTTP2_NO_ERROR);
    } else if (http2_stream_queued(&stream->http2) < stream->stuck) {
        watch_queue(stream);
    } else {
        drop(stream, HTTP2_CANCEL);
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

/* Whether all connections together hold so much that this one has to wait. */
static bool is_crowded(const Session *session)
{
    const HttpServer *server = session->base.server;
    return server->held > server->options.memory_max && session->held > SHARE;
}

/* Once, before the body is read. False: it is not, and the request is handed on without it. */
static bool agree_on_body(Stream *stream)
{
    Session *session = session_of(stream);
    uint64_t max;
    if (stream->is_asked) {
        return true;
    }
    stream->is_asked = true;
    if (!http_request_reads_body(&stream->request, &max)) {
        loop_timer_stop(&stream->timer);
        stream->state = STREAM_WAITING;
        hand_on(session);
        return false;
    }
    stream->reader.body_max = max;
    if (max > session->body_max) {
        session->body_max = max;
    }
    return true;
}

static void take_head(Stream *stream, const Http2Headers *headers)
{
    Session *session = session_of(stream);
    Error err;
    if (session->base.server->stopping || is_crowded(session)) {
        drop(stream, HTTP2_REFUSED_STREAM);
        return;
    }
    if (!http_h2_head_read(headers, &stream->reader, &err)) {
        refuse(stream, stream->reader.refusal, err.text);
        return;
    }
    hold(stream, stream->reader.text.len);
    stream->state = STREAM_BODY;
    if (stream->reader.head.body != HTTP1_BODY_NONE && !agree_on_body(stream)) {
        return;
    }
    if (stream->reader.head.expects_continue) {
        http2_inform(&stream->http2, STR("100"));
    }
}

static void headers_came(void *context, Http2Stream *http2, const Http2Headers *headers)
{
    Stream *stream = (Stream *)http2;
    if (stream->state == STREAM_HEAD) {
        take_head(stream, headers);
    } else if (stream->state == STREAM_BODY) {
        refuse(stream, 400, "invalid HTTP: headers after the body");
    }
}

static size_t held_max(const Session *session)
{
    return STREAMS_MAX * (size_t)(FIRST_WINDOW + HTTP1_HEAD_MAX) + ROOM_BODIES * session->body_max +
           BODY_WINDOW;
}

static void data_came(void *context, Http2Stream *http2, Str bytes)
{
    Session *session = context;
    Stream *stream = (Stream *)http2;
    http2_consumed(session->http2, bytes.len);
    if (stream->state != STREAM_BODY || bytes.len == 0 || !agree_on_body(stream)) {
        return;
    }
    if (bytes.len > stream->reader.body_max - stream->request.body.len) {
        refuse(stream, 413, "the request body is too large");
        return;
    }
    buf_put(&stream->request.body, bytes);
    hold(stream, bytes.len);
    stream->owed += bytes.len;
    if (session->held > held_max(session)) {
        /* It has not told that it knows our windows, and goes beyond them. */
        http2_abort(session->http2, HTTP2_ENHANCE_YOUR_CALM,
                    "the peer exceeds the flow-control window");
    } else if (stream->room > 0 || is_starved(stream)) {
        open_window(stream);
    }
}

static bool has_its_length(const Stream *stream)
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
    if (!has_its_length(stream)) {
        refuse(stream, 400, "invalid HTTP: the body does not have its Content-Length");
        return;
    }
    if (stream->reader.head.body == HTTP1_BODY_NONE && stream->request.body.len > 0) {
        stream->reader.head.body = HTTP1_BODY_CHUNKED; /* nobody knew its length before */
    }
    stream->state = STREAM_WAITING;
    hand_on(session);
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
    loop_defer(loop, &session->turns);
}

static void stream_closed(void *context, Http2Stream *http2, uint32_t code)
{
    Session *session = context;
    Stream *stream = (Stream *)http2;
    const HttpServerOptions *options = &session->base.server->options;
    http_request_lose(&stream->request);
    let_go(stream);
    loop_timer_stop(&stream->timer);
    loop_task_stop(options->loop, &stream->drain);
    http1_reader_clear(&stream->reader);
    free(stream);
    if (http2_stream_count(session->http2) == 0) {
        loop_timer_start(&session->idle, options->idle_timeout_ms);
    }
}

/* --- The connection -------------------------------------------------------------------------- */

static void session_free(HttpClient *base)
{
    Session *session = (Session *)base;
    http2_free(session->http2); /* closes the streams */
    loop_timer_stop(&session->idle);
    loop_task_stop(base->server->options.loop, &session->turns);
    http_client_remove(base);
    free(session);
}

static void ready(void *context)
{
}

static void over(void *context, const Error *why)
{
    session_free(context);
}

static void grow_idle(void *context)
{
    Session *session = context;
    http2_shut_down(session->http2);
}

/* What is whole may be answered; of the rest the peer learns that nothing was done. */
static void stop(HttpClient *base)
{
    Session *session = (Session *)base;
    for (Http2Stream *one = http2_first_stream(session->http2), *next; one != NULL; one = next) {
        Stream *stream = (Stream *)one;
        next = one->next;
        if (stream->request.in_pieces) {
            drop(stream, HTTP2_CANCEL);
        } else if (stream->state == STREAM_BODY) {
            drop(stream, HTTP2_REFUSED_STREAM);
        }
    }
    http2_shut_down(session->http2);
}

static void cut(HttpClient *base)
{
    Session *session = (Session *)base;
    loop_defer(base->server->options.loop, &session->turns);
}

static const HttpKind kind = {
    .answer = answer,
    .begin = begin_answer,
    .piece = put_piece,
    .unsent = count_unsent,
    .end = end_answer,
    .break_off = break_off,
    .stop = stop,
    .cut = cut,
    .free = session_free,
};

static const Http2Events events = {
    .opened = opened,
    .headers = headers_came,
    .data = data_came,
    .peer_ended = request_ended,
    .sent = part_sent,
    .closed = stream_closed,
    .ready = ready,
    .over = over,
};

static int64_t at_most(int64_t ms, int64_t limit_ms)
{
    return ms < limit_ms ? ms : limit_ms;
}

void http_h2_adopt(HttpServer *server, Connection *connection)
{
    Session *session = memory_new(sizeof *session);
    http_client_add(&session->base, server, &kind, connection);
    loop_timer_init(&session->idle, server->options.loop, grow_idle, session);
    loop_timer_start(&session->idle, server->options.idle_timeout_ms);
    loop_task_init(&session->turns, take_turns, session);
    Http2Options options = http2_defaults();
    options.is_server = true;
    options.lingers = true;
    options.streams_max = STREAMS_MAX;
    options.stream_window = FIRST_WINDOW;
    options.header_bytes_max = HTTP1_HEAD_MAX;
    options.settings_timeout_ms =
        at_most(options.settings_timeout_ms, server->options.request_timeout_ms);
    options.ping_timeout_ms = at_most(options.ping_timeout_ms, server->options.idle_timeout_ms);
    options.events = &events;
    options.context = session;
    session->http2 = http2_new(connection, &options);
}
