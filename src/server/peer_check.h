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
    RefusalLog *refusals; /* of nodes, in the log */
} PeerCheck;

/* In the handshake: whether it is a node of this cluster. Rejections are logged, with a rate
 * limit. */
MUST_CHECK bool peer_check_verify(const PeerCheck *judge, const TlsPeer *peer, Error *err);
/* For every call. */
void peer_check_describe(const PeerCheck *judge, const Peer *peer, Caller *out);
/* Whether to close a connection because its node is no longer a member. */
bool peer_check_is_out(const PeerCheck *judge, const Peer *peer);
