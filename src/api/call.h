/* A request in progress. It may outlive both the peer and the Api while the store works on it, so
 * callbacks must check call_goes_on() first, and nothing else may keep a pointer to it. */
#pragma once

#include "api/caller.h"
#include "api/kind.h"
#include "api/routes.h"
#include "api/turns.h"
#include "audit/audit.h"
#include "base/buf.h"
#include "cluster/idempotency.h"
#include "cluster/object_selector.h"
#include "membership/facts_selector.h"

typedef void CallStep(ApiCall *call);

/* A streamed response. `drained` as in http_request_begin(). `gone`: the peer has left; the call is
 * freed when it returns, so all pending callbacks must be canceled there. */
typedef struct CallPieces {
    void (*drained)(void *context);
    void (*gone)(void *context);
    void *context;
} CallPieces;

struct ApiCall {
    Turn turn;            /* of a request that reads */
    Api *api;             /* NULL once it is freed */
    HttpRequest *request; /* NULL once the peer has left */
    ApiCall *next, *previous;
    const RouteRow *row;
    const char *verb; /* of the row, or "watch"; NULL: public */
    Arena arena;
    Str part; /* variable segment of the path */
    RouteQuery query;
    int64_t began_us;
    CallPieces pieces;       /* valid once the stream has started */
    bool joins;              /* the admission has it and may cancel it */
    bool is_local;           /* on the Unix socket */
    bool is_stream;          /* the response is streamed */
    void *own;               /* data of the handler, in the arena */
    FactsSelector *by_facts; /* selector of a list with expressions about facts; may be NULL */
    ApiCaller caller;
    const char *refusal; /* public endpoints: why the credential is invalid; may be NULL */
    uint64_t scope;      /* fingerprint of the selectors of the caller's roles */
    bool is_limited;     /* roles are limited by selectors: call_may_touch() */
    char id[16 + 1];     /* see call_id() */

    /* State of api/record.h. */
    AuditEntry *entry; /* the request is recorded; NULL: not recorded, or its result already is */
    bool is_claimed;   /* the response must be stored: */
    IdempotentRequest idempotent;
    bool holds_secret; /* the response contains a secret and must not be stored */
    int status;
    Str answer;
    Str etag, location; /* response headers; may be empty */
    CallStep *go;
};

/* Only while call_goes_on(). */
const ApiSettings *call_settings(const ApiCall *call);
const ClusterStore *call_store(const ApiCall *call);
Str call_body(const ApiCall *call); /* only within the handler */
/* True even if the body was not read because the call is rejected. */
bool call_has_body(const ApiCall *call);
/* The id in the audit log. */
Str call_id(ApiCall *call);
/* Since when data may be out of date, in RFC 3339; empty if it is current. */
Str call_stale_since(ApiCall *call);
/* Adds a header to the response. */
void call_add_header(ApiCall *call, const char *name, Str value);
/* Whether the row has the parameter and it was given. */
bool call_has_parameter(const ApiCall *call, const char *name, Str *out);
/* A parameter of the row; empty if not given. */
Str call_parameter(const ApiCall *call, const char *name);
/* Parses it as a number from 1 to `max`; `fallback` if not given. Returns false after rejecting the
 * call. */
MUST_CHECK bool call_parameter_count(ApiCall *call, const char *name, uint32_t fallback,
                                     uint32_t max, uint32_t *out);
/* The parameter "selector"; NULL if not given. Returns false after rejecting the call. */
MUST_CHECK bool call_parameter_selector(ApiCall *call, const Selector **out);

/* Must be called first in callbacks. Returns false if the call has ended: the peer has left, or
 * `err` is not NULL and was sent. */
MUST_CHECK bool call_goes_on(ApiCall *call, const Error *err);

/* Whether the caller's roles cover this object; always true unless the call is limited. `labels` is
 * a map, or missing. If false, use call_refuse_touch(), whose response is the same as for missing
 * objects. */
bool call_may_touch(const ApiCall *call, Str name, Value labels);
/* The same for an existing object. One whose labels cannot be read is visible only to callers whose
 * roles cover all objects. */
bool call_may_see(const ApiCall *call, const KindItem *item);
void call_refuse_touch(ApiCall *call);

/* Logs an authentication failure; rate-limited. */
void call_log_unauthenticated(ApiCall *call, const char *why);

/* Responses; each ends the call. */
void call_answer(ApiCall *call, int status, const Buf *json);
/* A verbatim body with its own content type. */
void call_answer_as(ApiCall *call, int status, const char *content_type, Str body);
void call_fail(ApiCall *call, const Error *err); /* status according to the error kind */
/* the same, but 413 if the body is too large */
void call_fail_body(ApiCall *call, const Error *err);
void call_refuse(ApiCall *call, int status, const char *text);
void call_refuse_full(ApiCall *call); /* 429: too many concurrent requests */
/* Whether the caller may have another request: under load, at most a quarter of the limit per
 * caller. */
bool call_has_room(const ApiCall *call);
void call_refuse_fields(ApiCall *call, const FieldProblems *problems);
/* 400 with one invalid field */
void call_refuse_field(ApiCall *call, Str pointer, const char *text);
/* Attributes ERROR_INVALID to the field; other kinds as call_fail(). */
void call_fail_field(ApiCall *call, Str pointer, const Error *err);
/* Sends the status and response of the call; for api/record.h. */
void call_send(ApiCall *call);
/* A ClusterDone whose context is the call: responds {"format":"eden.done/1"} or the error. */
void call_done(void *context, const Error *err);

/* Starts a streamed response. Returns false after responding if the peer does not support streams
 * (HEAD, HTTP/1.0) or there are too many. */
MUST_CHECK bool call_begin(ApiCall *call, const char *content_type, const CallPieces *pieces);
void call_piece(ApiCall *call, Str piece);
/* Completes the stream; call_break() marks it as truncated instead. Both end the call. */
void call_end(ApiCall *call);
void call_break(ApiCall *call);
