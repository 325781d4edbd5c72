/* Streams: queues, and the data source for nghttp2. */
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "net/http2_inner.h"

static nghttp2_nv to_nv(Str name, Str value)
{
    return (nghttp2_nv){ .name = (uint8_t *)name.data,
                         .value = (uint8_t *)value.data,
                         .namelen = name.len,
                         .valuelen = value.len };
}

static void fill(nghttp2_nv *to, const Http2Header *headers, uint32_t count)
{
    BUG_IF(count > HTTP2_HEADERS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        to[i] = to_nv(headers[i].name, headers[i].value);
    }
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

void http2_stream_add(Http2 *http2, Http2Stream *stream, int32_t id)
{
    stream->http2 = http2;
    stream->id = id;
    stream->queue = buf_make(BUF_UNLIMITED);
    stream->next = http2->first;
    stream->previous = NULL;
    if (http2->first != NULL) {
        http2->first->previous = stream;
    }
    http2->first = stream;
    http2->stream_count++;
}

static void http2_stream_drop_queue(Http2Stream *stream)
{
    stream->http2->queued -= http2_stream_queued(stream);
    buf_clear(&stream->queue);
    stream->queue_at = 0;
    free(TAKE(stream->trailers));
}

void http2_stream_close(Http2Stream *stream, uint32_t code)
{
    Http2 *http2 = stream->http2;
    http2_stream_drop_queue(stream);
    *(stream->previous == NULL ? &http2->first : &stream->previous->next) = stream->next;
    if (stream->next != NULL) {
        stream->next->previous = stream->previous;
    }
    http2->stream_count--;
    stream->is_closed = true;
    http2->options.events->closed(http2->options.context, stream, code);
}

/* --- Sending --------------------------------------------------------------------------------- */

static ssize_t read_queue(nghttp2_session *session, int32_t id, uint8_t *to, size_t room,
                          uint32_t *flags, nghttp2_data_source *source, void *context)
{
    Http2 *http2 = context;
    Http2Stream *stream = source->ptr;
    if (http2->freed) {
        return NGHTTP2_ERR_CALLBACK_FAILURE; /* the stream may be freed already */
    }
    size_t left = http2_stream_queued(stream);
    if (left == 0 && !stream->ending) {
        stream->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (left > room) {
        return (ssize_t)room;
    }
    if (stream->ending) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        stream->ended = true;
        if (stream->trailers != NULL) {
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            int result = nghttp2_submit_trailer(session, id, stream->trailers->items,
                                                stream->trailers->count);
            free(TAKE(stream->trailers));
            if (result != 0) {
                return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
            }
        }
    }
    return (ssize_t)left;
}

int http2_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
                    size_t length, nghttp2_data_source *source, void *context)
{
    enum {
        HEAD = 9
    };
    Http2 *http2 = context;
    Http2Stream *stream = source->ptr;
    BUG_IF(frame->data.padlen != 0 || HEAD + length > HTTP2_WRITE_PIECE);
    if (http2->freed) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (stream->is_reset) {
        /* This frame was scheduled before its data was dropped. */
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    if (HEAD + length > HTTP2_WRITE_PIECE - http2->piece_len) {
        return NGHTTP2_ERR_WOULDBLOCK;
    }
    char *to = http2->piece + http2->piece_len;
    memcpy(to, head, HEAD);
    if (length > 0) {
        memcpy(to + HEAD, stream->queue.data + stream->queue_at, length);
    }
    http2->piece_len += HEAD + length;
    size_t windows = http2->windows + HTTP2_WINDOWS_FRAME + length / HTTP2_WINDOWS_BYTES;
    http2->windows = windows > HTTP2_WINDOWS_MAX ? HTTP2_WINDOWS_MAX : (uint32_t)windows;
    http2->queued -= length;
    stream->queue_at += length;
    if (stream->queue_at == stream->queue.len) {
        stream->queue_at = 0;
        if (stream->queue.cap > HTTP2_QUEUE_KEEP) {
            buf_clear(&stream->queue);
        } else {
            buf_reset(&stream->queue);
        }
    }
    if (length > 0) {
        http2->options.events->sent(http2->options.context, stream);
    }
    return 0;
}

static nghttp2_data_provider http2_stream_source(Http2Stream *stream)
{
    return (nghttp2_data_provider){ .source = { .ptr = stream }, .read_callback = read_queue };
}

bool http2_request(Http2 *http2, Http2Stream *stream, const Http2Header *headers, uint32_t count,
                   bool ended, Error *err)
{
    nghttp2_nv items[HTTP2_HEADERS_MAX];
    nghttp2_data_provider source = http2_stream_source(stream);
    if (http2->is_closed || http2->finishing || http2->shutting_down || http2->freed ||
        nghttp2_session_check_request_allowed(http2->session) == 0) {
        return error_set(err, ERROR_UNAVAILABLE, "the connection does not accept new calls");
    }
    fill(items, headers, count);
    int32_t id =
        nghttp2_submit_request(http2->session, NULL, items, count, ended ? NULL : &source, stream);
    if (id < 0) {
        return error_set(err, ERROR_UNAVAILABLE, "the connection does not accept new calls: %s",
                         nghttp2_strerror(id));
    }
    http2_stream_add(http2, stream, id);
    stream->ending = stream->ended = ended;
    http2_flush_later(http2);
    return true;
}

void http2_send_interim(Http2Stream *stream, Str status)
{
    nghttp2_nv item = to_nv(STR(":status"), status);
    if (nghttp2_submit_headers(stream->http2->session, NGHTTP2_FLAG_NONE, stream->id, NULL, &item,
                               1, NULL) != 0) {
        http2_reset(stream, HTTP2_INTERNAL_ERROR);
    }
    http2_flush_later(stream->http2);
}

void http2_respond(Http2Stream *stream, const Http2Header *headers, uint32_t count, bool ended)
{
    nghttp2_nv items[HTTP2_HEADERS_MAX];
    nghttp2_data_provider source = http2_stream_source(stream);
    fill(items, headers, count);
    stream->ending = stream->ended = ended;
    if (nghttp2_submit_response(stream->http2->session, stream->id, items, count,
                                ended ? NULL : &source) != 0) {
        http2_reset(stream, HTTP2_INTERNAL_ERROR);
    }
    http2_flush_later(stream->http2);
}

static void resume(Http2Stream *stream)
{
    if (stream->deferred) {
        stream->deferred = false;
        /* Fails for a stream that is closing, which is harmless. */
        nghttp2_session_resume_data(stream->http2->session, stream->id);
    }
    http2_flush_later(stream->http2);
}

void http2_send(Http2Stream *stream, Str bytes)
{
    if (stream->ending || stream->is_closed || bytes.len == 0) {
        return;
    }
    if (stream->queue_at > stream->queue.len / 2) {
        size_t left = http2_stream_queued(stream);
        memmove(stream->queue.data, stream->queue.data + stream->queue_at, left);
        stream->queue.len = left;
        stream->queue_at = 0;
    }
    buf_put(&stream->queue, bytes);
    stream->http2->queued += bytes.len;
    resume(stream);
}

size_t http2_stream_queued(const Http2Stream *stream)
{
    return stream->queue.len - stream->queue_at;
}

/* Allocates one block for the array and the strings it points to. */
static Http2Trailers *copy_trailers(const Http2Header *headers, uint32_t count)
{
    size_t size = sizeof(Http2Trailers) + count * sizeof(nghttp2_nv);
    size_t texts = size;
    for (uint32_t i = 0; i < count; i++) {
        size += headers[i].name.len + headers[i].value.len;
    }
    Http2Trailers *trailers = malloc(size);
    if (trailers == NULL) {
        memory_exhausted(size);
    }
    char *to = (char *)trailers + texts;
    trailers->count = count;
    for (uint32_t i = 0; i < count; i++) {
        Str name = str_from(to, headers[i].name.len);
        Str value = str_from(to + name.len, headers[i].value.len);
        memcpy(to, headers[i].name.data, name.len);
        memcpy(to + name.len, headers[i].value.data, value.len);
        trailers->items[i] = to_nv(name, value);
        to += name.len + value.len;
    }
    return trailers;
}

void http2_end(Http2Stream *stream, const Http2Header *trailers, uint32_t count)
{
    if (stream->ending || stream->is_closed) {
        return;
    }
    stream->ending = true;
    stream->trailers = count == 0 ? NULL : copy_trailers(trailers, count);
    resume(stream);
}

void http2_stream_consumed(Http2Stream *stream, size_t bytes)
{
    if (bytes > 0) {
        /* On a closed stream this only counts for the connection. */
        nghttp2_session_consume(stream->http2->session, stream->id, bytes);
        http2_flush_later(stream->http2);
    }
}

void http2_consumed(Http2 *http2, size_t bytes)
{
    nghttp2_session_consume_connection(http2->session, bytes);
    http2_flush_later(http2);
}

void http2_stream_open_window(Http2Stream *stream, size_t bytes, uint32_t window)
{
    nghttp2_session *session = stream->http2->session;
    /* Both fail for a stream that is closing, which is harmless. */
    if (nghttp2_session_get_stream_effective_local_window_size(session, stream->id) <
        (int32_t)window) {
        nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, stream->id,
                                              (int32_t)window);
    }
    nghttp2_session_consume_stream(session, stream->id, bytes);
    http2_flush_later(stream->http2);
}

void http2_reset(Http2Stream *stream, uint32_t code)
{
    if (stream->is_closed) {
        return;
    }
    http2_stream_drop_queue(stream);
    stream->ending = true;
    stream->is_reset = true;
    nghttp2_submit_rst_stream(stream->http2->session, NGHTTP2_FLAG_NONE, stream->id, code);
    http2_flush_later(stream->http2);
}
