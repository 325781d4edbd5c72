/* HTTPS for requests that fit into memory. Loop thread.
 *
 * HTTP/2 with peers that have negotiated "h2" in the TLS handshake (TlsOptions.preferred), with
 * up to a hundred concurrent requests per connection; otherwise HTTP/1.1, one at a time.
 * Handlers need not know which one it is: heads are those of HTTP/1.1, with :authority as Host.
 *
 * A request is handed over when it is complete, and lives until it is answered, immediately or
 * later; if the peer disconnects before that, `gone` is called, and the request is freed.
 *
 * A response is sent as a whole, or in pieces if its length is not known. A peer can
 * distinguish a complete response from an aborted one. */
#pragma once

#include "net/http1.h"
#include "net/listener.h"

typedef struct HttpServer HttpServer;
typedef struct HttpRequest HttpRequest;

/* A field of an answer. */
typedef struct HttpField {
    const char *name, *value;
} HttpField;

typedef struct HttpServerOptions {
    Loop *loop;
    uint64_t body_max; /* bytes of any body */
    /* Bytes of requests on all connections, then no more are taken; and of answers that their peers do
     * not take, then the largest of them is broken off. */
    size_t memory_max;
    int64_t request_timeout_ms; /* from the first byte of a request to its last */
    int64_t
        idle_timeout_ms; /* between two requests, and for a peer to take anything of an answer */
    /* Of every answer, also of those that the server itself gives; an answer that has one of that name
     * (http_request_add_header) has its own. Borrowed. */
    const HttpField *fields;
    uint32_t field_count;
    /* Writes why the server itself refuses a request, before anybody has seen that, and tells of which
     * type that is. NULL: as plain text. */
    const char *(*refuse)(void *context, int status, const char *why, Buf *out);
    /* Asked when the head of a request with a body is there: how many bytes of the body are read, up to
     * body_max. False: none, and the request is handed on at once without it (http_request_is_unread);
     * with HTTP/1.1 its answer is the last of the connection. NULL: body_max for all. */
    bool (*reads_body)(void *context, const HttpRequest *request, uint64_t *max);
    void (*requested)(void *context, HttpRequest *request);
    void (*gone)(void *context, HttpRequest *request); /* may be NULL */
    void *context;
} HttpServerOptions;

HttpServerOptions http_server_defaults(void);

HttpServer *http_server_new(const HttpServerOptions *options);
/* No new connections and requests, of which a peer on HTTP/2 is told; requests under way may be
 * answered within the time, answers in pieces are broken off. `done` is called once, in a later turn, when no connection is left. */
void http_server_stop(HttpServer *server, int64_t grace_ms, LoopRun *done, void *context);
/* Ends every connection; `gone` is called for requests under way. NULL is allowed. Not from within
 * `requested`. */
void http_server_free(HttpServer *server);
DEFINE_AUTO(HttpServer, http_server_free)

/* Listens; `options->accepted` and its context are the server's. The listener is the server's too,
 * and is given for its port and counts. */
MUST_CHECK bool http_server_listen(HttpServer *server, const ListenerOptions *options,
                                   const Address *address, const Listener **out, Error *err);

const Http1Head *http_request_head(const HttpRequest *request);
Str http_request_body(const HttpRequest *request);
/* It has a body, which was not read. */
bool http_request_is_unread(const HttpRequest *request);
const Peer *http_request_peer(const HttpRequest *request);
/* Where the peer has found this server, as connection_own_address. */
void http_request_own_address(const HttpRequest *request, char out[ADDRESS_TEXT_MAX]);
void http_request_set_data(HttpRequest *request, void *data);
void *http_request_data(const HttpRequest *request);
/* A field of the answer that is to come. */
void http_request_add_header(HttpRequest *request, const char *name, Str value);
/* Without those that were added: it is going to be another answer than was meant. */
void http_request_drop_headers(HttpRequest *request);
/* Once, and last. A 204 or 304 has no body. */
void http_request_answer(HttpRequest *request, int status, const char *content_type, Str body);

/* --- Answers in pieces ----------------------------------------------------------------------- */

/* Of what came before HTTP/1.1 no peer can tell where pieces end: then only http_request_answer
 * will do. */
bool http_request_takes_pieces(const HttpRequest *request);
/* The head of the answer. `drained` is called in a later turn each time that all pieces given so far
 * have left, until the answer is ended, broken off, or the peer is gone. */
void http_request_begin(HttpRequest *request, int status, const char *content_type,
                        void (*drained)(void *context), void *context);
/* One that is not empty. What the peer does not take is kept: who waits for `drained` with the next
 * piece keeps one piece per peer and no more. A peer that takes nothing at all for as long as it
 * might be idle has left. HEAD is answered without them. */
void http_request_piece(HttpRequest *request, Str piece);
/* Bytes of this answer that the peer has not taken yet; with HTTP/1.1, of its connection. */
size_t http_request_unsent(HttpRequest *request);
/* The answer is whole. Last, as http_request_answer. */
void http_request_end(HttpRequest *request);
/* It is not, and the peer shall see that: the stream ends, or the connection of HTTP/1.1. Last. */
void http_request_break(HttpRequest *request);
