/* HTTPS for requests that fit into memory. Loop thread.
 *
 * HTTP/2 with peers that have negotiated "h2" in the TLS handshake (TlsOptions.preferred), with
 * up to a hundred concurrent requests per connection; otherwise HTTP/1.1, one at a time.
 * Handlers need not know which one it is: heads are those of HTTP/1.1, with :authority as Host.
 *
 * A request is handed over when it is complete, and lives until it is answered, immediately or
 * later; if the peer disconnects before that, `disconnected` is called, and the request is freed.
 *
 * A response is sent as a whole, or in pieces if its length is not known. A peer can
 * distinguish a complete response from an aborted one. */
#pragma once

#include "net/http1.h"
#include "net/listener.h"

typedef struct HttpServer HttpServer;
typedef struct HttpRequest HttpRequest;

/* A header of a response. */
typedef struct HttpField {
    const char *name, *value;
} HttpField;

enum {
    HTTP_ANONYMOUS = 0
};

typedef struct HttpServerOptions {
    Loop *loop;
    uint64_t body_max; /* limit on any body, in bytes */
    /* Limit on the bytes of requests on all connections, beyond which requests are rejected; and on
     * the bytes of unread responses, beyond which the largest is aborted. */
    size_t memory_max;
    int64_t request_timeout_ms; /* maximum time between the first and the last byte of a request */
    int64_t
        /* maximum time between two requests, and for a peer to read any part of a response */
        idle_timeout_ms;
    /* Headers of every response, including those that the server itself sends, unless
     * http_request_add_header sets one with the same name. Must outlive the server. */
    const HttpField *fields;
    uint32_t field_count;
    /* Writes the body of a response that the server itself sends when it rejects a request, and
     * returns its content type. NULL: plain text. */
    const char *(*write_error)(void *context, int status, const char *why, Buf *out);
    /* Called when the head of a request with a body has arrived. Sets the limit on the body, up to
     * body_max. If it returns false, the request is passed on immediately without the body
     * (http_request_is_unread); on HTTP/1.1 its response is the last of the connection. NULL:
     * body_max for all. */
    bool (*reads_body)(void *context, const HttpRequest *request, uint64_t *max);
    /* Identifies the caller that sends the body of a request: HTTP_ANONYMOUS if unauthenticated,
     * otherwise any other number. The bodies of one caller may use half of memory_max, and those of
     * all unauthenticated callers together a small part of it, which leaves space for others. NULL:
     * all callers share memory_max. */
    uint64_t (*body_caller)(void *context, const HttpRequest *request);
    void (*requested)(void *context, HttpRequest *request);
    void (*disconnected)(void *context, HttpRequest *request); /* may be NULL */
    void *context;
} HttpServerOptions;

HttpServerOptions http_server_defaults(void);

HttpServer *http_server_new(const HttpServerOptions *options);
/* Stops accepting connections and requests, and announces that to HTTP/2 peers. Requests in
 * progress may be answered within the grace period; responses in pieces are aborted. `done` is
 * called once, in a later iteration of the loop, when no connection is left. */
void http_server_stop(HttpServer *server, int64_t grace_ms, LoopRun *done, void *context);
/* Closes all connections; `disconnected` is called for requests in progress. NULL is allowed. Must
 * not be called from `requested`. */
void http_server_free(HttpServer *server);
DEFINE_AUTO(HttpServer, http_server_free)

/* Starts listening. `options->accepted` and its context are set by the server, which also owns the
 * listener; it is returned for its port and counters. */
MUST_CHECK bool http_server_listen(HttpServer *server, const ListenerOptions *options,
                                   const Address *address, const Listener **out, Error *err);

const Http1Head *http_request_head(const HttpRequest *request);
Str http_request_body(const HttpRequest *request);
/* Whether it has a body that was not read. */
bool http_request_is_unread(const HttpRequest *request);
const Peer *http_request_peer(const HttpRequest *request);
/* The address that the peer has connected to; see connection_own_address. */
void http_request_own_address(const HttpRequest *request, char out[ADDRESS_TEXT_MAX]);
void http_request_set_data(HttpRequest *request, void *data);
void *http_request_data(const HttpRequest *request);
/* Adds a header to the response. */
void http_request_add_header(HttpRequest *request, const char *name, Str value);
/* Removes added headers, because a different response is about to be sent. */
void http_request_drop_headers(HttpRequest *request);
/* Sends the response and frees the request. A 204 or 304 has no body. */
void http_request_respond(HttpRequest *request, int status, const char *content_type, Str body);

/* --- Responses in pieces --------------------------------------------------------------------- */

/* Peers before HTTP/1.1 cannot detect the end of pieces, so they need http_request_respond. */
bool http_request_supports_pieces(const HttpRequest *request);
/* Sends the head of the response. `drained` is called in a later iteration of the loop each time
 * that all pieces so far are sent, until the response is ended or aborted, or the peer
 * disconnects. */
void http_request_begin(HttpRequest *request, int status, const char *content_type,
                        void (*drained)(void *context), void *context);
/* Sends a piece, which must not be empty. Unread data is buffered: a caller that waits for
 * `drained` before the next piece buffers no more than one piece per peer. A peer that reads
 * nothing for the idle timeout is disconnected. For HEAD, pieces are dropped. */
void http_request_send_piece(HttpRequest *request, Str piece);
/* Unsent bytes of this response; on HTTP/1.1, of its connection. */
size_t http_request_unsent(HttpRequest *request);
/* Completes the response and frees the request. */
void http_request_end(HttpRequest *request);
/* Aborts the response in a way that the peer notices: resets the stream, or closes the HTTP/1.1
 * connection. Frees the request. */
void http_request_abort(HttpRequest *request);
