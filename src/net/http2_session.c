/* Callbacks of nghttp2: frames and header blocks from the peer, and what counts as abuse.
 *
 * Limits are enforced here, before anything reaches the owner. A header block that exceeds its
 * limit is still decoded, because HPACK state is shared by the connection, but not stored; far
 * beyond the limit the connection is aborted. Frames that cost the peer nothing (empty data,
 * settings, pings, window updates, resets) draw on an allowance that refills with time. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/bug.h"
#include "base/memory.h"
#include "net/http2_inner.h"

/* --- Header blocks --------------------------------------------------------------------------- */

void http2_block_drop(Http2 *http2)
{
    Http2Block *block = TAKE(http2->block);
    if (block != NULL) {
        for (uint32_t i = 0; i < 2 * block->count; i++) {
            nghttp2_rcbuf_decref(block->held[i]);
        }
        free(block);
    }
}

static Str rcbuf_str(nghttp2_rcbuf *text)
{
    nghttp2_vec bytes = nghttp2_rcbuf_get_buf(text);
    return str_from((const char *)bytes.base, bytes.len);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    Http2 *http2 = context;
    if (http2->freed) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    http2_block_drop(http2);
    http2->block = memory_new(sizeof *http2->block);
    if (http2->options.is_server && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        Http2Stream *stream = http2->options.events->opened(http2->options.context);
        http2_stream_add(http2, stream, frame->hd.stream_id);
        nghttp2_session_set_stream_user_data(session, stream->id, stream);
    }
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
                     nghttp2_rcbuf *value, uint8_t flags, void *context)
{
    enum {
        ENTRY_OVERHEAD = 32 /* RFC 9113, section 6.5.2 */
    };
    Http2 *http2 = context;
    Http2Block *block = http2->block;
    if (block == NULL) {
        return 0;
    }
    Http2Header header = { rcbuf_str(name), rcbuf_str(value) };
    size_t max = http2->options.header_bytes_max;
    block->bytes += header.name.len + header.value.len + ENTRY_OVERHEAD;
    block->too_large |= block->count == HTTP2_HEADERS_MAX || block->bytes > max;
    if (block->bytes / HTTP2_BOMB_FACTOR > max) {
        /* HPACK expands a few bytes into many; decoding is itself the attack, so stop. */
        http2_abort(http2, HTTP2_ENHANCE_YOUR_CALM, "too many header fields from the peer");
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (block->too_large) {
        return 0;
    }
    nghttp2_rcbuf_incref(name);
    nghttp2_rcbuf_incref(value);
    block->held[2 * block->count] = name;
    block->held[2 * block->count + 1] = value;
    block->items[block->count++] = header;
    return 0;
}

/* An invalid header is not just omitted: the entire block is rejected. */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
                             nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags,
                             void *context)
{
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* --- Frames ---------------------------------------------------------------------------------- */

/* Rate-limits frames that cost the peer nothing but use CPU time here. */
static bool count_cheap_frame(Http2 *http2)
{
    int64_t now = loop_now_ms(http2->loop);
    int64_t refill = (now - http2->allowance_ms) * HTTP2_CHEAP_FRAMES_PER_SECOND / 1000;
    if (refill > 0) {
        http2->allowance_ms = now;
        int64_t allowance = http2->allowance + refill;
        http2->allowance =
            allowance > HTTP2_CHEAP_FRAMES_BURST ? HTTP2_CHEAP_FRAMES_BURST : (int32_t)allowance;
    }
    return --http2->allowance >= 0;
}

static Http2Stream *stream_of(nghttp2_session *session, int32_t id)
{
    return id == 0 ? NULL : nghttp2_session_get_stream_user_data(session, id);
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *head, void *context)
{
    Http2 *http2 = context;
    bool is_cheap = true;
    if (http2->freed) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (head->type == NGHTTP2_DATA) {
        is_cheap = head->length == 0 && (head->flags & NGHTTP2_FLAG_END_STREAM) == 0;
    } else if (head->type == NGHTTP2_HEADERS) {
        /* On a stream that has ended, the frame is ignored. */
        is_cheap = head->stream_id <= nghttp2_session_get_last_proc_stream_id(session) &&
                   stream_of(session, head->stream_id) == NULL;
    } else if (head->type == NGHTTP2_WINDOW_UPDATE && http2->windows > 0) {
        http2->windows--;
        is_cheap = false;
    } else if (head->type == NGHTTP2_SETTINGS || head->type == NGHTTP2_PING) {
        is_cheap = (head->flags & NGHTTP2_FLAG_ACK) == 0;
    }
    if (is_cheap && !count_cheap_frame(http2)) {
        http2_abort(http2, HTTP2_ENHANCE_YOUR_CALM, "too many control frames from the peer");
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    Http2 *http2 = context;
    const Http2Events *events = http2->options.events;
    http2->last_frame_ms = loop_now_ms(http2->loop);
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
        http2->awaiting_pong = false;
    }
    if (frame->hd.type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0 &&
        !http2->has_settings) {
        http2->has_settings = true;
        events->ready(http2->options.context);
    }
    Http2Stream *stream = stream_of(session, frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_HEADERS && http2->block != NULL) {
        if (stream != NULL && !http2->freed) {
            Http2Headers headers = { http2->block->items, http2->block->count,
                                     http2->block->too_large };
            events->headers(http2->options.context, stream, &headers);
        }
        http2_block_drop(http2);
    }
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 && !http2->freed) {
        /* Looked up again, because the callback may have ended the stream. */
        stream = stream_of(session, frame->hd.stream_id);
        if (stream != NULL) {
            stream->peer_ended = true;
            events->peer_ended(http2->options.context, stream);
        }
    }
    return http2->freed ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                   size_t len, void *context)
{
    Http2 *http2 = context;
    Http2Stream *stream = stream_of(session, id);
    if (stream == NULL) {
        nghttp2_session_consume_connection(session, len);
    } else {
        http2->options.events->data(http2->options.context, stream,
                                    str_from((const char *)bytes, len));
    }
    return http2->freed ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *context)
{
    Http2Stream *stream = stream_of(session, id);
    if (stream != NULL) {
        nghttp2_session_set_stream_user_data(session, id, NULL);
        http2_stream_close(stream, stream->reset_code != 0 ? stream->reset_code : code);
    }
    return 0;
}

