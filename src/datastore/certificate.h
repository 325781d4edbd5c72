/* Certificates of the datastore, in files of eden's (pki/credential.h). etcd reads its files again
 * for each handshake, so a renewed certificate needs no restart; a new CA does. */
#pragma once

#include "pki/ca.h"
#include "pki/renewal.h"

/* In the directory of the datastore. */
#define DATASTORE_CREDENTIAL "member.pem" /* key and certificate of the member */
#define DATASTORE_CA         "ca.pem"     /* certificate of the CA */

/* Issues a certificate with a new key and saves both, with the certificate of the CA. The names are
 * those of a member; without names it is for a client. `now_ms` and `lifetime_ms` as in
 * ServingGrant. */
MUST_CHECK bool datastore_certificate_save(const Directory *directory, const Credential *ca,
                                           const Str *names, uint32_t name_count, int64_t now_ms,
                                           int64_t lifetime_ms, Error *err);
/* When it is renewed. Fails if there is none. */
MUST_CHECK bool datastore_certificate_plan(const Directory *directory, int64_t now_ms,
                                           RenewalPlan *out, Error *err);
