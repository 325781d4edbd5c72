/* A request in progress. It outlives both the peer and the Api while the store is busy
 * with it: so callbacks check call_goes_on first, and nothing else keeps a pointer to it. */
#pragma once

#include "api/caller.h"
#include "api/kind.h"
#include "api/routes.h"
#include "audit/audit.h"
#include "base/buf.h"
#include "cluster/idempotency.h"
#include "cluster/object_selector.h"
#include "membership/facts_selector.h"

typedef void CallStep(ApiCall *call);

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
    const char *verb; /* of the row, or "watch"; NULL: anybody may */
    Arena arena;
    Str part; /* of the path */
    RouteQuery query;
    int64_t began_us;
    CallPieces pieces;       /* once its answer has begun */
    bool joins;              /* the admission deals with it, which may forget it */
    bool is_local;           /* by the Unix socket */
    bool is_stream;          /* its answer comes in pieces */
    void *own;               /* of the handler, in the arena */
    FactsSelector *by_facts; /* of a list that is selected so; NULL: none is */
    ApiCaller caller;
    const char *refusal; /* why what was shown is not good, where anybody may call; else NULL */
    uint64_t scope;      /* of the selectors of the caller's roles: another one when they change */
    bool is_limited;     /* the caller may for some objects only: call_may_touch */
    char id[16 + 1];     /* see call_id */

    /* Of api/record.h. */
    AuditEntry *entry; /* that it was asked for is recorded; NULL: nothing is, or its end too */
    bool is_claimed;   /* its answer is to be kept: */
    IdempotentRequest idempotent;
    bool holds_secret; /* the answer, which is not kept then */
    int status;
    Str answer;
    Str etag, location; /* fields of it; empty: none */
    CallStep *go;
};

/* Only while it is wanted. */
const ApiSettings *call_settings(const ApiCall *call);
const ClusterStore *call_store(const ApiCall *call);
Str call_body(const ApiCall *call); /* only in the handler itself */
/* Also one that was not read, because it is refused. */
bool call_has_body(const ApiCall *call);
/* By which it is known in the audit log. */
Str call_id(ApiCall *call);
/* Since when what the server knows may be out of date, as RFC 3339 has it; empty: it is current. */
Str call_stale_since(ApiCall *call);
/* A field of the answer that is to come. */
void call_add_header(ApiCall *call, const char *name, Str value);
/* Whether the row has it and it was given. */
bool call_has_parameter(const ApiCall *call, const char *name, Str *out);
/* A parameter that the row has; empty: not given. */
Str call_parameter(const ApiCall *call, const char *name);
/* The same as a number from 1 to `max`; `fallback` when it is not given. False: it was refused. */
MUST_CHECK bool call_parameter_count(ApiCall *call, const char *name, uint32_t fallback,
                                     uint32_t max, uint32_t *out);
/* The parameter "selector" of objects; NULL when it is not given. False: it was refused. */
MUST_CHECK bool call_parameter_selector(ApiCall *call, const Selector **out);

/* For whoever was called back. False: nobody waits for the answer any more, or it was `err`, unless
 * that is NULL; the call has ended. */
MUST_CHECK bool call_goes_on(ApiCall *call, const Error *err);

/* Whether the caller's roles are for this object too; always, unless the call is limited. `labels` is a
 * map, or missing. When not: call_refuse_touch, which says what it says of objects that are not. */
bool call_may_touch(const ApiCall *call, Str name, Value labels);
/* The same of one that is there. When nobody knows its labels it is for those only whose roles are for
 * all. */
bool call_may_see(const ApiCall *call, const KindItem *item);
void call_refuse_touch(ApiCall *call);

/* What was shown to prove who calls is not good: worth a line in the log, of which there are only so
 * many. */
void call_log_unauthenticated(ApiCall *call, const char *why);

/* Answers; each ends the call. */
void call_answer(ApiCall *call, int status, const Buf *json);
/* As it is, with a type of its own. */
void call_answer_as(ApiCall *call, int status, const char *content_type, Str body);
void call_fail(ApiCall *call, const Error *err);      /* with the status of its kind */
void call_fail_body(ApiCall *call, const Error *err); /* the same; too much in its body is 413 */
void call_refuse(ApiCall *call, int status, const char *text);
void call_refuse_full(ApiCall *call); /* too much is under way */
/* While many requests are under way, whether the caller has no more than a quarter of those that may be, so
 * that others have a place. */
bool call_has_room(const ApiCall *call);
void call_refuse_fields(ApiCall *call, const FieldProblems *problems);
void call_refuse_field(ApiCall *call, Str pointer, const char *text); /* one of them */
/* What `err` says is about what stands there: ERROR_INVALID as above, others as call_fail. */
void call_fail_field(ApiCall *call, Str pointer, const Error *err);
/* The status and the answer that it has; for api/record.h. */
void call_send(ApiCall *call);
/* {"format":"eden.done/1"} or what went wrong: a ClusterDone, with the call as its context. */
void call_done(void *context, const Error *err);

/* Begins an answer in pieces. False: this peer takes none (HEAD, HTTP/1.0), or there are too many; it
 * was answered, and the call has ended. */
MUST_CHECK bool call_begin(ApiCall *call, const char *content_type, const CallPieces *pieces);
void call_piece(ApiCall *call, Str piece);
/* The answer is whole, or, with call_break, shall be known not to be; both end the call. */
void call_end(ApiCall *call);
void call_break(ApiCall *call);
