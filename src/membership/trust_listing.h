/* The nodes with their trust reports, from the state. Loop thread only. */
#pragma once

#include "membership/nodes.h"
#include "pki/trust_notice.h"

typedef struct NodeTrust {
    const RosterNode *node;
    /* it has reported what it trusts, or received certificates when it joined; then `report` is
     * valid */
    bool has_report;
    TrustReport report;
    bool is_excluded; /* the CA rotation does not wait for it */
    bool is_revoked;  /* its last certificate is revoked */
} NodeTrust;

typedef struct TrustListing {
    const NodeTrust *nodes; /* sorted by name */
    uint32_t count;
} TrustListing;

/* See the reading functions of membership/nodes.h. An unreadable report counts as none; an
 * unreadable revocation list is ERROR_INVALID. */
MUST_CHECK bool trust_list(Arena *arena, const ClusterStore *cluster_store, TrustListing *out,
                           Error *err);
