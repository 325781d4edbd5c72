/* One HTTPS request and its response, on a separate connection. Loop thread.
 *
 * The response is delivered as a whole, or, if `piece` is set, in pieces: then it may have
 * any length and take any time, as long as data arrives, and a slow consumer pauses the call. */
#pragma once

#include "net/connection.h"
#include "net/http1.h"

typedef struct HttpCall HttpCall;

/* One more field of a request. */
typedef struct HttpCallField {
    const char *name; /* a token, see http1_is_field for both */
    Str value;
} HttpCallField;

/* Borrowed for the call of `done`. */
typedef struct HttpAnswer {
    const Http1Head *head;
    Str body;
} HttpAnswer;

typedef struct HttpCallOptions {
    Loop *loop;
    Address address;
    TlsContext *tls;      /* NULL for a Unix socket; it must outlive the call */
    const char *tls_host; /* the name that the server's certificate must have; NULL: `verify` of the
                             context decides */
    const char *method;
    const char *target;          /* "/v1/join" */
    const char *content_type;    /* of the body; NULL: there is none */
    Str body;                    /* copied */
    const HttpCallField *fields; /* copied */
    uint32_t field_count;
    uint64_t answer_max; /* bytes of its body */
    int64_t timeout_ms;  /* for all of it; with pieces, until the first byte of the answer */
    /* May be NULL. Gets the body of an answer with a status of 200 to 299 in place of `done`; any
     * other is kept for `done`, up to 64 KiB of it. The call may be paused or freed here. */
    void (*piece)(void *context, const Http1Head *head, Str piece);
    int64_t idle_timeout_ms; /* with pieces: while nothing comes and the call is not paused */
    /* Once: `answer` is NULL after a failure, of which `err` tells; an answer that was broken off is
     * one. The call may be freed here. */
    void (*done)(void *context, const HttpAnswer *answer, const Error *err);
    void *context;
} HttpCallOptions;

/* `done` follows, in a later turn. */
HttpCall *http_call_new(const HttpCallOptions *options);
/* At any time; `done` is not called after it. NULL is allowed. */
void http_call_free(HttpCall *call);
DEFINE_AUTO(HttpCall, http_call_free)

/* Of a call with pieces: none comes from now on, and the server has to wait, until it is resumed;
 * then they come in a later turn. Only that the connection broke may still be told. */
void http_call_pause(HttpCall *call);
void http_call_resume(HttpCall *call);
/* Whether the server may have seen something of the request. */
bool http_call_is_sent(const HttpCall *call);
/* Who answered; once `done` is called with an answer. */
const Peer *http_call_peer(const HttpCall *call);
