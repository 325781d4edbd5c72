/* The certificates of a server itself: the node certificate, for port 1337, and the API
 * certificate. They are renewed at two thirds of their lifetime, and as soon as another CA signs.
 * Loop thread only.
 *
 * The server has the CA, so a certificate that expired while it was off is renewed as well. Each
 * renewal generates a new key. */
#pragma once

#include "cluster/ca_set.h"
#include "pki/renewal.h"
#include "sys/loop.h"

#define OWN_NODE    "node.pem"
#define OWN_SERVING "serving.pem"

typedef struct OwnCertificates OwnCertificates;

typedef enum OwnCertificateKind {
    OWN_KIND_NODE,
    OWN_KIND_SERVING,
    OWN_KINDS
} OwnCertificateKind;

typedef struct OwnCertificatesOptions {
    Loop *loop;
    const Directory *directory;
    const CaSet *cas; /* the issuing CA */
    const Str *names; /* names of the API */
    uint32_t name_count;
    int64_t node_lifetime_ms, serving_lifetime_ms; /* 0: the CA's default */
    void (*changed)(void *context,
                    OwnCertificateKind kind); /* may be called from own_certificates_renew */
    void *context;
} OwnCertificatesOptions;

/* The options must outlive the result. Fails if files are unreadable. */
MUST_CHECK bool own_certificates_open(const OwnCertificatesOptions *options, OwnCertificates **out,
                                      Error *err);
void own_certificates_free(OwnCertificates *own); /* NULL is allowed */
DEFINE_AUTO(OwnCertificates, own_certificates_free)

/* Valid until `changed` is called. */
const Credential *own_certificates_credential(const OwnCertificates *own, OwnCertificateKind kind);
/* The time of the next renewal. */
RenewalPlan own_certificates_plan(const OwnCertificates *own, OwnCertificateKind kind);
bool own_certificates_are_from(const OwnCertificates *own, const Pin *ca);
/* Call it when the CAs have changed: certificates that are not from the signing CA are renewed. */
void own_certificates_check(OwnCertificates *own);
/* Renews the certificate immediately, regardless of its age. */
MUST_CHECK bool own_certificates_renew(OwnCertificates *own, OwnCertificateKind kind, Error *err);
