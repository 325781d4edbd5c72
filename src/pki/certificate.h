/* Certificates as plain values: the parts that eden uses, parsed once and strictly.
 *
 * The identity of a certificate is in exactly one place, its single SAN (base/identity.h). The
 * first half of its serial number is the enrollment, which all certificates of one enrollment
 * share: if a name is reused, certificates issued for its previous holder stay invalid. The second
 * half is random. */
#pragma once

#include "base/arena.h"
#include "base/identity.h"
#include "pki/p256_public.h"

enum {
    CERTIFICATE_MAX = 8 << 10, /* maximum size, in bytes of DER */
    CERTIFICATES_MAX = 16,     /* maximum number in a chain or bundle */
    SERIAL_TEXT = 40,          /* maximum number of digits: RFC 5280 allows 20 bytes */
    SERIAL_DIGITS = 32,        /* digits of our serial numbers: 128 bits */
    ENROLLMENT_TEXT = 16,      /* digits of an enrollment: 64 bits */
};

typedef enum CertificateUse {
    USE_CLIENT,
    USE_SERVER,
} CertificateUse;

typedef struct Certificate {
    Str der;
    char serial[SERIAL_TEXT + 1]; /* lowercase digits, two for each byte */
    Str subject;                  /* for display: "CN=eden home" */
    int64_t not_before_ms;
    int64_t not_after_ms; /* invalid from then on */
    P256Public key;
    Pin pin; /* of the key */
    bool has_issuer_id;
    unsigned char issuer_id[KEY_ID_BYTES]; /* the first bytes of the issuer's pin */
    bool is_ca;
    /* as stated in the certificate; if it does not state them, both are false */
    bool for_client, for_server;
    /* Set only for the certificate of a node: one SAN that is an identity, a serial number in our
     * format, not a CA. */
    bool has_identity;
    Identity identity;
    char enrollment[ENROLLMENT_TEXT + 1];
    /* Set only for the certificate of a user; never together with the identity of a node. */
    bool has_user;
    UserIdentity user;
} Certificate;

/* The certificate must have version 3 and a key on P-256, without trailing data; `out->der` borrows
 * the bytes. The signature is not verified. Fails with ERROR_INVALID. */
MUST_CHECK bool certificate_parse(Arena *arena, Str der, Certificate *out, Error *err);
/* Parses all certificates of a PEM text: at least one and at most CERTIFICATES_MAX. */
MUST_CHECK bool certificates_from_pem(Arena *arena, Str pem, Certificate **out, uint32_t *count,
                                      Error *err);
Str certificate_pem(Arena *arena, const Certificate *certificate);

/* Returns true if the certificate names the key with this pin as its issuer. Meaningful only for a
 * verified certificate. */
bool certificate_names_issuer(const Certificate *certificate, const Pin *pin);
/* Returns the certificate of a bundle whose key has this pin, or NULL. */
const Certificate *certificate_find_pin(const Certificate *bundle, uint32_t count, const Pin *pin);

typedef struct CertificateSet {
    const Certificate *items;
    uint32_t count;
} CertificateSet;

/* Formats all certificates as PEM, in order. */
Str certificates_pem(Arena *arena, CertificateSet set);

/* Checks that `chain`, which starts with the certificate itself, leads to one of `trusted` and is
 * valid for this use at this time. Fails with ERROR_DENIED and the reason; if it is not valid at
 * this time, the message contains both times. */
MUST_CHECK bool certificate_verify(CertificateSet chain, CertificateSet trusted, CertificateUse use,
                                   int64_t now_ms, Error *err);
