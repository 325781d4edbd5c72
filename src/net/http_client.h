/* One HTTPS request and its response, on a separate connection. Loop thread.
 *
 * The response is delivered as a whole, or, if `piece` is set, in pieces: then it may have any
 * length and take any amount of time, as long as data arrives, and a slow consumer pauses the
 * call. */
#pragma once

#include "net/connection.h"
#include "net/http1.h"

typedef struct HttpCall HttpCall;

/* An additional header of a request. */
typedef struct HttpCallField {
    const char *name; /* a token; see http1_is_field for both */
    Str value;
} HttpCallField;

/* Valid during `done`. */
typedef struct HttpResponse {
    const Http1Head *head;
    Str body;
} HttpResponse;

typedef struct HttpCallOptions {
    Loop *loop;
    Address address;
    TlsContext *tls; /* NULL for a Unix socket; must outlive the call */
    /* name that the server's certificate must contain; NULL: `verify` of the context decides */
    const char *tls_host;
    const char *method;
    const char *target;          /* for example "/v1/join" */
    const char *content_type;    /* Content-Type of the body; NULL: no body */
    Str body;                    /* copied */
    const HttpCallField *fields; /* copied */
    uint32_t field_count;
    uint64_t response_max; /* maximum size of the response body */
    /* for the entire call; with `piece`, until the first byte of the response */
    int64_t timeout_ms;
    /* May be NULL. Receives the body of a response with a 2xx status in pieces; any other is passed
     * to `done`, up to 64 KiB of it. May pause or free the call. */
    void (*piece)(void *context, const Http1Head *head, Str piece);
    /* with `piece`: limit on the time without data while the call is not paused */
    int64_t idle_timeout_ms;
    /* Called once. `response` is NULL after a failure, including a truncated response; then `err`
     * has the reason. May free the call. */
    void (*done)(void *context, const HttpResponse *response, const Error *err);
    void *context;
} HttpCallOptions;

/* `done` is called in a later iteration of the loop. */
HttpCall *http_call_new(const HttpCallOptions *options);
/* Allowed at any time; `done` is not called after it. NULL is allowed. */
void http_call_free(HttpCall *call);
DEFINE_AUTO(HttpCall, http_call_free)

/* For calls with `piece`: stops delivery until http_call_resume, so that the server has to wait;
 * delivery continues in a later iteration of the loop. A broken connection may still be
 * reported. */
void http_call_pause(HttpCall *call);
void http_call_resume(HttpCall *call);
/* Whether the server may have received part of the request. */
bool http_call_is_sent(const HttpCall *call);
/* The server; valid once `done` is called with a response. */
const Peer *http_call_peer(const HttpCall *call);
