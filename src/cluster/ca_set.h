/* The current CAs of the cluster. */
#pragma once

#include "pki/credential.h"

/* Whoever is given a pointer to one looks through it every time: the CAs change during a rotation
 * (cluster/authority.h). */
typedef struct CaSet {
    const Credential *issuer; /* the one that signs */
    CertificateSet trusted;   /* all that are trusted, the issuer among them */
} CaSet;
