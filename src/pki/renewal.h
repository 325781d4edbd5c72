/* When a certificate is renewed: at two thirds of its lifetime or slightly later,
 * so that nodes that were created together do not all renew at the same time. */
#pragma once

#include "pki/certificate.h"

typedef enum RenewalState {
    RENEWAL_WAIT,    /* until `at_ms` */
    RENEWAL_DUE,     /* now */
    RENEWAL_EXPIRED, /* too late: whoever has it must join again */
    RENEWAL_EARLY,   /* it is not good yet; this machine's clock is behind, or was ahead */
} RenewalState;

typedef struct RenewalRules {
    const Pin
        *issuer; /* the CA that signs now; a certificate of another is due. NULL: any will do */
    int64_t since_ms;  /* since when that CA signs */
    int64_t spread_ms; /* over which those of the other CA are spread from then on */
} RenewalRules;

typedef struct RenewalPlan {
    RenewalState state;
    int64_t at_ms; /* when it is, or was, due */
} RenewalPlan;

/* Pure: the same certificate gets the same moment everywhere and after every restart. */
RenewalPlan renewal_plan(const Certificate *certificate, const RenewalRules *rules, int64_t now_ms);

/* How long to wait after a try that failed, the first being 0: half a minute, doubling up to an
 * hour, less when there is little time left; `chance` (any number) takes up to half of it off. */
int64_t renewal_retry_ms(const Certificate *certificate, uint32_t failures, int64_t now_ms,
                         uint64_t chance);
