/* Rate limits, and a ring buffer with hashes of the last deliveries. */
#include "source/webhook_gate.h"

#include "base/hash.h"

bool webhook_gate_allows(WebhookGate *gate, uint64_t origin, int64_t now_ms)
{
    /* Charges the share of the origin first, so that one origin cannot use up the total. */
    return rate_table_take(&gate->origins, origin, WEBHOOK_ORIGIN_LIMIT, now_ms, 1) &&
           rate_take(&gate->total, WEBHOOK_TOTAL_LIMIT, now_ms, 1);
}

/* Never 0. Only authenticated deliveries are recorded, so no one else can choose the hashes. */
static uint64_t hash_of(Str source, Str delivery)
{
    return (hash_str(source) * 31 + hash_str(delivery)) | 1;
}

bool webhook_gate_has(const WebhookGate *gate, Str source, Str delivery)
{
    uint64_t hash_value = hash_of(source, delivery);
    for (uint32_t i = 0; delivery.len > 0 && i < WEBHOOK_GATE_DELIVERIES; i++) {
        if (gate->deliveries[i] == hash_value) {
            return true;
        }
    }
    return false;
}

void webhook_gate_record(WebhookGate *gate, Str source, Str delivery)
{
    if (delivery.len > 0 && !webhook_gate_has(gate, source, delivery)) {
        gate->deliveries[gate->next] = hash_of(source, delivery);
        gate->next = (gate->next + 1) % WEBHOOK_GATE_DELIVERIES;
    }
}
