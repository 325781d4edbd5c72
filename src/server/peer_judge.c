#include "server/peer_judge.h"

#include "base/hash.h"
#include "base/log.h"
#include "pki/peer.h"

/* A connection may outlive the certificate that it began with, when the node has a newer one. */
static void allow_newer(const PeerJudge *judge, const RosterNode *node, ShownPeer *shown)
{
    Error err;
    if (node != NULL && node->record.not_after_ms > shown->not_after_ms &&
        revocation_check(roster_revoked(*judge->roster), str_from_c(node->record.name),
                         str_from_c(node->record.serial), &err)) {
        shown->not_after_ms = node->record.not_after_ms;
    }
}

/* Whose a certificate is: a node of this cluster, by its present enrolment. `stands`: so is the
 * connection already. */
static bool check_peer(const PeerJudge *judge, const TlsPeer *peer, bool stands,
                       const RosterNode **out, Error *err)
{
    ShownPeer shown = { .has_identity = peer->has_identity,
                        .identity = peer->identity,
                        .serial = str_from_c(peer->serial),
                        .not_before_ms = peer->not_before_s * 1000,
                        .not_after_ms = peer->not_after_s * 1000 };
    PeerRules rules = { .cluster = str_from_c(judge->cluster),
                        .revoked = roster_revoked(*judge->roster) };
    const RosterNode *node = roster_find(*judge->roster, str_from_c(peer->identity.node));
    if (stands) {
        allow_newer(judge, node, &shown);
    }
    if (!peer_check(&shown, &rules, loop_wall_ms(judge->loop), err)) {
        return false;
    }
    if (node == NULL) {
        return error_set(err, ERROR_DENIED, "'%s' is not a node of this cluster",
                         peer->identity.node);
    }
    /* The enrolment is the first half of the serial number. */
    if (strncmp(node->record.enrolment, peer->serial, ENROLMENT_TEXT) != 0) {
        return error_set(err, ERROR_DENIED,
                         "'%s' has joined again since this certificate was issued",
                         peer->identity.node);
    }
    *out = node;
    return true;
}

bool peer_judge_verify(const PeerJudge *judge, const TlsPeer *peer, Error *err)
{
    const RosterNode *node;
    if (check_peer(judge, peer, false, &node, err)) {
        return true;
    }
    /* Of the cluster's CA, and out all the same: that is worth a line. */
    int64_t suppressed;
    if (refusal_log_take(judge->refusals, hash_str(str_from_c(peer->identity.node)),
                         loop_now_ms(judge->loop), &suppressed)) {
        log_info("node rejected", LOG_C("node", peer->identity.node), LOG_C("serial", peer->serial),
                 LOG_C("why", err->text), LOG_INT("suppressed", suppressed));
    }
    return false;
}

/* Root, the user that this server runs as, and whoever is in its group. */
static bool is_operator(const Peer *peer)
{
    return peer->uid == 0 || peer->is_own_user || peer->is_own_group;
}

void peer_judge_describe(const PeerJudge *judge, const Peer *peer, Caller *out)
{
    const RosterNode *node = NULL;
    Error err;
    *out = (Caller){ .is_local = peer->is_local,
                     .is_operator = peer->is_local && is_operator(peer),
                     .has_identity = peer->tls.has_identity,
                     .identity = peer->tls.identity };
    if (!peer->is_local && peer->tls.has_identity) {
        out->is_ours = strcmp(peer->tls.identity.cluster, judge->cluster) == 0;
        out->is_approved = check_peer(judge, &peer->tls, true, &node, &err);
        out->is_revoked =
            !revocation_check(roster_revoked(*judge->roster), str_from_c(peer->tls.identity.node),
                              str_from_c(peer->tls.serial), &err);
        out->is_server = node != NULL && node->record.is_server;
    }
}

bool peer_judge_is_out(const PeerJudge *judge, const Peer *peer)
{
    const RosterNode *node;
    Error err;
    if (peer->is_local || check_peer(judge, &peer->tls, true, &node, &err)) {
        return false;
    }
    log_info("node disconnected", LOG_C("node", peer->tls.identity.node), LOG_C("why", err.text));
    return true;
}
