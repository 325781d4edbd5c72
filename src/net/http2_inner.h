/* Internal declarations of HTTP/2. */
#pragma once

#include <nghttp2/nghttp2.h>

#include "net/http2.h"

enum {
    HTTP2_HEADERS_MAX = 68,       /* per block: as in HTTP/1.1, and the four pseudo-headers */
    HTTP2_BOMB_FACTOR = 4,        /* a block that exceeds the limit by this factor is an attack */
    HTTP2_WRITE_PIECE = 32 << 10, /* two of the largest frames */
    HTTP2_TABLE_BYTES = 1024,     /* size of the header compression table, in each direction */
    HTTP2_QUEUE_KEEP = 4 << 10,   /* an empty queue keeps at most this capacity */
    /* Frames without effect (empty data, pings, settings): allowed burst, and rate per second. */
    HTTP2_CHEAP_FRAMES_BURST = 1000,
    HTTP2_CHEAP_FRAMES_PER_SECOND = 100,
    /* WINDOW_UPDATE frames allowed to a peer per DATA frame that it receives, and per its bytes. */
    HTTP2_WINDOWS_FRAME = 4,
    HTTP2_WINDOWS_BYTES = 256,
    HTTP2_WINDOWS_MAX = 1 << 20,
    HTTP2_FRAMES_QUEUED_MAX = 4096, /* responses to control frames that a peer may leave unread */
    HTTP2_CLOSE_MS = 2000,          /* time to send the final frames */
};

struct Http2Trailers {
    uint32_t count;
    nghttp2_nv items[];
};

typedef struct Http2Block {
    Http2Header items[HTTP2_HEADERS_MAX];
    nghttp2_rcbuf *held[2 * HTTP2_HEADERS_MAX];
    uint32_t count;
    size_t bytes;
    bool too_large;
} Http2Block;

struct Http2 {
    Connection *connection;
    Loop *loop;
    nghttp2_session *session;
    Http2Options options;
    Http2Stream *first;
    uint32_t stream_count;
    Http2Block *block; /* the header block that is being received */
    LoopTask flush;
    LoopTimer timer;
    int64_t last_frame_ms; /* time of the last complete frame */
    int64_t unsent_ms;     /* time at which the kernel stopped accepting data; 0: it accepts data */
    size_t unsent_before;  /* number of unsent bytes at that time */
    int64_t allowance_ms;  /* when the allowance for cheap frames was last updated */
    int32_t allowance;
    /* WINDOW_UPDATE frames that the peer may send without counting as cheap frames */
    uint32_t windows;
    size_t queued; /* bytes in the queues of streams */
    char *piece;   /* buffer of a flush, on its stack */
    size_t piece_len;
    uint32_t busy; /* calls on the stack that still use this memory */
    bool connected, has_settings, awaiting_pong, shutting_down, terminated, finishing, freed,
        is_closed;
    bool receiving, flush_again;
    const char *abort_reason; /* a literal */
    const char *end_reason;
};

nghttp2_session *http2_session_new(Http2 *http2);
void http2_block_drop(Http2 *http2);
void http2_flush_later(Http2 *http2);
/* Removes the stream from the list and returns it to its user. */
void http2_stream_close(Http2Stream *stream, uint32_t code);
void http2_stream_add(Http2 *http2, Http2Stream *stream, int32_t id);
/* Callback of nghttp2: sends the next bytes of a stream's queue. */
int http2_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
                    size_t length, nghttp2_data_source *source, void *context);
