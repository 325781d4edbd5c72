/* User certificates. Loop thread only. Listed and revoked with access/credential_records.h.
 *
 * The certificate identifies a user; a record under its serial number contains the roles, and makes
 * the certificate valid: without it there is no access. So a certificate is revoked by deleting its
 * record, on all listeners at once. Users are not nodes: their names are in different parts of a
 * certificate (base/identity.h). */
#pragma once

#include "access/credential_records.h"
#include "access/role_names.h"
#include "cluster/ca_set.h"

enum {
    USER_CERTIFICATES_MAX = 10000,
};

typedef struct UserCertificateRecord {
    char serial[SERIAL_TEXT + 1];
    char user[USER_NAME_MAX + 1];
    RoleNames roles;
    char created_by[200 + 1]; /* Principal.who */
    int64_t created_ms;
    int64_t expires_ms;
} UserCertificateRecord;

/* As JSON, "eden.user-certificate/1". */
MUST_CHECK bool user_certificate_record_read(Arena *arena, Str text, UserCertificateRecord *out,
                                             Error *err);

extern const CredentialRecords user_certificate_records; /* of UserCertificateRecord */

typedef struct UserCertificateRequest {
    Str user;
    Str csr;          /* PEM */
    const Str *roles; /* the caller has called credentials_may_grant() */
    uint32_t role_count;
    int64_t lifetime_ms; /* 0: USER_LIFETIME_MS */
    Str created_by;
} UserCertificateRequest;

typedef void UserCertificateIssued(void *context, const Certified *certified,
                                   const CredentialEntry *entry, const Error *err);
/* See credential_records_add. The request is used only during the call; the settings must stay
 * valid until `done` is called. ERROR_INVALID if it is invalid. */
void user_certificate_issue(const CertifySettings *settings, const UserCertificateRequest *request,
                            UserCertificateIssued *done, void *context);
