/* One HTTPS request and its answer, on a connection of its own. Loop thread. */
#pragma once

#include "net/connection.h"
#include "net/http1.h"

typedef struct HttpCall HttpCall;

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
    const char *target;       /* "/v1/join" */
    const char *content_type; /* of the body; NULL: there is none */
    Str body;                 /* copied */
    uint64_t answer_max;      /* bytes of its body */
    int64_t timeout_ms;       /* for all of it */
    /* Once: `answer` is NULL after a failure, of which `err` tells. The call may be freed here. */
    void (*done)(void *context, const HttpAnswer *answer, const Error *err);
    void *context;
} HttpCallOptions;

/* `done` follows, in a later turn. */
HttpCall *http_call_new(const HttpCallOptions *options);
/* At any time; `done` is not called after it. NULL is fine. */
void http_call_free(HttpCall *call);
DEFINE_AUTO(HttpCall, http_call_free)
/* Who answered; once `done` is called with an answer. */
const Peer *http_call_peer(const HttpCall *call);
