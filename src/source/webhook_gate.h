/* Limits the work that unauthenticated clients can cause with webhooks: requests per origin and in
 * total, and each delivery once. In memory: a delivery that is repeated after a restart only causes
 * another fetch. Pure. */
#pragma once

#include "base/rate.h"
#include "base/str.h"

enum {
    WEBHOOK_GATE_DELIVERIES = 256 /* number of remembered deliveries, of all sources */
};

/* Limits on requests, each of which may have a body of 1 MiB that is hashed. */
#define WEBHOOK_ORIGIN_LIMIT ((RateLimit){ .per_second = 2, .burst = 60 })
#define WEBHOOK_TOTAL_LIMIT  ((RateLimit){ .per_second = 20, .burst = 300 })

/* Zero-initialized means empty. */
typedef struct WebhookGate {
    RateTable origins;
    RateBucket total;
    uint64_t deliveries[WEBHOOK_GATE_DELIVERIES]; /* ring buffer of hashes */
    uint32_t next;
} WebhookGate;

/* Whether to process another request from this origin. `now_ms` must be monotonic. */
bool webhook_gate_allows(WebhookGate *gate, uint64_t origin, int64_t now_ms);
/* Whether this delivery to a source was recorded before. Always false for an empty ID. */
bool webhook_gate_has(const WebhookGate *gate, Str source, Str delivery);
void webhook_gate_record(WebhookGate *gate, Str source, Str delivery);
