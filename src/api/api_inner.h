/* Internal declarations for calls. */
#pragma once

#include "api/call.h"
#include "cluster/cursor_key.h"
#include "cluster/idempotency_debts.h"
#include "cluster/refusal_log.h"

/* Calls under way: those that are to be answered, and those whose answer comes in pieces. What anybody
 * may have is counted apart, so that nobody takes the place of those who are known. */
typedef struct ApiLoad {
    uint32_t calls, streams, public_streams;
} ApiLoad;

struct Api {
    ApiSettings settings;
    ApiCall *calls;
    struct Feed *feeds; /* of api/feed.h: one per kind that is watched */
    /* Where the store was when objects that it does not have were others last, or unknown to us. */
    int64_t unstored_changed;
    CursorKey *cursor_key; /* of places in lists */
    IdempotencyDebts *debts;
    RefusalLog unauthenticated;
    Buf openapi;           /* the description of the API, once somebody has asked for it */
    ApiLoad local, remote; /* apart, so that who comes to look what is the matter finds room */
};

ApiCall *call_new(Api *api, HttpRequest *request);
void call_unlink(ApiCall *call); /* from its Api */
void call_free(ApiCall *call);
ApiLoad *call_load(const ApiCall *call);
