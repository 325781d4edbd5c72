/* gRPC calls: the part that servers and clients share.
 *
 * Callbacks of the owner may free the call, the session or the client, so every entry point that
 * may run a callback is bracketed by session_enter and session_leave, and a session that is freed
 * in the meantime is only released by the outermost session_leave. A call ends through
 * grpc_call_report_end, which reports `ended` once, and is released when http2 closes its stream.
 * Received bytes are charged to the session, its node and the server before they are buffered. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "net/grpc_inner.h"

/* --- Lifecycle ------------------------------------------------------------------------------- */

/* These two must bracket everything that runs callbacks of the owner, which may free the
 * session. */
static void session_enter(GrpcSession *session)
{
    session->busy++;
}

static void session_leave(GrpcSession *session)
{
    if (--session->busy == 0 && session->freed) {
        free(session);
    }
}

static void timer_fired(void *context);
static void resume_now(void *context);

GrpcCall *grpc_call_new(GrpcSession *session, bool is_server)
{
    GrpcCall *call = memory_new(sizeof *call);
    call->session = session;
    call->is_server = is_server;
    call->deadline_ms = call->arrive_ms = INT64_MAX;
    call->input = buf_make(BUF_UNLIMITED);
    loop_timer_init(&call->timer, session->loop, timer_fired, call);
    loop_task_init(&call->resume, resume_now, call);
    return call;
}

void grpc_call_start_decoder(GrpcCall *call, uint32_t message_max)
{
    grpc_decoder_init(&call->decoder, message_max);
}

/* Returns false if that would exceed a limit. */
static bool charge(GrpcCall *call, size_t held)
{
    GrpcSession *session = call->session;
    size_t of_node = session->nodes == NULL
                         ? 0
                         : origin_counts_hold(session->nodes, session->node, call->charged, held);
    session->held += held - call->charged;
    if (session->memory != NULL) {
        session->memory->held += held - call->charged;
    }
    call->charged = held;
    return session->held <= session->limits.session_max && of_node <= session->limits.session_max &&
           (session->memory == NULL || session->memory->held <= session->memory->max);
}

/* Discards received bytes that are no longer needed. */
static void drop_input(GrpcCall *call)
{
    size_t waiting = call->input.len;
    buf_clear(&call->input);
    grpc_decoder_clear(&call->decoder);
    charge(call, 0);
    if (waiting > 0 && !call->stream.is_closed) {
        http2_stream_consumed(&call->stream, waiting);
    }
}

static void leave(GrpcCall *call)
{
    if (--call->busy == 0 && call->released) {
        free(call->text);
        free(call);
    }
}

void grpc_call_release(GrpcCall *call)
{
    call->busy++;
    call->ended = true;
    loop_timer_stop(&call->timer);
    loop_task_stop(call->session->loop, &call->resume);
    drop_input(call);
    call->released = true;
    leave(call);
}

void grpc_call_report_end(GrpcCall *call, GrpcStatus status, Str text)
{
    call->ended = true;
    /* The final response of a server's call has its own timeout. */
    if (!call->finished || call->stream.is_closed) {
        loop_timer_stop(&call->timer);
    }
    loop_task_stop(call->session->loop, &call->resume);
    drop_input(call);
    if (!call->end_reported) {
        call->end_reported = true;
        /* A refused call never reached its handler. */
        if (call->handler != NULL && call->handler->ended != NULL) {
            call->busy++;
            call->handler->ended(call, status, text);
            leave(call);
        }
    }
}

void grpc_call_break(GrpcCall *call, GrpcStatus status, const char *text)
{
    call->busy++;
    if (call->is_server) {
        grpc_call_finish(call, status, str_from_c(text));
        /* The client receives the reason; the handler learns that it can stop. */
        grpc_call_report_end(call, status, str_from_c(text));
    } else {
        http2_reset(&call->stream, HTTP2_CANCEL);
        grpc_call_report_end(call, status, str_from_c(text));
    }
    leave(call);
}

/* --- Timeouts -------------------------------------------------------------------------------- */

void grpc_call_arm_timer(GrpcCall *call)
{
    int64_t due = call->deadline_ms < call->arrive_ms ? call->deadline_ms : call->arrive_ms;
    if (due == INT64_MAX) {
        loop_timer_stop(&call->timer);
    } else {
        loop_timer_start(&call->timer, due - loop_now_ms(call->session->loop));
    }
}

