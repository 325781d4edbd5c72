/* Internal declarations of the HTTP server.
 *
 * A client is a connection. It speaks HTTP/1.1 (http_server_h1.c), one request after another, or
 * HTTP/2 (http_server_h2.c), several at a time; HttpKind is what differs. */
#pragma once

#include "net/http_server.h"

enum {
    HTTP_LISTENERS_MAX = 8
};

typedef struct HttpClient HttpClient;
typedef struct HttpKind HttpKind;

struct HttpRequest {
    HttpClient *client;
    const Http1Head *head;
    Buf body;
    Buf fields; /* of the answer, beside those that each has; lines of HTTP/1.1 */
    void *data;
    void (*drained)(void *context); /* of an answer in pieces */
    void *drained_context;
    bool under_way; /* it was handed on, and its answer is not whole */
    bool in_pieces; /* and its answer has begun */
    bool is_unread; /* it has a body that is not read */
};

/* The first part of what each kind keeps. */
struct HttpClient {
    HttpServer *server;
    HttpClient *next, *previous;
    const HttpKind *kind;
    Connection *connection;
    size_t unsent; /* of the server's: bytes of answers, as they were last counted */
    bool is_cut;   /* it ends in the next turn, whatever is unsent */
};

struct HttpKind {
    /* As the functions of http_server.h, after what is common to both. */
    void (*answer)(HttpRequest *request, int status, const char *content_type, Str body);
    void (*begin)(HttpRequest *request, int status, const char *content_type);
    void (*piece)(HttpRequest *request, Str piece);
    size_t (*unsent)(HttpRequest *request);
    void (*end)(HttpRequest *request);
    void (*break_off)(HttpRequest *request);
    void (*stop)(HttpClient *client); /* nothing new; may free the client */
    void (*cut)(HttpClient *client);  /* frees it in a later turn */
    void (*free)(HttpClient *client); /* at once; `gone` for what is under way */
};

struct HttpServer {
    HttpServerOptions options;
    HttpClient *clients;
    Listener *listeners[HTTP_LISTENERS_MAX];
    uint32_t listener_count;
    size_t held;   /* bytes of requests on all connections */
    size_t unsent; /* bytes of answers on all connections */
    bool stopping;
    LoopTimer grace;
    LoopTask stopped;
    LoopRun *done;
    void *done_context;
};

/* Takes over a connection that is ready. */
void http_h1_adopt(HttpServer *server, Connection *connection);
void http_h2_adopt(HttpServer *server, Connection *connection);

void http_client_add(HttpClient *client, HttpServer *server, const HttpKind *kind,
                     Connection *connection);
/* From the server's list; the memory is the kind's. */
void http_client_remove(HttpClient *client);
/* So much of its answers waits to be taken. When that is too much for all clients together, those with
 * the most are cut off. */
void http_client_count_unsent(HttpClient *client, size_t unsent);

void http_request_init(HttpRequest *request, HttpClient *client, const Http1Head *head);
/* Forgets what belonged to one request. */
void http_request_reset(HttpRequest *request);
/* Whether a body that is about to come is read, and how many bytes of it: `*max`. */
bool http_request_reads_body(HttpRequest *request, uint64_t *max);
/* Hands it on. */
void http_request_hand_on(HttpRequest *request);
/* Tells that nobody waits for an answer any more, when somebody did. */
void http_request_lose(HttpRequest *request);
bool http_request_wants_body(const HttpRequest *request);
bool http_status_has_body(int status);
/* What the body of a refusal by the server itself is, and its type. */
const char *http_server_put_refusal(const HttpServer *server, int status, const char *why,
                                    Buf *out);
/* The fields of its answer but the length, as lines of HTTP/1.1. */
void http_request_put_fields(const HttpRequest *request, Buf *out, const char *content_type);
