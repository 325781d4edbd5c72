/* The nodes with what they have said about their trust. Loop thread. */
#pragma once

#include "cluster/nodes.h"
#include "pki/trust_notice.h"

typedef struct NodeTrust {
    const NodeEntry *node;
    bool has_report; /* it has said something, or was told when it joined: */
    TrustReport report;
    bool is_left;    /* the rotation of the CA does not wait for it */
    bool is_revoked; /* so is the certificate that it got last */
} NodeTrust;

typedef struct TrustListing {
    const NodeTrust *nodes; /* in the order of their names */
    uint32_t count;
} TrustListing;

typedef void TrustListed(void *context, const TrustListing *listing, const Error *err);
/* Calls `done` exactly once, as the functions of cluster/nodes.h do. A report that cannot be read is
 * none; a list of revocations that cannot be read is ERROR_INVALID. */
void trust_list(const ClusterStore *at, TrustListed *done, void *context);
