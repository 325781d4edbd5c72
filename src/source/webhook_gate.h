/* Limits what anyone on the network can make a server do with webhooks: requests per origin and in
 * total, and each delivery once. In memory: a delivery that is repeated after a restart only
 * fetches once more. Pure. */
#pragma once

#include "base/rate.h"
#include "base/str.h"

enum {
    WEBHOOK_GATE_DELIVERIES = 256 /* the newest, of all sources */
};

/* Each may have a body of 1 MiB that is hashed. */
#define WEBHOOK_ORIGIN_LIMIT ((RateLimit){ .per_second = 2, .burst = 60 })
#define WEBHOOK_TOTAL_LIMIT  ((RateLimit){ .per_second = 20, .burst = 300 })

/* Zero-initialized is empty. */
typedef struct WebhookGate {
    RateTable origins;
    Rate total;
    uint64_t deliveries[WEBHOOK_GATE_DELIVERIES]; /* hashes; a ring */
    uint32_t next;
} WebhookGate;

/* Whether to look at another request of this origin. `now_ms` must be monotonic. */
bool webhook_gate_allows(WebhookGate *gate, uint64_t origin, int64_t now_ms);
/* Whether this delivery to a source was noted. An empty id never is. */
bool webhook_gate_knows(const WebhookGate *gate, Str source, Str delivery);
void webhook_gate_note(WebhookGate *gate, Str source, Str delivery);
