/* Notices from servers to nodes about trusted CAs, and reports from nodes. Pure.
 *
 * A notice is one value for all nodes: every CA to trust, and the one that signs. A report is the
 * state of one node: the CAs that it trusts, and the issuer of its certificate. A rotation
 * (pki/rotation.h) proceeds when the reports fulfill its conditions. */
#pragma once

#include "base/buf.h"
#include "lang/value.h"
#include "pki/certificate.h"

enum {
    TRUST_NOTICE_MAX = 192 << 10, /* bytes */
    TRUST_REPORT_MAX = 8 << 10,   /* bytes */
};

typedef struct TrustNotice {
    Str bundle;        /* PEM */
    Pin issuer;        /* the signing CA, which is in the bundle */
    int64_t since_ms;  /* time at which it started to sign */
    int64_t spread_ms; /* period over which renewals from another CA are spread */
    Value unknown;     /* fields written by a newer server */
} TrustNotice;

/* "eden.trust/1" */
void trust_notice_print(const TrustNotice *notice, Buf *out);
/* The result is in the arena; `*bundle` is set to its CAs. Fails with ERROR_INVALID or ERROR_LIMIT,
 * including if the bundle contains anything other than CAs, or lacks the issuer. */
MUST_CHECK bool trust_notice_read(Arena *arena, Str text, TrustNotice *out, CertificateSet *bundle,
                                  Error *err);

typedef struct TrustReport {
    Pin trusted[CERTIFICATES_MAX];
    uint32_t trusted_count;
    bool has_issuer; /* the CA of the certificate is one of them: */
    Pin issuer;
    char serial[SERIAL_TEXT + 1];
    int64_t not_after_ms;
    int64_t time_ms; /* time of the report, by the node's clock */
} TrustReport;

/* Creates the report of a node with this certificate and these CAs. */
void trust_report_make(const Certificate *certificate, CertificateSet bundle, int64_t now_ms,
                       TrustReport *out);
bool trust_report_trusts(const TrustReport *report, const Pin *ca);

/* "eden.trust-report/1" */
void trust_report_print(const TrustReport *report, Buf *out);
MUST_CHECK bool trust_report_read(Arena *arena, Str text, TrustReport *out, Error *err);
