/* What the rotation of the CA has to know about each node: what it trusts, and whose certificates
 * it has. Combines the reports of agents with those of servers. Pure. */
#pragma once

#include "membership/servers.h"
#include "membership/trust_listing.h"
#include "pki/rotation.h"

typedef struct RotationView {
    const Rotation *rotation;
    Str server;      /* name of this server */
    bool has_issuer; /* its own certificates are from the CA that signs */
    int64_t now_ms;
    const TrustListing *nodes;
    const ServersListing *servers;
} RotationView;

/* The nodes that the rotation waits for; names are borrowed from the listing. */
const RotationNode *rotation_nodes(Arena *arena, const RotationView *view, uint32_t *count);
