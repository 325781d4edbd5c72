/* Identifies peers and rejects those that are not members. The same checks run in the handshake,
 * for each call, and when the members change. */
#include "server/peer_check.h"

#include "base/hash.h"
#include "base/log.h"
#include "pki/peer.h"

/* A connection may outlive its certificate if the node has a newer one. */
static void allow_newer(const PeerCheck *check, const RosterNode *node, PresentedPeer *presented)
{
    Error err;
    if (node != NULL && node->record.not_after_ms > presented->not_after_ms &&
        revocation_check(roster_revoked(*check->roster), str_from_c(node->record.name),
                         str_from_c(node->record.serial), &err)) {
        presented->not_after_ms = node->record.not_after_ms;
    }
}

/* Identifies the node of a certificate: a node of this cluster, by its current enrollment.
 * `is_established`: the connection is already established. */
static bool check_peer(const PeerCheck *check, const TlsPeer *peer, bool is_established,
                       const RosterNode **out, Error *err)
{
    PresentedPeer presented = { .has_identity = peer->has_identity,
                                .identity = peer->identity,
                                .serial = str_from_c(peer->serial),
                                .not_before_ms = peer->not_before_s * 1000,
                                .not_after_ms = peer->not_after_s * 1000 };
    PeerRules rules = { .cluster = str_from_c(check->cluster),
                        .revoked = roster_revoked(*check->roster) };
    const RosterNode *node = roster_find(*check->roster, str_from_c(peer->identity.node));
    if (is_established) {
        allow_newer(check, node, &presented);
    }
    if (!peer_check(&presented, &rules, loop_wall_ms(check->loop), err)) {
        return false;
    }
    if (node == NULL) {
        return error_set(err, ERROR_DENIED, "'%s' is not a node of this cluster",
                         peer->identity.node);
    }
    /* The enrollment is the first half of the serial number. */
    if (strncmp(node->record.enrollment, peer->serial, ENROLLMENT_TEXT) != 0) {
        return error_set(err, ERROR_DENIED,
                         "'%s' has joined again since this certificate was issued",
                         peer->identity.node);
    }
    *out = node;
    return true;
}

bool peer_check_verify(const PeerCheck *check, const TlsPeer *peer, Error *err)
{
    const RosterNode *node;
    if (check_peer(check, peer, false, &node, err)) {
        return true;
    }
    /* Issued by the cluster's CA but rejected, which is worth a log line. */
    int64_t suppressed;
    if (refusal_log_allows(check->refusals, hash_str(str_from_c(peer->identity.node)),
                           loop_now_ms(check->loop), &suppressed)) {
        log_info("node rejected", LOG_C("node", peer->identity.node), LOG_C("serial", peer->serial),
                 LOG_C("error", err->text), LOG_INT("suppressed", suppressed));
    }
    return false;
}

/* Operators are root, the user that this server runs as, and members of its group. */
static bool is_operator(const Peer *peer)
{
    return peer->uid == 0 || peer->is_own_user || peer->is_own_group;
}

void peer_check_describe(const PeerCheck *check, const Peer *peer, Caller *out)
{
    const RosterNode *node = NULL;
    Error err;
    *out = (Caller){ .is_local = peer->is_local,
                     .is_operator = peer->is_local && is_operator(peer),
                     .has_identity = peer->tls.has_identity,
                     .identity = peer->tls.identity };
    if (!peer->is_local && peer->tls.has_identity) {
        out->is_member = strcmp(peer->tls.identity.cluster, check->cluster) == 0;
        out->is_approved = check_peer(check, &peer->tls, true, &node, &err);
        out->is_revoked =
            !revocation_check(roster_revoked(*check->roster), str_from_c(peer->tls.identity.node),
                              str_from_c(peer->tls.serial), &err);
        out->is_server = node != NULL && node->record.is_server;
    }
}

bool peer_check_is_removed(const PeerCheck *check, const Peer *peer)
{
    const RosterNode *node;
    Error err;
    if (peer->is_local || check_peer(check, &peer->tls, true, &node, &err)) {
        return false;
    }
    log_info("node disconnected", LOG_C("node", peer->tls.identity.node), LOG_C("error", err.text));
    return true;
}
