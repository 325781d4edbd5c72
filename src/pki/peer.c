#include "pki/peer.h"

#include "base/utc.h"

PresentedPeer peer_of_certificate(const Certificate *certificate)
{
    return (PresentedPeer){
        .has_identity = certificate->has_identity,
        .identity = certificate->identity,
        .serial = str_from_c(certificate->serial),
        .not_before_ms = certificate->not_before_ms,
        .not_after_ms = certificate->not_after_ms,
    };
}

/* A session outlives the handshake, and may outlive its certificate. */
static bool check_time(const PresentedPeer *peer, int64_t now_ms, Error *err)
{
    if (now_ms >= peer->not_before_ms && now_ms < peer->not_after_ms) {
        return true;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    bool expired = now_ms >= peer->not_after_ms;
    Str moment = utc_text(&arena, expired ? peer->not_after_ms : peer->not_before_ms);
    Str now = utc_text(&arena, now_ms);
    return error_set(err, ERROR_DENIED,
                     "the certificate of '%s' %s %" STR_FMT
                     "; this machine's clock shows %" STR_FMT,
                     peer->identity.node, expired ? "expired at" : "is not valid before",
                     STR_ARG(moment), STR_ARG(now));
}

bool peer_check(const PresentedPeer *peer, const PeerRules *rules, int64_t now_ms, Error *err)
{
    if (!peer->has_identity) {
        return error_set(err, ERROR_DENIED, "not a node certificate");
    }
    if (!str_eq_c(rules->cluster, peer->identity.cluster)) {
        return error_set(err, ERROR_DENIED, "'%s' belongs to cluster '%s', not to '%" STR_FMT "'",
                         peer->identity.node, peer->identity.cluster, STR_ARG(rules->cluster));
    }
    if (rules->node.len > 0 && !str_eq_c(rules->node, peer->identity.node)) {
        return error_set(err, ERROR_DENIED, "this is '%s', not '%" STR_FMT "'", peer->identity.node,
                         STR_ARG(rules->node));
    }
    return check_time(peer, now_ms, err) &&
           revocation_check(rules->revoked, str_from_c(peer->identity.node), peer->serial, err);
}
