/* HTTP/2 on a connection, either side: streams with header blocks and data, on nghttp2.
 *
 * Bounded in every direction. Received data counts against windows that reopen only when the
 * receiver has consumed it (http2_stream_consumed); data to send waits in the stream, whose owner
 * checks http2_stream_queued. A peer that floods (resets, including those that it provokes, pings,
 * settings, window updates, empty frames, headers far beyond the limit), does not read or does not
 * respond is disconnected. Loop thread only.
 *
 * A stream is a struct of the user that embeds an Http2Stream. Every opened stream ends with
 * `closed`, after which its memory belongs to the user again. */
#pragma once

#include "net/connection.h"

typedef struct Http2 Http2;
typedef struct Http2Stream Http2Stream;
typedef struct Http2Trailers Http2Trailers;

typedef struct Http2Header {
    Str name; /* lowercase */
    Str value;
} Http2Header;

/* Of one block. Valid during the call. */
typedef struct Http2Headers {
    const Http2Header *items;
    uint32_t count;
    bool too_large; /* exceeded the limit, so incomplete */
} Http2Headers;

/* The first value with this name, or empty. */
Str http2_headers_find(const Http2Headers *headers, const char *name);

struct Http2Stream {
    Http2 *http2;
    Http2Stream *next, *previous;
    int32_t id;
    Buf queue;       /* to be sent */
    size_t queue_at; /* offset of the first unsent byte */
    Http2Trailers *trailers;
    uint32_t reset_code;
    bool deferred, ending, ended, peer_ended, is_reset, is_closed;
};

/* Why a stream ended; error codes of RFC 9113, section 7. */
enum {
    HTTP2_NO_ERROR = 0,
    HTTP2_INTERNAL_ERROR = 2,
    HTTP2_REFUSED_STREAM = 7,
    HTTP2_CANCEL = 8,
    HTTP2_ENHANCE_YOUR_CALM = 11,
};

typedef struct Http2Events {
    /* For servers: the peer opens a stream. Returns the stream to use, zeroed. */
    Http2Stream *(*opened)(void *context);
    /* A header block is complete: request, response or trailers. */
    void (*headers)(void *context, Http2Stream *stream, const Http2Headers *headers);
    /* Each byte must eventually be released with http2_stream_consumed. */
    void (*data)(void *context, Http2Stream *stream, Str bytes);
    /* the peer sends no more data on this stream */
    void (*peer_ended)(void *context, Http2Stream *stream);
    void (*sent)(void *context, Http2Stream *stream); /* some queued data was sent */
    /* The stream has ended, for the reason `code`. Its memory belongs to the user. */
    void (*closed)(void *context, Http2Stream *stream, uint32_t code);
    void (*ready)(void *context); /* the peer's SETTINGS have arrived, so it speaks HTTP/2 */
    /* The connection has ended, and so have its streams. The user calls http2_free. */
    void (*connection_closed)(void *context, const Error *why);
} Http2Events;

typedef struct Http2Options {
    bool is_server;
    /* For servers: a response that ends before its request does not reset the stream at once,
     * because some clients would lose the response. The user resets it after a while. */
    bool delays_reset;
    uint32_t streams_max;        /* maximum of concurrent streams opened by the peer */
    uint32_t stream_window;      /* unconsumed bytes per stream */
    uint32_t connection_window;  /* unconsumed bytes of all streams */
    uint32_t header_bytes_max;   /* per block: names, values and 32 for each header */
    int64_t settings_timeout_ms; /* maximum time until the peer's first SETTINGS */
    int64_t ping_after_ms;       /* silence after which the peer is pinged */
    /* maximum time for the response to a ping, and without progress while sending */
    int64_t ping_timeout_ms;
    const Http2Events *events;
    void *context;
} Http2Options;

Http2Options http2_defaults(void);

/* Takes ownership of the connection, which may still be opening. */
Http2 *http2_new(Connection *connection, const Http2Options *options);
/* Closes the connection immediately. Streams are closed with HTTP2_CANCEL first;
 * `connection_closed` is not called. Allowed from callbacks. NULL is allowed. */
void http2_free(Http2 *http2);
DEFINE_AUTO(Http2, http2_free)

/* Announces to the peer that no new streams are accepted. Open streams may finish. When none is
 * left, the connection is closed properly and `connection_closed` is called. */
void http2_shut_down(Http2 *http2);
/* Closes the connection with GOAWAY. `connection_closed` follows, with `reason`, which must be a
 * literal, as its text. */
void http2_abort(Http2 *http2, uint32_t code, const char *reason);

Connection *http2_connection(const Http2 *http2);
/* While streams are closed because the connection has ended: the reason. Otherwise NULL. */
const char *http2_end_reason(const Http2 *http2);
uint32_t http2_stream_count(const Http2 *http2);
/* returns the newest stream; continue with stream->next */
Http2Stream *http2_first_stream(const Http2 *http2);
/* Bytes in the queues of all streams and of the connection. */
size_t http2_queued(const Http2 *http2);

/* For clients: opens a stream. `ended` means that the request has no body. Fails with
 * ERROR_UNAVAILABLE if the connection accepts no more streams. */
MUST_CHECK bool http2_request(Http2 *http2, Http2Stream *stream, const Http2Header *headers,
                              uint32_t count, bool ended, Error *err);
/* For servers: sends an interim response, such as 100. */
void http2_send_interim(Http2Stream *stream, Str status);
/* For servers: starts the response. `ended` means that it has no body. */
void http2_respond(Http2Stream *stream, const Http2Header *headers, uint32_t count, bool ended);
/* Queues data. Ignored after http2_end and on a stream that is closing. */
void http2_send(Http2Stream *stream, Str bytes);
size_t http2_stream_queued(const Http2Stream *stream);
/* Ends the stream after what is queued, with trailers, which are copied. */
void http2_end(Http2Stream *stream, const Http2Header *trailers, uint32_t count);
void http2_stream_consumed(Http2Stream *stream, size_t bytes);
/* The two halves of http2_stream_consumed, to delay one stream but not the others: the first
 * releases its bytes on the connection, the second its own window, which may be enlarged first. */
void http2_consumed(Http2 *http2, size_t bytes);
void http2_stream_open_window(Http2Stream *stream, size_t bytes, uint32_t window);
/* Resets the stream immediately; queued data is dropped. `closed` is called later. */
void http2_reset(Http2Stream *stream, uint32_t code);
