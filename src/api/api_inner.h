/* The Api struct and the life cycle of calls; private to src/api. */
#pragma once

#include "api/call.h"
#include "base/rate.h"
#include "cluster/cursor_key.h"
#include "cluster/idempotency_retries.h"
#include "cluster/refusal_log.h"
#include "source/webhook_gate.h"

/* Calls in progress: pending requests and streams. Public ones are counted separately, so that
 * anonymous clients cannot crowd out authenticated ones. */
typedef struct ApiLoad {
    uint32_t calls, streams, public_streams;
} ApiLoad;

struct Api {
    ApiSettings settings;
    ApiCall *calls;
    struct Feed *feeds; /* one per watched kind; see api/feed.h */
    /* Revision of the store when objects outside of it last changed; initially the revision at
     * startup. */
    int64_t external_changed;
    CursorKey *cursor_key; /* seals page tokens */
    IdempotencyRetries *retries;
    RefusalLog unauthenticated;
    WebhookGate *webhooks; /* NULL: none was received yet */
    Buf openapi;           /* the OpenAPI document, built on first use */
    ReadQueue reads;       /* reads by remote callers */
    RateTable uploads;     /* by remote callers, see ApiSettings */
    ApiLoad local, remote; /* separate, so that an operator on the server is never locked out */
};

ApiCall *call_new(Api *api, HttpRequest *request);
void call_unlink(ApiCall *call); /* from its Api */
void call_free(ApiCall *call);
ApiLoad *call_load(const ApiCall *call);
