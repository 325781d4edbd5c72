/* Certificates as plain values: what eden looks at in one, read once and strictly.
 *
 * Whose a certificate is stands in exactly one place, its single SAN (base/identity.h). Which
 * enrolment of that name it belongs to is the first half of its serial number, which all of one
 * enrolment have in common: a name that is given again does not bring back what was issued for it
 * before. The second half is drawn anew for each. */
#pragma once

#include "base/arena.h"
#include "base/identity.h"
#include "pki/p256_public.h"

enum {
    CERTIFICATE_MAX = 8 << 10, /* bytes of DER */
    CERTIFICATES_MAX = 16,     /* in one chain or bundle */
    SERIAL_TEXT = 40,          /* digits at most: RFC 5280 allows 20 bytes */
    SERIAL_OURS = 32,          /* digits of those that we make: 128 bits */
    ENROLMENT_TEXT = 16,       /* digits of an enrolment: 64 bits */
};

typedef enum CertificateUse {
    USE_CLIENT,
    USE_SERVER,
} CertificateUse;

typedef struct Certificate {
    Str der;
    char serial[SERIAL_TEXT + 1]; /* lower-case digits, two for each byte */
    Str subject;                  /* for people: "CN=eden home" */
    int64_t not_before_ms;
    int64_t not_after_ms; /* from then on it is no longer good */
    P256Public key;
    Pin pin; /* of the key */
    bool has_issuer_id;
    unsigned char issuer_id[KEY_ID_BYTES]; /* the first bytes of the pin of who signed it */
    bool is_ca;
    bool for_client, for_server; /* as it says itself; nothing said is nothing allowed */
    /* Set for the certificate of a node only: one SAN that is an identity, a serial number as
     * we make them, no CA. */
    bool has_identity;
    Identity identity;
    char enrolment[ENROLMENT_TEXT + 1];
    /* The same for that of a user, which is never that of a node too. */
    bool has_user;
    UserIdentity user;
} Certificate;

/* The certificate must be of version 3, with a key on P-256, and nothing behind it; the bytes are
 * borrowed by `out->der`. That says nothing of who signed it. Fails with ERROR_INVALID. */
MUST_CHECK bool certificate_parse(Arena *arena, Str der, Certificate *out, Error *err);
/* All of a PEM text, at least one and at most CERTIFICATES_MAX. */
MUST_CHECK bool certificates_from_pem(Arena *arena, Str pem, Certificate **out, uint32_t *count,
                                      Error *err);
Str certificate_pem(Arena *arena, const Certificate *certificate);

/* Whether the key with this pin signed it, as far as the certificate tells: to be asked of one that
 * was verified. */
bool certificate_names_issuer(const Certificate *certificate, const Pin *pin);
/* The one certificate of a bundle whose key has the pin, or NULL. */
const Certificate *certificate_find_pin(const Certificate *bundle, uint32_t count, const Pin *pin);

typedef struct CertificateSet {
    const Certificate *items;
    uint32_t count;
} CertificateSet;

/* All of them, in their order. */
Str certificates_pem(Arena *arena, CertificateSet set);

/* Whether `chain`, the certificate itself first, leads to one of the `trusted` and is good for the
 * use at that moment. Fails with ERROR_DENIED and the reason; for time with the moments named. */
MUST_CHECK bool certificate_verify(CertificateSet chain, CertificateSet trusted, CertificateUse use,
                                   int64_t now_ms, Error *err);
