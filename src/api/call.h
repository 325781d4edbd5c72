/* A request under way. It outlives both the peer and the Api when the store is still busy with it:
 * so whoever was called back asks call_goes_on first, and nobody else holds on to it. */
#pragma once

#include "api/api.h"
#include "api/kind_field.h"
#include "api/routes.h"
#include "base/buf.h"

/* An answer in pieces. `drained` as of http_request_begin. `gone`: nobody takes it any more; the call
 * ends when it returns, so whatever else would call back must be canceled there. */
typedef struct CallPieces {
    void (*drained)(void *context);
    void (*gone)(void *context);
    void *context;
} CallPieces;

struct ApiCall {
    Api *api;             /* NULL: it is gone */
    HttpRequest *request; /* NULL: so is the peer */
    ApiCall *next, *previous;
    const RouteRow *row;
    Arena arena;
    Str part; /* of the path */
    RouteQuery query;
    int64_t began_us;
    bool is_page;
    CallPieces pieces; /* once its answer has begun */
    bool joins;        /* the admission deals with it, which may forget it */
    bool is_local;     /* by the Unix socket */
    bool is_stream;    /* its answer comes in pieces */
    void *own;         /* of the handler, in the arena */
};

/* Only while it is wanted. */
const ApiSettings *call_settings(const ApiCall *call);
const ClusterStore *call_store(const ApiCall *call);
Str call_body(const ApiCall *call); /* only in the handler itself */
/* A parameter that the row has; empty: not given. */
Str call_parameter(const ApiCall *call, const char *name);
/* The same as a number from 1 to `max`; `fallback` when it is not given. False: it was refused. */
MUST_CHECK bool call_parameter_count(ApiCall *call, const char *name, uint32_t fallback,
                                     uint32_t max, uint32_t *out);

/* For whoever was called back. False: nobody waits for the answer any more, or it was `err`, unless
 * that is NULL; the call has ended. */
MUST_CHECK bool call_goes_on(ApiCall *call, const Error *err);

/* Answers; each ends the call. */
void call_answer(ApiCall *call, int status, const Buf *json);
/* As it is, with a type of its own. */
void call_answer_as(ApiCall *call, int status, const char *content_type, Str body);
void call_fail(ApiCall *call, const Error *err); /* with the status of its kind */
void call_refuse(ApiCall *call, int status, const char *text);
void call_refuse_fields(ApiCall *call, const FieldProblems *problems);
/* {"format":"eden.done/1"} or what went wrong: a ClusterDone, with the call as its context. */
void call_done(void *context, const Error *err);

/* Begins an answer in pieces. False: this peer takes none (HEAD, HTTP/1.0), or there are too many; it
 * was answered, and the call has ended. */
MUST_CHECK bool call_begin(ApiCall *call, const char *content_type, const CallPieces *pieces);
void call_piece(ApiCall *call, Str piece);
/* The answer is whole, or, with call_break, shall be known not to be; both end the call. */
void call_end(ApiCall *call);
void call_break(ApiCall *call);
