#include "pki/peer.h"

#include "authority.h"

static const RevocationList nobody;

static PeerRules rules_for(const char *node)
{
    return (PeerRules){ .cluster = STR("home"), .node = str_from_c(node), .revoked = &nobody };
}

static void node_of_the_cluster_is_admitted(void **state)
{
    Authority *authority = *state;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    Certificate made = issue_node(authority, &grant);
    PresentedPeer peer = peer_of_certificate(&made);
    PeerRules any = rules_for(""), web1 = rules_for("web1");
    assert_succeeds(peer_check(&peer, &any, NOW_MS, &err));
    assert_succeeds(peer_check(&peer, &web1, NOW_MS, &err));
}

/* CLUSTER H 6: no client is mistaken for another, whatever else it claims. */
static void identity_is_taken_only_from_the_certificate(void **state)
{
    Authority *authority = *state;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    Certificate made = issue_node(authority, &grant);
    PresentedPeer peer = peer_of_certificate(&made);
    PeerRules web2 = rules_for("web2"), away = rules_for("web1");
    away.cluster = STR("away");
    assert_fails(peer_check(&peer, &web2, NOW_MS, &err), ERROR_DENIED,
                 "this is 'web1', not 'web2'");
    assert_fails(peer_check(&peer, &away, NOW_MS, &err), ERROR_DENIED,
                 "'web1' belongs to cluster 'home', not to 'away'");
    ServingCertificateSpec serving = { .names = (Str[]){ STR("web1") },
                                       .name_count = 1,
                                       .key = authority->public_key,
                                       .now_ms = NOW_MS };
    PeerRules any = rules_for("");
    assert_succeeds(ca_issue_serving(&authority->arena, &authority->ca, &serving, &made, &err));
    peer = peer_of_certificate(&made);
    assert_fails(peer_check(&peer, &any, NOW_MS, &err), ERROR_DENIED, "not a node certificate");
    /* A user with the same name is not a node: user certificates are rejected on the node port. */
    UserCertificateSpec user = { .key = authority->public_key, .now_ms = NOW_MS };
    assert_succeeds(user_identity_make(STR("home"), STR("web1"), &user.identity, &err));
    assert_succeeds(ca_issue_user(&authority->arena, &authority->ca, &user, &made, &err));
    peer = peer_of_certificate(&made);
    assert_fails(peer_check(&peer, &any, NOW_MS, &err), ERROR_DENIED, "not a node certificate");
    peer = peer_of_certificate(&authority->ca.chain.items[0]);
    assert_fails(peer_check(&peer, &any, NOW_MS, &err), ERROR_DENIED, "not a node certificate");
    peer = (PresentedPeer){ 0 };
    assert_fails(peer_check(&peer, &any, NOW_MS, &err), ERROR_DENIED, "not a node certificate");
}

/* CLUSTER H 13: also in an existing session. */
static void expired_and_revoked_certificates_are_rejected(void **state)
{
    Authority *authority = *state;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    Certificate made = issue_node(authority, &grant);
    PresentedPeer peer = peer_of_certificate(&made);
    PeerRules rules = rules_for("web1");
    assert_succeeds(peer_check(&peer, &rules, made.not_before_ms, &err));
    assert_succeeds(peer_check(&peer, &rules, made.not_after_ms - 1, &err));
    assert_fails(peer_check(&peer, &rules, made.not_after_ms, &err), ERROR_DENIED,
                 "the certificate of 'web1' expired at 2027-02-14T08:00:00Z; this machine's clock "
                 "shows 2027-02-14T08:00:00Z");
    assert_fails(peer_check(&peer, &rules, made.not_before_ms - 1, &err), ERROR_DENIED,
                 "is not valid before 2027-01-15T07:55:00Z");
    RevocationList list = { 0 };
    assert_succeeds(revocation_add_serial(&authority->arena, &list, str_from_c(made.serial),
                                          made.not_after_ms, &err));
    rules.revoked = &list;
    assert_fails(peer_check(&peer, &rules, NOW_MS, &err), ERROR_DENIED, "was revoked");
    RevocationList removed = { 0 };
    assert_succeeds(revocation_set_name(&authority->arena, &removed, STR("web1"), STR_EMPTY,
                                        made.not_after_ms, &err));
    rules.revoked = &removed;
    assert_fails(peer_check(&peer, &rules, NOW_MS, &err), ERROR_DENIED, "was removed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(node_of_the_cluster_is_admitted),
        authority_test(identity_is_taken_only_from_the_certificate),
        authority_test(expired_and_revoked_certificates_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
