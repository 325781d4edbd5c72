/* The nodes with their trust reports, from the state. Loop thread. */
#pragma once

#include "membership/nodes.h"
#include "pki/trust_notice.h"

typedef struct NodeTrust {
    const RosterNode *node;
    bool has_report; /* it has said something, or was told when it joined: */
    TrustReport report;
    bool is_left;    /* the rotation of the CA does not wait for it */
    bool is_revoked; /* so is the certificate that it got last */
} NodeTrust;

typedef struct TrustListing {
    const NodeTrust *nodes; /* in the order of their names */
    uint32_t count;
} TrustListing;

/* As the functions of membership/nodes.h that read. A report that cannot be read is none; a list of
 * revocations that cannot be read is ERROR_INVALID. */
MUST_CHECK bool trust_list(Arena *arena, const ClusterStore *at, TrustListing *out, Error *err);
