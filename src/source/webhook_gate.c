#include "source/webhook_gate.h"

#include "base/hash.h"

bool webhook_gate_allows(WebhookGate *gate, uint64_t origin, int64_t now_ms)
{
    /* Its own share first, so that a noisy origin does not use up the total. */
    return rate_table_take(&gate->origins, origin, WEBHOOK_ORIGIN_LIMIT, now_ms, 1) &&
           rate_take(&gate->total, WEBHOOK_TOTAL_LIMIT, now_ms, 1);
}

/* Never 0. Only genuine deliveries are noted, so nobody else can choose them. */
static uint64_t hash_of(Str source, Str delivery)
{
    return (hash_str(source) * 31 + hash_str(delivery)) | 1;
}

bool webhook_gate_knows(const WebhookGate *gate, Str source, Str delivery)
{
    uint64_t wanted = hash_of(source, delivery);
    for (uint32_t i = 0; delivery.len > 0 && i < WEBHOOK_GATE_DELIVERIES; i++) {
        if (gate->deliveries[i] == wanted) {
            return true;
        }
    }
    return false;
}

void webhook_gate_note(WebhookGate *gate, Str source, Str delivery)
{
    if (delivery.len > 0 && !webhook_gate_knows(gate, source, delivery)) {
        gate->deliveries[gate->next] = hash_of(source, delivery);
        gate->next = (gate->next + 1) % WEBHOOK_GATE_DELIVERIES;
    }
}
