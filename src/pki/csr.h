/* Certificate requests (PKCS #10). Only the key of a request is used, and the
 * proof that its author has the private key; its subject, names and extensions
 * are ignored. The content of a certificate comes from the approval (pki/ca.h). */
#pragma once

#include "base/arena.h"
#include "pki/p256_private.h"

enum {
    CSR_MAX = 8 << 10, /* bytes of PEM */
};

/* An empty request, signed with the key, in PEM. */
MUST_CHECK bool csr_make(Arena *arena, const P256Private *key, Str *out, Error *err);
/* The key of a request in PEM. Fails with ERROR_LIMIT when it is too large, ERROR_INVALID when it is
 * no request, holds more than one, has no key on P-256 or a wrong signature. */
MUST_CHECK bool csr_read(Str pem, P256Public *out, Error *err);
