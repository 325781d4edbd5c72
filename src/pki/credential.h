/* A private key with its certificate and those behind it, as one file.
 *
 * One file, so that a crash never leaves a key beside the certificate of another: renewing replaces
 * both at one moment. The file is for its owner alone (0600). */
#pragma once

#include "pki/certificate.h"
#include "pki/p256_private.h"
#include "sys/directory.h"

typedef struct Credential {
    P256Private *key;
    CertificateSet chain; /* the certificate of the key first */
} Credential;

void credential_clear(Credential *credential); /* frees the key; the chain is its arena's */
DEFINE_AUTO_CLEAR(Credential, credential_clear)

/* `name` is a file of the directory. Durable when it returns. The chain must start with the
 * certificate of the key: else ERROR_INVALID. */
MUST_CHECK bool credential_save(const Directory *directory, const char *name,
                                const P256Private *key, CertificateSet chain, Error *err);
/* Fails with ERROR_NOT_FOUND when there is no such file, ERROR_DENIED when others can read it,
 * ERROR_INVALID when it is damaged or key and certificate do not belong together. */
MUST_CHECK bool credential_load(const Directory *directory, const char *name, Arena *arena,
                                Credential *out, Error *err);
