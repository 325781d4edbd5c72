/* Certificates of users: given, listed, taken back. Loop thread.
 *
 * The certificate says who somebody is; a record under its serial number says what they may do, and
 * that the certificate counts: without one it opens nothing. So taking a certificate back is removing
 * its record, on every listener at once. Nodes do not know users, and users are no nodes: their names
 * stand in different places (base/identity.h).
 *
 * Each function calls `done` exactly once, in a later turn or within, also when the store closes.
 * What it is given is borrowed for that call, except the settings. */
#pragma once

#include "cluster/certify.h"
#include "cluster/role_names.h"

enum {
    USER_CERTIFICATES_MAX = 10000,
    USER_CERTIFICATES_PAGE_MAX = 1000,
};

typedef struct UserCertificateRecord {
    char serial[SERIAL_TEXT + 1];
    char user[USER_NAME_MAX + 1];
    RoleNames roles;
    char made_by[200 + 1]; /* Principal.who */
    int64_t created_ms;
    int64_t expires_ms;
} UserCertificateRecord;

/* As JSON, "eden.user-certificate/1". */
void user_certificate_record_print(const UserCertificateRecord *record, Buf *out);
MUST_CHECK bool user_certificate_record_read(Arena *arena, Str text, UserCertificateRecord *out,
                                             Error *err);

typedef struct UserCertificateWish {
    Str user;
    Str csr;          /* PEM */
    const Str *roles; /* the caller has asked credentials_may_grant() */
    uint32_t role_count;
    int64_t life_ms; /* 0: USER_LIFE_MS */
    Str made_by;
} UserCertificateWish;

typedef void UserCertificateIssued(void *context, const Certified *certified,
                                   const UserCertificateRecord *record, const Error *err);
/* ERROR_INVALID for a wish that makes no sense, ERROR_LIMIT when there are too many. */
void user_certificate_issue(const CertifySettings *settings, const UserCertificateWish *wish,
                            UserCertificateIssued *done, void *context);

typedef struct UserCertificatesListed {
    const UserCertificateRecord *records; /* those that can be read */
    const int64_t *revisions;
    uint32_t count;
    uint32_t unreadable;
    Str next; /* the serial number behind which the next page begins; empty: that was all */
    int64_t revision;
} UserCertificatesListed;
typedef void UserCertificatesDone(void *context, const UserCertificatesListed *listed,
                                  const Error *err);
/* In the order of their serial numbers, behind `after`. */
void user_certificates_list(const ClusterStore *at, Str after, uint32_t limit,
                            UserCertificatesDone *done, void *context);
/* A list of one. ERROR_NOT_FOUND; ERROR_INVALID when its record cannot be read. */
void user_certificates_get(const ClusterStore *at, Str serial, UserCertificatesDone *done,
                           void *context);
/* From then on it opens nothing. ERROR_NOT_FOUND; ERROR_INVALID for what is no serial number. */
void user_certificate_revoke(const ClusterStore *at, Str serial, ClusterDone *done, void *context);
