/* Certificate requests (PKCS #10). Only the key of a request is used, and the
 * proof that its author has the private key; its subject, names and extensions
 * are ignored. The content of a certificate comes from the approval (pki/ca.h). */
#pragma once

#include "base/arena.h"
#include "pki/p256_private.h"

enum {
    CSR_MAX = 8 << 10, /* bytes of PEM */
};

/* Creates an empty request, signed with the key, as PEM. */
MUST_CHECK bool csr_make(Arena *arena, const P256Private *key, Str *out, Error *err);
/* Reads the key of a request in PEM. Fails with ERROR_LIMIT if it is too large, with ERROR_INVALID
 * if it is not a single valid request, has no key on P-256, or its signature is invalid. */
MUST_CHECK bool csr_read(Str pem, P256Public *out, Error *err);
