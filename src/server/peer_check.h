/* Identifies a peer by its certificate and the current state of the cluster. */
#pragma once

#include "cluster/refusal_log.h"
#include "membership/roster.h"
#include "net/connection.h"
#include "rpc/access.h"

typedef struct PeerCheck {
    Loop *loop;
    const char *cluster;
    Roster *const *roster;
    RefusalLog *refusals; /* limits log lines about rejected nodes */
} PeerCheck;

/* Called in the handshake: whether the peer is a node of this cluster. Rejections are logged, with
 * a rate limit. */
MUST_CHECK bool peer_check_verify(const PeerCheck *check, const TlsPeer *peer, Error *err);
/* Called for every call: describes the peer. */
void peer_check_describe(const PeerCheck *check, const Peer *peer, Caller *out);
/* Whether to close a connection because its node is no longer a member. */
bool peer_check_is_removed(const PeerCheck *check, const Peer *peer);
