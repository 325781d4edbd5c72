/* Decides whether a peer with a verified certificate may connect: checked by listeners at every
 * handshake, including resumed sessions, and again for every session when the revocation list
 * changes, and periodically. */
#pragma once

#include "pki/revocation.h"

typedef struct PeerRules {
    Str cluster;
    Str node; /* expected name; empty: any node of the cluster */
    const RevocationList *revoked;
} PeerRules;

/* The relevant content of a peer's certificate. */
typedef struct PresentedPeer {
    bool has_identity;
    Identity identity;
    Str serial;
    int64_t not_before_ms;
    int64_t not_after_ms;
} PresentedPeer;

PresentedPeer peer_of_certificate(const Certificate *certificate);

/* Fails with ERROR_DENIED: no identity, another cluster, a different node than expected, not
 * currently valid, or revoked. */
MUST_CHECK bool peer_check(const PresentedPeer *peer, const PeerRules *rules, int64_t now_ms,
                           Error *err);
