/* What servers tell nodes about trust, and what nodes say of theirs. Pure.
 *
 * A notice is one value for all nodes: every CA to trust, and the one that signs. A report is what one node has made of it: the CAs that it trusts, and whose certificate it
 * shows. Rotation (pki/rotation.h) goes on when the reports say what it waits for. */
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
    Pin issuer;        /* the CA that signs; it is in the bundle */
    int64_t since_ms;  /* since when */
    int64_t spread_ms; /* over which nodes with certificates of another come to renew them */
    Value unknown;     /* what a newer server wrote */
} TrustNotice;

/* "eden.trust/1" */
void trust_notice_print(const TrustNotice *notice, Buf *out);
/* What it points to is the arena's; `*bundle` are the CAs of it. Fails with ERROR_INVALID or
 * ERROR_LIMIT: also for a bundle with something else than CAs in it, or without the issuer. */
MUST_CHECK bool trust_notice_read(Arena *arena, Str text, TrustNotice *out, CertificateSet *bundle,
                                  Error *err);

typedef struct TrustReport {
    Pin trusted[CERTIFICATES_MAX];
    uint32_t trusted_count;
    bool has_issuer; /* the CA of the certificate is one of them: */
    Pin issuer;
    char serial[SERIAL_TEXT + 1];
    int64_t not_after_ms;
    int64_t time_ms; /* when the node said so, by its clock */
} TrustReport;

/* What somebody with this certificate and these CAs has to say. */
void trust_report_make(const Certificate *own, CertificateSet bundle, int64_t now_ms,
                       TrustReport *out);
bool trust_report_trusts(const TrustReport *report, const Pin *ca);

/* "eden.trust-report/1" */
void trust_report_print(const TrustReport *report, Buf *out);
MUST_CHECK bool trust_report_read(Arena *arena, Str text, TrustReport *out, Error *err);
