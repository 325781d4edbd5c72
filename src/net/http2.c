/* The connection part of HTTP/2: feeding nghttp2, flushing its frames, keepalive, and closing.
 * Callbacks of nghttp2 are in http2_session.c, streams in http2_stream.c.
 *
 * nghttp2 must not be called recursively from its own callbacks, so a flush requested there is
 * deferred to the end of connection_received(). Callbacks of the owner may free the connection, so
 * memory is released by the outermost call (`busy`). */
#include "net/http2.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "net/http2_inner.h"

Http2Options http2_defaults(void)
{
    return (Http2Options){
        .streams_max = 100,
        .stream_window = 64 << 10,
        .connection_window = 256 << 10,
        .header_bytes_max = 8 << 10,
        .settings_timeout_ms = 10000,
        .ping_after_ms = 30000,
        .ping_timeout_ms = 20000,
    };
}

Str http2_headers_find(const Http2Headers *headers, const char *name)
{
    for (uint32_t i = 0; i < headers->count; i++) {
        if (str_eq_c(headers->items[i].name, name)) {
            return headers->items[i].value;
        }
    }
    return STR_EMPTY;
}

/* --- Closing --------------------------------------------------------------------------------- */

static void release(Http2 *http2)
{
    http2_block_drop(http2);
    nghttp2_session_del(http2->session);
    free(http2);
}

static void leave(Http2 *http2)
{
    if (--http2->busy == 0 && http2->freed) {
        release(http2);
    }
}

static void close_streams(Http2 *http2, uint32_t code)
{
    while (http2->first != NULL) {
        Http2Stream *stream = http2->first;
        nghttp2_session_set_stream_user_data(http2->session, stream->id, NULL);
        http2_stream_close(stream, code);
    }
}

static void stop(Http2 *http2)
{
    loop_timer_stop(&http2->timer);
    loop_task_stop(http2->loop, &http2->flush);
}

static void close_with(Http2 *http2, const Error *why)
{
    if (http2->is_closed || http2->freed) {
        return;
    }
    Error reason = *why;
    if (http2->abort_reason != NULL) {
        error_set(&reason, ERROR_UNAVAILABLE, "%s", http2->abort_reason);
    }
    http2->is_closed = true;
    http2->end_reason = reason.text;
    stop(http2);
    close_streams(http2, HTTP2_REFUSED_STREAM);
    if (!http2->freed) {
        http2->options.events->connection_closed(http2->options.context, &reason);
    }
    http2->end_reason = NULL;
}

void http2_free(Http2 *http2)
{
    if (http2 == NULL || http2->freed) {
        return;
    }
    http2->busy++;
    http2->freed = true;
    stop(http2);
    close_streams(http2, HTTP2_CANCEL);
    connection_free(TAKE(http2->connection));
    leave(http2);
}

/* Queues the final frames, then closes the connection. */
static void finish(Http2 *http2)
{
    if (!http2->finishing) {
        http2->finishing = true;
        connection_finish(http2->connection, HTTP2_CLOSE_MS);
    }
}

void http2_abort(Http2 *http2, uint32_t code, const char *reason)
{
    if (!http2->finishing && !http2->is_closed && !http2->freed && http2->abort_reason == NULL) {
        http2->abort_reason = reason;
        http2->terminated = true;
        nghttp2_session_terminate_session(http2->session, code);
        http2_flush_later(http2);
    }
}

/* --- Sending --------------------------------------------------------------------------------- */

static void note_progress(Http2 *http2)
{
    size_t unsent = connection_unsent(http2->connection);
    if (unsent == 0) {
        http2->unsent_ms = 0;
    } else if (http2->unsent_ms == 0 || unsent < http2->unsent_before) {
        http2->unsent_ms = loop_now_ms(http2->loop);
    }
    http2->unsent_before = unsent;
}

/* Frames are created only as fast as the kernel accepts them; the rest waits in the streams. */
static void flush(Http2 *http2)
{
    char piece[HTTP2_WRITE_PIECE];
    if (!http2->connected || http2->is_closed || http2->finishing || http2->freed) {
        return;
    }
    http2->busy++;
    bool more = true;
    while (more && connection_unsent(http2->connection) == 0) {
        http2->piece = piece;
        http2->piece_len = 0;
        http2->flush_again = false;
        int result = nghttp2_session_send(http2->session);
        http2->piece = NULL;
        if (http2->freed) {
            break;
        }
        more = result == 0 && (http2->piece_len > 0 || http2->flush_again);
        connection_write(http2->connection, str_from(piece, http2->piece_len));
        if (result != 0) {
            finish(http2);
        }
    }
    if (!http2->freed) {
        note_progress(http2);
        /* Shared by all streams: no stream is left, and no new ones will be opened. */
        if (http2->shutting_down && http2->stream_count == 0 && !http2->terminated) {
            http2->terminated = true;
            nghttp2_session_terminate_session(http2->session, NGHTTP2_NO_ERROR);
            http2_flush_later(http2);
        } else if (nghttp2_session_want_read(http2->session) == 0 &&
                   nghttp2_session_want_write(http2->session) == 0) {
            finish(http2);
        }
    }
    leave(http2);
}

static void flush_now(void *context)
{
    flush(context);
}

void http2_flush_later(Http2 *http2)
{
    if (http2->piece != NULL) {
        http2->flush_again = true;
    } else if (!http2->is_closed && !http2->freed && !http2->receiving) {
        loop_defer(http2->loop, &http2->flush);
    }
}

/* --- Connection events ----------------------------------------------------------------------- */

