/* Requests for certificates (PKCS #10). What a request is believed is its key, and that whoever
 * made it had the private half; its subject, its names and the extensions it asks for are not even
 * looked at. What goes into a certificate comes from who approved it (pki/ca.h). */
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
