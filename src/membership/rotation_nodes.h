/* Collects what a CA rotation needs about each node: the CAs that it trusts, and the issuer of its
 * certificates. Combines the reports of agents and servers. Pure. */
#pragma once

#include "membership/servers.h"
#include "membership/trust_listing.h"
#include "pki/rotation.h"

typedef struct RotationView {
    const Rotation *rotation;
    Str server;      /* name of this server */
    bool has_issuer; /* its own certificates were issued by the signing CA */
    int64_t now_ms;
    const TrustListing *nodes;
    const ServersListing *servers;
} RotationView;

/* The nodes that the rotation waits for; names are borrowed from the listing. */
const RotationNode *rotation_nodes(Arena *arena, const RotationView *view, uint32_t *count);