static void connection_became_ready(void *context)
{
    Http2 *http2 = context;
    http2->connected = true;
    http2->last_frame_ms = loop_now_ms(http2->loop);
    loop_timer_start(&http2->timer, http2->options.settings_timeout_ms);
    flush(http2);
}

static void connection_received(void *context, Str bytes)
{
    Http2 *http2 = context;
    if (http2->finishing || http2->is_closed || http2->freed) {
        return;
    }
    http2->busy++;
    http2->receiving = true; /* flushed at the end */
    ssize_t result =
        nghttp2_session_mem_recv(http2->session, (const uint8_t *)bytes.data, bytes.len);
    http2->receiving = false;
    if (!http2->freed) {
        if (result < 0 && http2->abort_reason == NULL) {
            http2->abort_reason = nghttp2_strerror((int)result);
            http2->terminated = true;
            nghttp2_session_terminate_session(http2->session, result == NGHTTP2_ERR_FLOODED
                                                                  ? NGHTTP2_ENHANCE_YOUR_CALM
                                                                  : NGHTTP2_PROTOCOL_ERROR);
        } else if (nghttp2_session_get_outbound_queue_size(http2->session) >
                   HTTP2_FRAMES_QUEUED_MAX) {
            http2_abort(http2, HTTP2_ENHANCE_YOUR_CALM,
                        "the peer sends requests but does not read the responses");
        }
        flush(http2);
    }
    leave(http2);
}

static void connection_drained(void *context)
{
    flush(context);
}

static void connection_closed(void *context, const Error *why)
{
    Http2 *http2 = context;
    Error reason = *why;
    if (reason.kind == ERROR_NONE) {
        error_set(&reason, ERROR_UNAVAILABLE, "the connection was closed");
    }
    http2->busy++;
    close_with(http2, &reason);
    leave(http2);
}

static const ConnectionEvents connection_events = {
    .ready = connection_became_ready,
    .received = connection_received,
    .drained = connection_drained,
    .closed = connection_closed,
};

/* --- Keepalive ------------------------------------------------------------------------------- */

static void disconnect(Http2 *http2, const char *why)
{
    Error err;
    error_set(&err, ERROR_TIMEOUT, "%s", why);
    http2->busy++;
    close_with(http2, &err);
    leave(http2);
}

static void check_keepalive(void *context)
{
    Http2 *http2 = context;
    const Http2Options *options = &http2->options;
    note_progress(http2);
    int64_t now = loop_now_ms(http2->loop), silent = now - http2->last_frame_ms;
    int64_t stalled = http2->unsent_ms == 0 ? 0 : now - http2->unsent_ms;
    if (http2->finishing) {
        return; /* connection.c has its own timeout in this state */
    }
    if (!http2->has_settings) {
        disconnect(http2, "the peer does not speak HTTP/2");
        return;
    }
    if (stalled >= options->ping_timeout_ms) {
        disconnect(http2, "the peer has stopped reading");
        return;
    }
    if (http2->awaiting_pong && silent >= options->ping_after_ms + options->ping_timeout_ms) {
        disconnect(http2, "the peer has stopped responding");
        return;
    }
    if (!http2->awaiting_pong && silent >= options->ping_after_ms) {
        http2->awaiting_pong = true;
        nghttp2_submit_ping(http2->session, NGHTTP2_FLAG_NONE, NULL);
        http2_flush_later(http2);
    }
    /* The timer is not restarted for every frame; it fires when the earliest of these can be
     * due. */
    int64_t next = http2->awaiting_pong ? options->ping_after_ms + options->ping_timeout_ms - silent
                                        : options->ping_after_ms - silent;
    if (http2->unsent_ms != 0 && next > options->ping_timeout_ms - stalled) {
        next = options->ping_timeout_ms - stalled;
    }
    loop_timer_start(&http2->timer, next > 0 ? next : 1);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

Http2 *http2_new(Connection *connection, const Http2Options *options)
{
    Http2 *http2 = memory_new(sizeof *http2);
    http2->connection = connection;
    http2->loop = connection_loop(connection);
    http2->options = *options;
    http2->allowance = HTTP2_CHEAP_FRAMES_BURST;
    http2->allowance_ms = http2->last_frame_ms = loop_now_ms(http2->loop);
    loop_timer_init(&http2->timer, http2->loop, check_keepalive, http2);
    loop_task_init(&http2->flush, flush_now, http2);
    http2->session = http2_session_new(http2);
    connection_set_events(connection, &connection_events, http2);
    if (connection_is_ready(connection)) {
        http2->connected = true;
        loop_timer_start(&http2->timer, options->settings_timeout_ms);
        http2_flush_later(http2);
    }
    return http2;
}

void http2_shut_down(Http2 *http2)
{
    if (!http2->shutting_down && !http2->is_closed && !http2->freed) {
        http2->shutting_down = true;
        if (http2->options.is_server) {
            /* Streams that the peer has already opened are still served. */
            nghttp2_submit_shutdown_notice(http2->session);
        }
        http2_flush_later(http2);
    }
}

Connection *http2_connection(const Http2 *http2)
{
    return http2->connection;
}

const char *http2_end_reason(const Http2 *http2)
{
    return http2->end_reason;
}

uint32_t http2_stream_count(const Http2 *http2)
{
    return http2->stream_count;
}

Http2Stream *http2_first_stream(const Http2 *http2)
{
    return http2->first;
}

size_t http2_queued(const Http2 *http2)
{
    return http2->queued + (http2->connection == NULL ? 0 : connection_unsent(http2->connection));
}
