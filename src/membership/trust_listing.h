/* The nodes with their trust reports, from the state. Loop thread only. */
#pragma once

#include "membership/nodes.h"
#include "pki/trust_notice.h"

typedef struct NodeTrust {
    const RosterNode *node;
    /* `report` is valid: the node has reported its trusted CAs, or received certificates when it
     * joined */
    bool has_report;
    TrustReport report;
    bool is_excluded; /* the CA rotation does not wait for it */
    bool is_revoked;  /* its last certificate is revoked */
} NodeTrust;

typedef struct TrustListing {
    const NodeTrust *nodes; /* sorted by name */
    uint32_t count;
} TrustListing;

/* See the reading functions of membership/nodes.h. An unreadable report is ignored; an unreadable
 * revocation list is ERROR_INVALID. */
MUST_CHECK bool trust_list(Arena *arena, const ClusterStore *cluster_store, TrustListing *out,
                           Error *err);
