/* The current CAs of the cluster, and what issuing a certificate takes and returns. */
#pragma once

#include "cluster/cluster_store.h"
#include "pki/credential.h"

/* Whoever is given a pointer to one looks through it every time: the CAs change during a rotation
 * (membership/authority.h). */
typedef struct CaSet {
    const Credential *issuer; /* the one that signs */
    CertificateSet trusted;   /* all that are trusted, the issuer among them */
} CaSet;

typedef struct CertifySettings {
    ClusterStore at;
    Str cluster;      /* its name */
    const CaSet *cas; /* NULL: they are gone, while the store still answers; ERROR_UNAVAILABLE */
    int64_t node_life_ms; /* 0: as the CA has it */
} CertifySettings;

/* PEM. */
typedef struct Certified {
    Str certificate; /* the own one, and what leads to the CA */
    Str bundle;      /* every CA to trust */
    const Certificate *own;
} Certified;
