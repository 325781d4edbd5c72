/* A request in progress. It may outlive both the peer and the Api while a store operation is
 * pending, so callbacks must check call_resume() first, and nothing else may hold a pointer to
 * it. */
#pragma once

#include "api/caller.h"
#include "api/kind.h"
#include "api/read_queue.h"
#include "api/routes.h"
#include "audit/audit.h"
#include "base/buf.h"
#include "cluster/idempotency.h"
#include "cluster/object_selector.h"
#include "membership/facts_selector.h"

typedef void CallStep(ApiCall *call);

/* A streamed response. `drained` as in http_request_begin(). `closed`: the peer has disconnected;
 * the call is freed when it returns, so it must cancel all pending callbacks. */
typedef struct CallStream {
    void (*drained)(void *context);
    void (*closed)(void *context);
    void *context;
} CallStream;

struct ApiCall {
    QueuedRead read;      /* for reads by remote callers */
    Api *api;             /* NULL once freed */
    HttpRequest *request; /* NULL once the peer has disconnected */
    ApiCall *next, *previous;
    const RouteRow *row;
    const char *verb; /* of the row, or "watch"; NULL: public */
    Arena arena;
    Str part; /* variable segment of the path */
    RouteQuery query;
    int64_t started_us;
    CallStream stream;             /* valid once the stream has started */
    bool is_joining;               /* handed to the admission, which may cancel it */
    bool is_local;                 /* on the Unix socket */
    bool is_stream;                /* the response is streamed */
    void *handler_data;            /* data of the handler, in the arena */
    FactsSelector *facts_selector; /* selector of a list that uses facts; may be NULL */
    ApiCaller caller;
    const char *refusal; /* public endpoints: why the credential is invalid; may be NULL */
    uint64_t scope;      /* hash of the selectors of the caller's roles */
    bool is_limited;     /* roles are limited by selectors: call_may_access() */
    char id[16 + 1];     /* see call_id() */

    /* State of api/record.h. */
    AuditEntry *entry; /* the request is recorded; NULL: not recorded, or its result already is */
    bool is_claimed;   /* holds the idempotency key, so the response must be stored */
    IdempotentRequest idempotent;
    bool holds_secret; /* the response contains a secret and must not be stored */
    int status;
    Str response;
    Str etag, location; /* response headers; may be empty */
    CallStep *next_step;
};

/* Valid only after call_resume() has returned true. */
const ApiSettings *call_settings(const ApiCall *call);
const ClusterStore *call_store(const ApiCall *call);
Str call_body(const ApiCall *call); /* only within the handler */
/* True even if the body was not read because the call is rejected. */
bool call_has_body(const ApiCall *call);
/* The id in the audit log. */
Str call_id(ApiCall *call);
/* The time since when data may be out of date, in RFC 3339; empty if it is current. */
Str call_stale_since(ApiCall *call);
/* Adds a header to the response. */
void call_add_header(ApiCall *call, const char *name, Str value);
/* Whether the row has the parameter and it was given. */
bool call_has_parameter(const ApiCall *call, const char *name, Str *out);
/* A parameter of the row; empty if not given. */
Str call_parameter(const ApiCall *call, const char *name);
/* Parses a parameter as a number from 1 to `max`; `fallback` if not given. Returns false after
 * rejecting the call. */
MUST_CHECK bool call_parameter_count(ApiCall *call, const char *name, uint32_t fallback,
                                     uint32_t max, uint32_t *out);
/* The parameter "selector"; NULL if not given. Returns false after rejecting the call. */
MUST_CHECK bool call_parameter_selector(ApiCall *call, const Selector **out);

/* Must be called first in callbacks. Returns false if the call has ended: the peer has
 * disconnected, or `err` is not NULL and was sent as the response. */
MUST_CHECK bool call_resume(ApiCall *call, const Error *err);

/* Whether the caller's roles cover this object; always true unless the call is limited. `labels` is
 * a map or missing. If false, use call_refuse_hidden(), whose response is the same as for missing
 * objects. */
bool call_may_access(const ApiCall *call, Str name, Value labels);
/* Like call_may_access(), for an existing object. If its labels cannot be read, it is visible only
 * to callers whose roles cover all objects. */
bool call_may_see(const ApiCall *call, const KindItem *item);
void call_refuse_hidden(ApiCall *call);

/* The run of the path, if the caller may see it. Returns NULL after responding. */
const RunEntry *run_of_call(ApiCall *call);
/* Whether a target that has not ended has no session, or has missed the end of the run. */
bool run_target_is_silent(const ApiSettings *settings, const RunEntry *run, uint32_t target);

/* Logs an authentication failure; rate-limited. */
void call_log_unauthenticated(ApiCall *call, const char *why);

/* Responses; each ends the call. */
void call_respond(ApiCall *call, int status, const Buf *json);
/* A verbatim body with its own content type. */
void call_respond_as(ApiCall *call, int status, const char *content_type, Str body);
void call_fail(ApiCall *call, const Error *err); /* status according to the error kind */
/* like call_fail(), but 413 if the body is too large */
void call_fail_body(ApiCall *call, const Error *err);
void call_refuse(ApiCall *call, int status, const char *text);
void call_refuse_busy(ApiCall *call); /* 429: too many concurrent requests */
/* Whether the caller may start another request: under load, each may use a quarter of the limit. */
bool call_may_start(const ApiCall *call);
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
MUST_CHECK bool call_begin(ApiCall *call, const char *content_type, const CallStream *stream);
void call_send_chunk(ApiCall *call, Str chunk);
/* Completes the stream; call_abort() marks it as truncated instead. Both end the call. */
void call_end(ApiCall *call);
void call_abort(ApiCall *call);
