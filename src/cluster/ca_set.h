/* The current CAs of the cluster, and the parameters and result of issuing a certificate. */
#pragma once

#include "cluster/cluster_store.h"
#include "pki/credential.h"

/* The CAs change during a rotation (membership/authority.h), so do not copy this struct:
 * dereference the pointer each time. */
typedef struct CaSet {
    const Credential *issuer; /* the signing CA */
    CertificateSet trusted;   /* all trusted CAs, including the issuer */
} CaSet;

typedef struct CertifySettings {
    ClusterStore cluster_store;
    Str cluster; /* name of the cluster */
    /* NULL once the CAs are freed while store calls are still being completed; then
     * ERROR_UNAVAILABLE */
    const CaSet *cas;
    int64_t node_lifetime_ms; /* 0: the CA's default */
} CertifySettings;

/* An issued certificate, as PEM. */
typedef struct Certified {
    Str certificate; /* leaf first, then the chain to the CA */
    Str bundle;      /* all CAs to trust */
    const Certificate *leaf;
} Certified;
