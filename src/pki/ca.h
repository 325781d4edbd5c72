/* The CA of a cluster: making one, and the certificates that it gives.
 *
 * A CA is a Credential like any other (pki/credential.h), whose certificate says that it is one and
 * is called "eden CLUSTER". What stands in a certificate is decided here, from what was approved:
 *
 *     node      client and server; one SAN, the identity; the enrolment in the serial number
 *     user      client only; one SAN, the identity of the user
 *     serving   server only; DNS names and addresses of the API, from the settings of the server
 *     cross     the key of the next CA, for those who know only the present one
 *
 * A certificate says who somebody is. What they may do stands in the store. */
#pragma once

#include "pki/credential.h"

#define PKI_MINUTE_MS ((int64_t)60 * 1000)
#define PKI_DAY_MS    ((int64_t)24 * 60 * PKI_MINUTE_MS)

#define CA_LIFE_MS       (3650 * PKI_DAY_MS)
#define NODE_LIFE_MS     (30 * PKI_DAY_MS)
#define SERVING_LIFE_MS  (90 * PKI_DAY_MS)
#define USER_LIFE_MS     (90 * PKI_DAY_MS)
#define USER_LIFE_MAX_MS (366 * PKI_DAY_MS)
/* The shortest life of any, for tests and trials. */
#define LIFE_MIN_MS ((int64_t)10 * 1000)
/* Certificates are good from so long before they are made, for clocks that are behind; those that
 * live for minutes only, from a quarter of their life. */
#define CA_BACKDATE_MS (5 * PKI_MINUTE_MS)

/* 26 letters and digits from 128 random bits: a cluster_name_check()ed name for a cluster that
 * nobody gave one, and an id for anything else. */
enum {
    CLUSTER_ID_TEXT = 26,
};
MUST_CHECK bool cluster_id_make(char out[CLUSTER_ID_TEXT + 1], Error *err);
/* What tells one enrolment of a name from the next. */
MUST_CHECK bool enrolment_make(char out[ENROLMENT_TEXT + 1], Error *err);
MUST_CHECK bool enrolment_check(Str enrolment, Error *err);

/* A new CA for the cluster, with a new key. Clear it; its certificate is the arena's. */
MUST_CHECK bool ca_make(Arena *arena, Str cluster, int64_t now_ms, Credential *out, Error *err);

typedef struct NodeGrant {
    Identity identity; /* as approved */
    Str enrolment;     /* enrolment_make() */
    P256Public key;    /* csr_read() */
    int64_t now_ms;
    int64_t life_ms; /* 0: NODE_LIFE_MS. Never longer than the CA itself lives */
} NodeGrant;

/* Fails with ERROR_INVALID when the grant is for another cluster or a life that makes no sense,
 * ERROR_DENIED when the CA has expired or is none. */
MUST_CHECK bool ca_issue_node(Arena *arena, const Credential *ca, const NodeGrant *grant,
                              Certificate *out, Error *err);

typedef struct UserGrant {
    UserIdentity identity;
    P256Public key; /* csr_read() */
    int64_t now_ms;
    int64_t life_ms; /* 0: USER_LIFE_MS; at most USER_LIFE_MAX_MS */
} UserGrant;

/* Fails as ca_issue_node(). */
MUST_CHECK bool ca_issue_user(Arena *arena, const Credential *ca, const UserGrant *grant,
                              Certificate *out, Error *err);

typedef struct ServingGrant {
    const Str *names; /* serving_names_make() says which are allowed */
    uint32_t name_count;
    P256Public key;
    int64_t now_ms;
    int64_t life_ms; /* 0: SERVING_LIFE_MS */
} ServingGrant;

MUST_CHECK bool ca_issue_serving(Arena *arena, const Credential *ca, const ServingGrant *grant,
                                 Certificate *out, Error *err);

/* A certificate by `ca` for the key of another CA of the same cluster. Sent behind a certificate of
 * the other, it lets in who trusts only `ca`, such as a node that joins with an older pin. */
MUST_CHECK bool ca_cross_sign(Arena *arena, const Credential *ca, const Certificate *other,
                              int64_t now_ms, Certificate *out, Error *err);
