/* A private key with its certificate chain, in one file.
 *
 * One file, so that a crash never leaves a key next to the certificate of another: renewal replaces
 * both atomically. Only its owner can read the file (0600). */
#pragma once

#include "pki/certificate.h"
#include "pki/p256_private.h"
#include "sys/directory.h"

typedef struct Credential {
    P256Private *key;
    CertificateSet chain; /* starts with the certificate of the key */
} Credential;

void credential_clear(Credential *credential); /* frees the key; the chain is in the arena */
DEFINE_AUTO_CLEAR(Credential, credential_clear)

/* `name` is a file in the directory. Durable on return. The chain must start with the certificate
 * of the key; otherwise fails with ERROR_INVALID. */
MUST_CHECK bool credential_save(const Directory *directory, const char *name,
                                const P256Private *key, CertificateSet chain, Error *err);
/* Fails with ERROR_NOT_FOUND if there is no such file, ERROR_DENIED if other users can read it,
 * ERROR_INVALID if it is damaged or key and certificate do not match. */
MUST_CHECK bool credential_load(const Directory *directory, const char *name, Arena *arena,
                                Credential *out, Error *err);