static void timer_fired(void *context)
{
    GrpcCall *call = context;
    GrpcSession *session = call->session;
    session_enter(session);
    if (call->finished) {
        http2_reset(&call->stream, HTTP2_CANCEL);
    } else if (loop_now_ms(session->loop) < call->deadline_ms) {
        grpc_call_break(call, GRPC_DEADLINE_EXCEEDED, "the request did not arrive in time");
    } else {
        /* A client does not wait for queued data after its deadline. */
        if (call->is_server && http2_stream_queued(&call->stream) > 0) {
            call->finished = true;
            http2_reset(&call->stream, HTTP2_CANCEL);
        }
        grpc_call_break(call, GRPC_DEADLINE_EXCEEDED, "the deadline has passed");
    }
    session_leave(session);
}

/* --- Receiving ------------------------------------------------------------------------------- */

static bool has_single_input(const GrpcCall *call)
{
    return call->is_server ? call->kind == GRPC_UNARY || call->kind == GRPC_SERVER_STREAM
                           : call->kind == GRPC_UNARY || call->kind == GRPC_CLIENT_STREAM;
}

static void deliver_message(GrpcCall *call, Str message)
{
    if (call->messages > 0 && has_single_input(call)) {
        grpc_call_break(call, call->is_server ? GRPC_INVALID_ARGUMENT : GRPC_INTERNAL,
                        "more than one message where one is expected");
        return;
    }
    call->messages = 1;
    if (call->arrive_ms != INT64_MAX) {
        call->arrive_ms = INT64_MAX;
        grpc_call_arm_timer(call);
    }
    if (call->handler->message != NULL) {
        call->handler->message(call, message);
    }
}

/* Delivers the messages in `bytes`. Buffers the remainder if the handler pauses the call. */
static void decode_bytes(GrpcCall *call, Str bytes)
{
    Str rest = bytes;
    while (rest.len > 0 && !call->ended && !call->paused) {
        Error err = { 0 };
        bool complete;
        Str message;
        if (!grpc_decoder_next(&call->decoder, &rest, &complete, &message, &err)) {
            grpc_call_break(call,
                            err.kind == ERROR_LIMIT ? GRPC_RESOURCE_EXHAUSTED : GRPC_UNIMPLEMENTED,
                            err.text);
        } else if (complete) {
            deliver_message(call, message);
            grpc_decoder_discard(&call->decoder); /* the call may wait for long */
        } else if (!charge(call, grpc_decoder_buffered(&call->decoder))) {
            grpc_call_break(call, GRPC_RESOURCE_EXHAUSTED, "too many bytes in flight");
        }
    }
    if (call->ended) {
        rest = STR_EMPTY;
    } else if (!grpc_decoder_has_partial(&call->decoder)) {
        charge(call, 0);
    }
    if (rest.len > 0) {
        buf_put(&call->input, rest);
    }
    if (!call->stream.is_closed) {
        http2_stream_consumed(&call->stream, bytes.len - rest.len);
    }
}

static void received(void *context, Http2Stream *stream, Str bytes)
{
    GrpcSession *session = context;
    GrpcCall *call = grpc_call_of(stream);
    if (call->ended || call->handler == NULL) {
        http2_stream_consumed(stream, bytes.len);
        return;
    }
    if (call->paused) {
        /* Bounded by the window of the stream. */
        buf_put(&call->input, bytes);
        return;
    }
    session_enter(session);
    call->busy++;
    decode_bytes(call, bytes);
    leave(call);
    session_leave(session);
}

static void report_peer_end(GrpcCall *call)
{
    if (call->ended || call->handler == NULL) {
        return;
    }
    if (grpc_decoder_has_partial(&call->decoder)) {
        grpc_call_break(call, GRPC_INTERNAL, "the stream ended within a message");
    } else {
        call->session->side->peer_ended(call);
    }
}

static void peer_ended(void *context, Http2Stream *stream)
{
    GrpcSession *session = context;
    GrpcCall *call = grpc_call_of(stream);
    call->peer_ended = true;
    if (!call->paused || call->input.len == 0) {
        session_enter(session);
        call->busy++;
        report_peer_end(call);
        leave(call);
        session_leave(session);
    }
}

