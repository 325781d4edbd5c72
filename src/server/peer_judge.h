/* Identifies a peer by its certificate and the current state of the cluster. */
#pragma once

#include "cluster/refusal_log.h"
#include "membership/roster.h"
#include "net/connection.h"
#include "rpc/access.h"

typedef struct PeerJudge {
    Loop *loop;
    const char *cluster;
    Roster *const *roster;
    RefusalLog *refusals; /* of nodes, in the log */
} PeerJudge;

/* In the handshake: whether it is a node of this cluster. What is refused is logged, not
 * without end. */
MUST_CHECK bool peer_judge_verify(const PeerJudge *judge, const TlsPeer *peer, Error *err);
/* With every call. */
void peer_judge_describe(const PeerJudge *judge, const Peer *peer, Caller *out);
/* Whether a connection is to be cut, since its node does not belong any more. */
bool peer_judge_is_out(const PeerJudge *judge, const Peer *peer);
