/* Computes renewal times. The random share comes from the serial number, so every process computes
 * the same time for the same certificate. */
#include "pki/renewal.h"

#define SECOND_MS ((int64_t)1000)

enum {
    SHARE_DIGITS = 12, /* digits of the serial number that are used: 48 random bits */
};

/* A fraction of `period_ms` derived from the certificate: at least 0 and less than `period_ms`. */
static int64_t share_of(const Certificate *certificate, int64_t period_ms)
{
    size_t len = strlen(certificate->serial);
    uint64_t bits = 0;
    for (size_t i = len < SHARE_DIGITS ? 0 : len - SHARE_DIGITS; i < len; i++) {
        bits = bits << 4 | (uint64_t)ascii_hex_value(certificate->serial[i]);
    }
    return period_ms <= 0 ? 0
                          : (int64_t)((unsigned __int128)period_ms * bits >> (4 * SHARE_DIGITS));
}

RenewalPlan renewal_plan(const Certificate *certificate, const RenewalRules *rules, int64_t now_ms)
{
    int64_t life = certificate->not_after_ms - certificate->not_before_ms;
    RenewalPlan plan = {
        .due_ms = certificate->not_before_ms + life / 3 * 2 + share_of(certificate, life / 12),
    };
    if (rules->issuer != NULL && !certificate_names_issuer(certificate, rules->issuer)) {
        int64_t moved = rules->since_ms + share_of(certificate, rules->spread_ms);
        plan.due_ms = moved < plan.due_ms ? moved : plan.due_ms;
    }
    if (now_ms < certificate->not_before_ms) {
        plan.state = RENEWAL_EARLY;
    } else if (now_ms >= certificate->not_after_ms) {
        plan.state = RENEWAL_EXPIRED;
    } else {
        plan.state = now_ms >= plan.due_ms ? RENEWAL_DUE : RENEWAL_WAIT;
    }
    return plan;
}

int64_t renewal_retry_ms(const Certificate *certificate, uint32_t failures, int64_t now_ms,
                         uint64_t chance)
{
    const int64_t first = 30 * SECOND_MS, max = 3600 * SECOND_MS, min = 5 * SECOND_MS;
    int64_t wait = failures < 7 ? first << failures : max;
    int64_t remaining = (certificate->not_after_ms - now_ms) / 10;
    wait = wait < remaining ? wait : remaining;
    wait = wait > min ? wait : min;
    return wait - (int64_t)(chance % (uint64_t)(wait / 2 + 1));
}
