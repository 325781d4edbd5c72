/* HTTP/2 on a connection, either side: streams with header blocks and bytes, on nghttp2.
 *
 * Bounded in every direction. Received bytes count against windows that open again only when the
 * receiver has used them up (http2_stream_consumed); bytes to send wait in the stream, and its
 * owner looks at http2_stream_queued. A peer that floods (resets, also those that it makes us send,
 * pings, settings, windows, empty frames, fields far over the limit), does not read or does not
 * answer is dropped. Loop thread.
 *
 * A stream is a struct of the user's with an Http2Stream in it. Every stream that was opened ends
 * with `closed`, after which its memory is the user's again. */
#pragma once

#include "net/connection.h"

typedef struct Http2 Http2;
typedef struct Http2Stream Http2Stream;
typedef struct Http2Trailers Http2Trailers;

typedef struct Http2Header {
    Str name; /* lower case */
    Str value;
} Http2Header;

/* Of one block; borrowed for the call. */
typedef struct Http2Headers {
    const Http2Header *items;
    uint32_t count;
    bool too_large; /* more than the limit, and not complete here */
} Http2Headers;

/* The value, or empty when there is none; of several the first. */
Str http2_headers_find(const Http2Headers *headers, const char *name);

struct Http2Stream {
    Http2 *http2;
    Http2Stream *next, *previous;
    int32_t id;
    Buf queue;       /* to be sent */
    size_t queue_at; /* bytes of it that are gone already */
    Http2Trailers *trailers;
    uint32_t reset_code;
    bool deferred, ending, ended, peer_ended, is_reset, is_closed;
};

/* Why a stream ended; the codes of RFC 9113, section 7. */
enum {
    HTTP2_NO_ERROR = 0,
    HTTP2_INTERNAL_ERROR = 2,
    HTTP2_REFUSED_STREAM = 7,
    HTTP2_CANCEL = 8,
    HTTP2_ENHANCE_YOUR_CALM = 11,
};

typedef struct Http2Events {
    /* A server's: the peer opens a stream. Gives the stream to use, zeroed. */
    Http2Stream *(*opened)(void *context);
    /* A block is complete: request, response or trailers. */
    void (*headers)(void *context, Http2Stream *stream, const Http2Headers *headers);
    /* Each byte must be given back by http2_stream_consumed, at once or later. */
    void (*data)(void *context, Http2Stream *stream, Str bytes);
    void (*peer_ended)(void *context, Http2Stream *stream); /* it sends no more on this stream */
    void (*sent)(void *context, Http2Stream *stream);       /* the queue has become shorter */
    /* The stream is over; `code` tells how. Its memory is the user's. */
    void (*closed)(void *context, Http2Stream *stream, uint32_t code);
    void (*ready)(void *context); /* the peer's settings have come: it speaks HTTP/2 */
    /* The connection is over, the streams have been closed. The user calls http2_free. */
    void (*over)(void *context, const Error *why);
} Http2Events;

typedef struct Http2Options {
    bool is_server;
    /* A server's: a response that ends before its request does not reset the stream at once; the user
     * does, after a while. Some clients lose the response otherwise. */
    bool lingers;
    uint32_t streams_max;        /* that the peer may have open */
    uint32_t stream_window;      /* bytes under way to us on one stream */
    uint32_t connection_window;  /* on all */
    uint32_t header_bytes_max;   /* of one block: names, values and 32 for each */
    int64_t settings_timeout_ms; /* for the first word of the peer */
    int64_t ping_after_ms;       /* silence until it is asked whether it is there */
    int64_t ping_timeout_ms;     /* for its answer; also for taking anything of what we send */
    const Http2Events *events;
    void *context;
} Http2Options;

Http2Options http2_defaults(void);

/* Takes over the connection, which may still be opening. */
Http2 *http2_new(Connection *connection, const Http2Options *options);
/* Ends the connection at once. Streams are closed with HTTP2_CANCEL first; `over` is not called.
 * Also from within events. NULL is allowed. */
void http2_free(Http2 *http2);
DEFINE_AUTO(Http2, http2_free)

/* No new streams: the peer is told, and those that are open may end. When none is left the
 * connection is closed in order; then comes `over`. */
void http2_shut_down(Http2 *http2);
/* Ends with a word to the peer why (GOAWAY). `over` follows, with the reason, a literal, as its text. */
void http2_abort(Http2 *http2, uint32_t code, const char *reason);

Connection *http2_connection(const Http2 *http2);
/* While streams are closed because the connection is over: why that is. Otherwise NULL. */
const char *http2_end_reason(const Http2 *http2);
uint32_t http2_stream_count(const Http2 *http2);
Http2Stream *http2_first_stream(const Http2 *http2); /* then stream->next */
/* Bytes in the queues of all streams and in the connection. */
size_t http2_queued(const Http2 *http2);

/* A client's: opens a stream. `ended`: the request has no body. Fails with ERROR_UNAVAILABLE when
 * the connection takes no more. */
MUST_CHECK bool http2_request(Http2 *http2, Http2Stream *stream, const Http2Header *headers,
                              uint32_t count, bool ended, Error *err);
/* A server's: a word before the response, such as 100. */
void http2_inform(Http2Stream *stream, Str status);
/* A server's: the response begins; `ended`: it is only this. */
void http2_respond(Http2Stream *stream, const Http2Header *headers, uint32_t count, bool ended);
/* Bytes behind those that wait already. Ignored after http2_end and on a stream that is closing. */
void http2_send(Http2Stream *stream, Str bytes);
size_t http2_stream_queued(const Http2Stream *stream);
/* Nothing follows behind what is queued; trailers, which are copied, come last. */
void http2_end(Http2Stream *stream, const Http2Header *trailers, uint32_t count);
void http2_stream_consumed(Http2Stream *stream, size_t bytes);
/* The two halves of that, for who lets a stream wait and not the others: what it had under way on the
 * connection, and the stream's own window, which may be made larger first. */
void http2_consumed(Http2 *http2, size_t bytes);
void http2_stream_open_window(Http2Stream *stream, size_t bytes, uint32_t window);
/* Ends the stream at once; queued bytes are dropped. `closed` comes later. */
void http2_reset(Http2Stream *stream, uint32_t code);