static void resume_now(void *context)
{
    GrpcCall *call = context;
    GrpcSession *session = call->session;
    if (call->ended || call->paused) {
        return;
    }
    session_enter(session);
    call->busy++;
    bool had_input = call->input.len > 0;
    AUTO_CLEAR(Buf) input = call->input;
    call->input = buf_make(BUF_UNLIMITED);
    decode_bytes(call, buf_str(&input));
    if (had_input && call->peer_ended && call->input.len == 0) {
        report_peer_end(call);
    }
    leave(call);
    session_leave(session);
}

void grpc_call_pause(GrpcCall *call)
{
    call->paused = true;
}

void grpc_call_resume(GrpcCall *call)
{
    if (call->paused && !call->ended) {
        call->paused = false;
        if (call->input.len > 0) {
            loop_defer(call->session->loop, &call->resume);
        }
    }
}

/* --- Sending --------------------------------------------------------------------------------- */

static const Http2Header answer_headers[] = {
    { { ":status", 7 }, { "200", 3 } },
    { { "content-type", 12 }, { "application/grpc", 16 } },
};

bool grpc_call_is_writable(const GrpcCall *call)
{
    return !call->ended && !call->finished && !call->stream.ending && !call->stream.is_closed &&
           http2_stream_queued(&call->stream) < call->session->limits.queue_max &&
           http2_queued(call->session->http2) < call->session->limits.session_max;
}

bool grpc_call_send(GrpcCall *call, Str message, Error *err)
{
    if (call->ended || call->finished || call->stream.ending || call->stream.is_closed) {
        return error_set(err, ERROR_UNAVAILABLE, "the call no longer accepts messages");
    }
    if (!grpc_call_is_writable(call)) {
        call->full = call->session->has_full_call = true;
        return error_set(err, ERROR_LIMIT, "the peer does not receive messages fast enough");
    }
    if (message.len > UINT32_MAX) {
        return error_set(err, ERROR_INVALID, "message of %zu bytes is too large", message.len);
    }
    if (call->is_server && !call->answered) {
        call->answered = true;
        http2_respond(&call->stream, answer_headers, COUNT_OF(answer_headers), false);
    }
    char prefix[GRPC_PREFIX];
    grpc_prefix_put((uint32_t)message.len, prefix);
    http2_send(&call->stream, str_from(prefix, sizeof prefix));
    http2_send(&call->stream, message);
    return true;
}

/* Whether the connection as a whole has space. */
static bool has_space(const GrpcSession *session)
{
    return http2_queued(session->http2) <= session->limits.session_max / 2;
}

static bool has_space_again(const GrpcCall *call)
{
    return call->full && !call->ended &&
           http2_stream_queued(&call->stream) <= call->session->limits.queue_max / 2;
}

/* Any call may have been delayed by the others. */
static void wake_writers(void *context)
{
    GrpcSession *session = context;
    session_enter(session);
    session->has_full_call = false;
    for (Http2Stream *stream = http2_first_stream(session->http2), *next;
         stream != NULL && !session->freed; stream = next) {
        GrpcCall *call = grpc_call_of(stream);
        /* Safe to iterate: streams are not closed while callbacks of `writable` run. */
        next = stream->next;
        call->busy++;
        if (has_space_again(call) && has_space(session)) {
            call->full = false;
            if (call->handler->writable != NULL) {
                call->handler->writable(call);
            }
        }
        session->has_full_call = session->has_full_call || call->full;
        leave(call);
    }
    session_leave(session);
}

static void wake_later(GrpcSession *session)
{
    if (session->has_full_call && !session->freed && has_space(session)) {
        loop_defer(session->loop, &session->wake);
    }
}

static void sent(void *context, Http2Stream *stream)
{
    wake_later(context);
}