/* Streams that the peer makes us reset cost as much as those that it resets itself. */
static void count_reset(Http2 *http2, uint32_t code)
{
    bool is_own =
        code == NGHTTP2_NO_ERROR || code == NGHTTP2_CANCEL || code == NGHTTP2_INTERNAL_ERROR;
    if (http2->options.is_server && !is_own && !count_cheap_frame(http2)) {
        http2_abort(http2, HTTP2_ENHANCE_YOUR_CALM, "too many stream resets caused by the peer");
    }
}

/* If a response ends before its request, the peer does not have to send the remainder. */
static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    Http2 *http2 = context;
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
        count_reset(http2, frame->rst_stream.error_code);
    }
    if (http2->options.is_server && !http2->options.delays_reset &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
        (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
        nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0) {
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                  NGHTTP2_NO_ERROR);
    }
    return 0;
}

static ssize_t on_send(nghttp2_session *session, const uint8_t *bytes, size_t len, int flags,
                       void *context)
{
    Http2 *http2 = context;
    size_t room = HTTP2_WRITE_PIECE - http2->piece_len;
    if (room == 0) {
        return NGHTTP2_ERR_WOULDBLOCK;
    }
    if (len > room) {
        len = room;
    }
    memcpy(http2->piece + http2->piece_len, bytes, len);
    http2->piece_len += len;
    return (ssize_t)len;
}

/* --- Memory ---------------------------------------------------------------------------------- */

enum {
    PAGE = 4096,
    /* nghttp2 allocates one per session, for the frame that it writes */
    FRAME_BUFFER_MIN = 16 << 10,
};

/* Only the start of this buffer is ever used: data frames do not pass through it, and all others
 * are short. Its pages may be resident from an earlier use, so they are returned to the kernel,
 * which saves three quarters of the 16 KiB that an idle connection would cost. */
static void *allocate_frame_buffer(size_t size)
{
    size_t rounded = (size + PAGE - 1) / PAGE * PAGE;
    char *memory = aligned_alloc(PAGE, rounded);
    if (memory != NULL && rounded > PAGE) {
        madvise(memory + PAGE, rounded - PAGE, MADV_DONTNEED);
    }
    return memory;
}

static void *allocate(size_t size, void *context)
{
    return malloc(size);
}

static void release(void *memory, void *context)
{
    free(memory);
}

static void *allocate_zeroed(size_t count, size_t size, void *context)
{
    return calloc(count, size);
}

static void *reallocate(void *memory, size_t size, void *context)
{
    /* This is how nghttp2 allocates that buffer. */
    return memory == NULL && size >= FRAME_BUFFER_MIN ? allocate_frame_buffer(size)
                                                      : realloc(memory, size);
}

/* --- Session --------------------------------------------------------------------------------- */

static void require(int result)
{
    if (result == NGHTTP2_ERR_NOMEM) {
        memory_exhausted(0);
    }
    if (result != 0) {
        BUG("nghttp2: %s", nghttp2_strerror(result));
    }
}

static void submit_settings(const Http2 *http2, nghttp2_session *session)
{
    const Http2Options *options = &http2->options;
    nghttp2_settings_entry entries[] = {
        { NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, HTTP2_TABLE_BYTES },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, options->stream_window },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, options->header_bytes_max },
        { NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
        /* The last entry differs, because clients do not accept pushed streams. */
        { options->is_server ? NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS
                             : NGHTTP2_SETTINGS_ENABLE_PUSH,
          options->is_server ? options->streams_max : 0 },
    };
    require(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, entries, COUNT_OF(entries)));
    require(nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                                  (int32_t)options->connection_window));
}

nghttp2_session *http2_session_new(Http2 *http2)
{
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    nghttp2_session *session = NULL;
    nghttp2_mem memory = { NULL, allocate, release, allocate_zeroed, reallocate };
    require(nghttp2_session_callbacks_new(&callbacks));
    require(nghttp2_option_new(&option));
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback2(callbacks, on_invalid_header);
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
    nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, http2_send_data);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_deflate_dynamic_table_size(option, HTTP2_TABLE_BYTES);
    require(http2->options.is_server
                ? nghttp2_session_server_new3(&session, callbacks, http2, option, &memory)
                : nghttp2_session_client_new3(&session, callbacks, http2, option, &memory));
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    submit_settings(http2, session);
    return session;
}
