/* The time at which a certificate is renewed: at two thirds of its lifetime or slightly later, so
 * that nodes that were created together do not all renew at the same time. */
#pragma once

#include "pki/certificate.h"

typedef enum RenewalState {
    RENEWAL_WAIT,    /* until `due_ms` */
    RENEWAL_DUE,     /* now */
    RENEWAL_EXPIRED, /* too late: the node must join again */
    RENEWAL_EARLY,   /* not valid yet: this machine's clock is behind, or was ahead */
} RenewalState;

typedef struct RenewalRules {
    /* the CA that currently signs; certificates from any other CA are due. NULL: any CA */
    const Pin *issuer;
    int64_t since_ms;  /* time at which that CA started to sign */
    int64_t spread_ms; /* period over which renewals from another CA are spread */
} RenewalRules;

typedef struct RenewalPlan {
    RenewalState state;
    int64_t due_ms; /* the time at which it is or was due */
} RenewalPlan;

/* Pure: a certificate has the same renewal time on every machine and after every restart. */
RenewalPlan renewal_plan(const Certificate *certificate, const RenewalRules *rules, int64_t now_ms);

/* The delay after a failed attempt, with attempts counted from 0: half a minute, doubling up to an
 * hour, less if there is little time left; `chance` (any number) reduces it by up to half. */
int64_t renewal_retry_ms(const Certificate *certificate, uint32_t failures, int64_t now_ms,
                         uint64_t chance);
