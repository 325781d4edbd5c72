/* Internal declarations of the HTTP server.
 *
 * A client is a connection. It speaks HTTP/1.1 (http_server_h1.c), one request at a time, or HTTP/2
 * (http_server_h2.c), several at a time. HttpKind is the interface to both. */
#pragma once

#include "net/http_server.h"

enum {
    HTTP_LISTENERS_MAX = 8,
    HTTP_SHARES = 256,
};

typedef struct HttpClient HttpClient;
typedef struct HttpKind HttpKind;

struct HttpRequest {
    HttpClient *client;
    const Http1Head *head;
    Buf body;
    Buf fields; /* additional headers of the response, as HTTP/1.1 lines */
    void *data;
    void (*drained)(void *context); /* set for a response in pieces */
    void *drained_context;
    bool in_progress;     /* passed to the handler; the response is not complete */
    bool in_pieces;       /* the response is sent in pieces and has started */
    bool is_unread;       /* the body is not read */
    uint32_t body_caller; /* index of its share */
    size_t held_bytes;    /* bytes of the body, counted in that share */
};

/* Base of the connection structs of both kinds. */
struct HttpClient {
    HttpServer *server;
    HttpClient *next, *previous;
    const HttpKind *kind;
    Connection *connection;
    size_t unsent;        /* bytes of responses, counted in the server's total */
    bool is_disconnected; /* closed in the next iteration of the loop, even with unsent bytes */
};

struct HttpKind {
    /* The functions of http_server.h, after the common part. */
    void (*respond)(HttpRequest *request, int status, const char *content_type, Str body);
    void (*begin)(HttpRequest *request, int status, const char *content_type);
    void (*piece)(HttpRequest *request, Str piece);
    size_t (*unsent)(HttpRequest *request);
    void (*end)(HttpRequest *request);
    void (*abort)(HttpRequest *request);
    void (*stop)(HttpClient *client);       /* stops accepting requests; may free the client */
    void (*disconnect)(HttpClient *client); /* frees it in a later iteration of the loop */
    /* frees it now; calls `disconnected` for requests in progress */
    void (*free)(HttpClient *client);
};

struct HttpServer {
    HttpServerOptions options;
    HttpClient *clients;
    Listener *listeners[HTTP_LISTENERS_MAX];
    uint32_t listener_count;
    size_t held; /* bytes of requests on all connections */
    /* Bytes of request bodies by caller: the first entry is for all unauthenticated ones, the
     * others are selected by a hash. */
    size_t held_by_caller[HTTP_SHARES];
    size_t unsent; /* bytes of responses on all connections */
    bool stopping;
    LoopTimer grace;
    LoopTask stopped;
    LoopRun *done;
    void *done_context;
};

/* Takes ownership of a connection that is ready. */
void http_h1_adopt(HttpServer *server, Connection *connection);
void http_h2_adopt(HttpServer *server, Connection *connection);

void http_client_add(HttpClient *client, HttpServer *server, const HttpKind *kind,
                     Connection *connection);
/* Removes the client from the server's list; the caller frees the memory. */
void http_client_remove(HttpClient *client);
/* Reports the number of unsent bytes. If all clients together have too many, those with the most
 * are disconnected. */
void http_client_count_unsent(HttpClient *client, size_t unsent);

void http_request_init(HttpRequest *request, HttpClient *client, const Http1Head *head);
/* Clears the state of one request. */
void http_request_reset(HttpRequest *request);
/* Counts received bytes of a body. Returns false if the bodies of this caller exceed their share of
 * the memory. */
bool http_request_hold_body(HttpRequest *request, size_t bytes);
/* Whether to read the body, and up to what size. */
bool http_request_reads_body(HttpRequest *request, uint64_t *max);
/* Passes the request to the handler. */
void http_request_dispatch(HttpRequest *request);
/* Calls `disconnected` if the request was passed on and not answered. */
void http_request_cancel(HttpRequest *request);
bool http_request_needs_body(const HttpRequest *request);
bool http_status_has_body(int status);
/* Writes the body of a rejection by the server itself, and returns its content type. */
const char *http_server_write_error(const HttpServer *server, int status, const char *why,
                                    Buf *out);
/* Returns the headers of the response except the length, as HTTP/1.1 lines. */
void http_request_put_fields(const HttpRequest *request, Buf *out, const char *content_type);
