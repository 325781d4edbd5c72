/* The datastore's certificates, stored in eden's credential files (pki/credential.h). etcd reads
 * the certificate files again for each handshake, so it need not be restarted after a renewal. It
 * must be restarted after a change of the CA. */
#pragma once

#include "net/tls.h"
#include "pki/ca.h"
#include "pki/renewal.h"

/* File names in the datastore's directory. */
#define DATASTORE_CREDENTIAL "member.pem" /* key and certificate of the member */
#define DATASTORE_CA         "ca.pem"     /* certificate of the CA */

/* Generates a key, issues a certificate for it, and saves both together with the CA certificate.
 * With `names`, the certificate is for a member with these names; without, it is for a client.
 * `now_ms` and `lifetime_ms` as in ServingCertificateSpec. */
MUST_CHECK bool datastore_certificate_save(const Directory *directory, const Credential *ca,
                                           const Str *names, uint32_t name_count, int64_t now_ms,
                                           int64_t lifetime_ms, Error *err);
/* When the certificate is due for renewal. Fails if there is no certificate. */
MUST_CHECK bool datastore_certificate_plan(const Directory *directory, int64_t now_ms,
                                           RenewalPlan *out, Error *err);
/* TLS of a client of the datastore with this certificate, for "h2": creates `*tls`, or lets it use
 * the files that are there now. */
MUST_CHECK bool datastore_certificate_use(Loop *loop, const Directory *directory, TlsContext **tls,
                                          Error *err);
