/* A certificate before it is signed, and signing it. Only for pki/ca.c: all
 * other code uses the functions there, which decide the content of certificates. */
#pragma once

#include <openssl/x509v3.h>

#include "pki/certificate.h"
#include "pki/p256_private.h"

typedef struct CertificateDraft {
    const char *common_name;
    Str enrolment; /* what the serial number starts with; empty: nothing in particular */
    P256Public key;
    int64_t not_before_ms;
    int64_t not_after_ms;
    bool is_ca;
    bool for_client, for_server;
    const GENERAL_NAMES *names; /* NULL: none */
} CertificateDraft;

/* With a serial number of 128 random bits, but for the enrolment. `issuer` is the certificate of the signing key; NULL
 * when that is the key of the draft itself. */
MUST_CHECK bool certificate_sign(Arena *arena, const CertificateDraft *draft,
                                 const P256Private *signer, const Certificate *issuer,
                                 Certificate *out, Error *err);