void grpc_call_finish(GrpcCall *call, GrpcStatus status, Str text)
{
    BUG_IF(!call->is_server);
    if (call->finished || call->ended || call->stream.is_closed) {
        return;
    }
    call->finished = true;
    call->status = status;
    AUTO_CLEAR(Buf) escaped = buf_make(3 * GRPC_TEXT_MAX);
    char digits[4];
    int len = snprintf(digits, sizeof digits, "%d", (int)status);
    grpc_text_escape(text, &escaped);
    Http2Header headers[4];
    uint32_t count = 0;
    if (!call->answered) {
        headers[count++] = answer_headers[0];
        headers[count++] = answer_headers[1];
    }
    headers[count++] = (Http2Header){ STR("grpc-status"), str_from(digits, (size_t)len) };
    if (escaped.len > 0) {
        headers[count++] = (Http2Header){ STR("grpc-message"), buf_str(&escaped) };
    }
    if (call->answered) {
        http2_end(&call->stream, headers, count);
    } else {
        call->answered = true;
        http2_respond(&call->stream, headers, count, true);
    }
    loop_timer_start(&call->timer, GRPC_LINGER_MS);
}

void grpc_call_fail(GrpcCall *call, const Error *err)
{
    grpc_call_finish(call, grpc_status_from_error(err->kind), str_from_c(err->text));
}

void grpc_call_end_sending(GrpcCall *call)
{
    if (!call->ended) {
        http2_end(&call->stream, NULL, 0);
    }
}

void grpc_call_cancel(GrpcCall *call)
{
    call->end_reported = true;
    if (!call->ended) {
        call->ended = true;
        loop_timer_stop(&call->timer);
        loop_task_stop(call->session->loop, &call->resume);
        drop_input(call);
        http2_reset(&call->stream, HTTP2_CANCEL);
    }
}

/* --- Accessors ------------------------------------------------------------------------------- */

void grpc_call_set_data(GrpcCall *call, void *data)
{
    call->data = data;
}

void *grpc_call_data(const GrpcCall *call)
{
    return call->data;
}

const GrpcMethod *grpc_call_method(const GrpcCall *call)
{
    return call->method;
}

const Peer *grpc_call_peer(const GrpcCall *call)
{
    return connection_peer(http2_connection(call->session->http2));
}

Str grpc_call_header(const GrpcCall *call, const char *name)
{
    return call->headers == NULL ? STR_EMPTY : http2_headers_find(call->headers, name);
}

/* --- Sessions -------------------------------------------------------------------------------- */

static Http2Stream *opened(void *context)
{
    return &grpc_call_new(context, true)->stream;
}

static void headers_arrived(void *context, Http2Stream *stream, const Http2Headers *headers)
{
    GrpcSession *session = context;
    GrpcCall *call = grpc_call_of(stream);
    if (!call->ended) {
        session_enter(session);
        call->busy++;
        session->side->headers(call, headers);
        leave(call);
        session_leave(session);
    }
}

static void closed(void *context, Http2Stream *stream, uint32_t code)
{
    GrpcSession *session = context;
    GrpcCall *call = grpc_call_of(stream);
    session_enter(session);
    if (!call->end_reported) {
        session->side->closed(call, code);
    }
    grpc_call_release(call);
    wake_later(session);
    session_leave(session);
}

static void ready(void *context)
{
    GrpcSession *session = context;
    session_enter(session);
    session->side->ready(session);
    session_leave(session);
}

static void connection_ended(void *context, const Error *why)
{
    GrpcSession *session = context;
    session_enter(session);
    session->side->session_closed(session, why);
    session_leave(session);
}

static const Http2Events grpc_http2_events = {
    .opened = opened,
    .headers = headers_arrived,
    .data = received,
    .peer_ended = peer_ended,
    .sent = sent,
    .closed = closed,
    .ready = ready,
    .connection_closed = connection_ended,
};

GrpcSession *grpc_session_new(Connection *connection, const Http2Options *http2,
                              const GrpcSide *side, void *owner, GrpcLimits limits,
                              GrpcMemory *memory)
{
    GrpcSession *session = memory_new(sizeof *session);
    *session = (GrpcSession){ .loop = connection_loop(connection),
                              .side = side,
                              .owner = owner,
                              .limits = limits,
                              .memory = memory };
    loop_task_init(&session->wake, wake_writers, session);
    Http2Options options = *http2;
    options.events = &grpc_http2_events;
    options.context = session;
    session->http2 = http2_new(connection, &options);
    return session;
}

void grpc_session_free(GrpcSession *session)
{
    if (session != NULL && !session->freed) {
        session->busy++;
        session->freed = true;
        loop_task_stop(session->loop, &session->wake);
        http2_free(session->http2);
        session->memory = NULL;
        session->nodes = NULL;
        session_leave(session);
    }
}
