/* The CA of a cluster: creating one, and issuing certificates.
 *
 * A CA is a Credential like any other (pki/credential.h), whose certificate is marked as a CA and
 * has the name "eden CLUSTER". The content of a certificate is decided here, from what was
 * approved:
 *
 *     node      client and server; one SAN, the identity; the enrollment in the serial number
 *     user      client only; one SAN, the identity of the user
 *     serving   server only; DNS names and addresses of the API, from the settings of the server
 *     member    client and server; the names of a member of the datastore
 *     reader    client only; no name; for clients of the datastore
 *     cross     the key of the next CA, for peers that trust only the current one
 *
 * A certificate only identifies its holder. Permissions are in the store. */
#pragma once

#include "pki/credential.h"

#define PKI_MINUTE_MS ((int64_t)60 * 1000)
#define PKI_DAY_MS    ((int64_t)24 * 60 * PKI_MINUTE_MS)

#define CA_LIFETIME_MS       (3650 * PKI_DAY_MS)
#define NODE_LIFETIME_MS     (30 * PKI_DAY_MS)
#define SERVING_LIFETIME_MS  (90 * PKI_DAY_MS)
#define USER_LIFETIME_MS     (90 * PKI_DAY_MS)
#define USER_LIFETIME_MAX_MS (366 * PKI_DAY_MS)
/* The shortest lifetime of any certificate, for tests. */
#define LIFETIME_MIN_MS ((int64_t)10 * 1000)
/* Certificates are backdated by this much, for machines with slow clocks; certificates that are
 * valid for only minutes, by a quarter of their lifetime. */
#define CA_BACKDATE_MS (5 * PKI_MINUTE_MS)

/* 26 letters and digits from 128 random bits: a default name for a cluster, accepted by
 * cluster_name_check(), and an ID for other purposes. */
enum {
    CLUSTER_ID_TEXT = 26,
};
MUST_CHECK bool cluster_id_make(char out[CLUSTER_ID_TEXT + 1], Error *err);
/* Distinguishes one enrollment of a name from the next. */
MUST_CHECK bool enrollment_make(char out[ENROLLMENT_TEXT + 1], Error *err);
MUST_CHECK bool enrollment_check(Str enrollment, Error *err);

/* Creates a CA for the cluster, with a new key. The caller must clear it; its certificate is
 * allocated in the arena. */
MUST_CHECK bool ca_make(Arena *arena, Str cluster, int64_t now_ms, Credential *out, Error *err);

typedef struct NodeCertificateSpec {
    Identity identity; /* as approved */
    Str enrollment;    /* enrollment_make() */
    P256Public key;    /* csr_read() */
    int64_t now_ms;
    int64_t lifetime_ms; /* 0: NODE_LIFETIME_MS. Limited to the lifetime of the CA */
} NodeCertificateSpec;

/* Fails with ERROR_INVALID if the grant is for another cluster or the lifetime is invalid, with
 * ERROR_DENIED if the CA has expired or is not a CA. */
MUST_CHECK bool ca_issue_node(Arena *arena, const Credential *ca, const NodeCertificateSpec *grant,
                              Certificate *out, Error *err);

typedef struct UserCertificateSpec {
    UserIdentity identity;
    P256Public key; /* csr_read() */
    int64_t now_ms;
    int64_t lifetime_ms; /* 0: USER_LIFETIME_MS; at most USER_LIFETIME_MAX_MS */
} UserCertificateSpec;

/* Fails like ca_issue_node(). */
MUST_CHECK bool ca_issue_user(Arena *arena, const Credential *ca, const UserCertificateSpec *grant,
                              Certificate *out, Error *err);

typedef struct ServingCertificateSpec {
    const Str *names; /* checked by serving_names_make() */
    uint32_t name_count;
    P256Public key;
    int64_t now_ms;
    int64_t lifetime_ms; /* 0: SERVING_LIFETIME_MS */
} ServingCertificateSpec;

MUST_CHECK bool ca_issue_serving(Arena *arena, const Credential *ca,
                                 const ServingCertificateSpec *grant, Certificate *out, Error *err);

/* Common names of certificates of the datastore. Members accept other members only under theirs. */
#define DATASTORE_MEMBER_NAME "eden datastore member"
#define DATASTORE_CLIENT_NAME "eden datastore client"

/* `ca` is the one of the datastore, which issues nothing else: anyone who has one of these can read
 * and write everything. For a member (the names are those under which others connect to it, and
 * those of its own connections), or without names for a client. */
MUST_CHECK bool ca_issue_datastore(Arena *arena, const Credential *ca,
                                   const ServingCertificateSpec *grant, Certificate *out,
                                   Error *err);

/* Issues a certificate for the key of another CA of the same cluster, signed by `ca`. If it is sent
 * after a certificate of the other CA, peers that trust only `ca` accept that one, such as a node
 * that joins with an older pin. */
MUST_CHECK bool ca_cross_sign(Arena *arena, const Credential *ca, const Certificate *other,
                              int64_t now_ms, Certificate *out, Error *err);
