#include "pki/ca.h"

#include <openssl/x509v3.h>

#include "authority.h"
#include "pki/serving_names.h"

static void ca_certificate_is_for_a_ca_only(void **state)
{
    Authority *authority = *state;
    const Certificate *ca = &authority->ca.chain.items[0];
    assert_true(ca->is_ca);
    assert_false(ca->has_identity || ca->for_client || ca->for_server);
    assert_str(ca->subject, "CN=eden home");
    assert_true(certificate_names_issuer(ca, &ca->pin));
    assert_int_equal(ca->not_after_ms - NOW_MS, CA_LIFETIME_MS);
    assert_int_equal(strlen(ca->serial), SERIAL_DIGITS);
}

static void every_ca_and_certificate_has_its_own_number(void **state)
{
    Authority *authority = *state;
    AUTO_CLEAR(Credential) other = { 0 };
    NodeCertificateSpec grant = node_grant(authority, "web1");
    assert_succeeds(ca_make(&authority->arena, STR("home"), NOW_MS, &other, &err));
    assert_string_not_equal(other.chain.items[0].serial, authority->ca.chain.items[0].serial);
    assert_false(pin_equal(&other.chain.items[0].pin, &authority->ca.chain.items[0].pin));
    Certificate first = issue_node(authority, &grant), second = issue_node(authority, &grant);
    assert_string_not_equal(first.serial, second.serial);
    assert_string_equal(first.enrollment, second.enrollment);
}

static UserCertificateSpec user_grant(const Authority *authority, const char *user)
{
    UserCertificateSpec grant = { .key = authority->public_key, .now_ms = NOW_MS };
    assert_succeeds(user_identity_make(STR("home"), str_from_c(user), &grant.identity, &err));
    return grant;
}

static void user_certificate_is_valid_for_clients_only(void **state)
{
    Authority *authority = *state;
    Certificate made;
    UserCertificateSpec grant = user_grant(authority, "web1");
    assert_succeeds(ca_issue_user(&authority->arena, &authority->ca, &grant, &made, &err));
    assert_true(made.has_user && made.for_client);
    assert_false(made.has_identity || made.for_server || made.is_ca);
    assert_string_equal(made.user.cluster, "home");
    assert_string_equal(made.user.user, "web1");
    assert_string_equal(made.enrollment, "");
    assert_str(made.subject, "CN=user web1");
    assert_int_equal(strlen(made.serial), SERIAL_DIGITS);
    assert_int_equal(made.not_after_ms, NOW_MS + USER_LIFETIME_MS);
    assert_succeeds(certificate_verify(one(&made), authority->ca.chain, USE_CLIENT, NOW_MS, &err));
    assert_fails(certificate_verify(one(&made), authority->ca.chain, USE_SERVER, NOW_MS, &err),
                 ERROR_DENIED, "");
    /* And a node's certificate is not valid for a user. */
    NodeCertificateSpec node = node_grant(authority, "web1");
    made = issue_node(authority, &node);
    assert_false(made.has_user);
    grant.lifetime_ms = USER_LIFETIME_MAX_MS + 1;
    assert_fails(ca_issue_user(&authority->arena, &authority->ca, &grant, &made, &err),
                 ERROR_INVALID, "at most a year");
    grant = user_grant(authority, "ann");
    snprintf(grant.identity.cluster, sizeof grant.identity.cluster, "away");
    assert_fails(ca_issue_user(&authority->arena, &authority->ca, &grant, &made, &err),
                 ERROR_INVALID, "does not belong to cluster 'away'");
    grant = user_grant(authority, "ann");
    snprintf(grant.identity.user, sizeof grant.identity.user, "../x");
    assert_fails(ca_issue_user(&authority->arena, &authority->ca, &grant, &made, &err),
                 ERROR_INVALID, "character 1 is '.'");
}

static void ids_are_random(void **state)
{
    char one_id[CLUSTER_ID_TEXT + 1], other_id[CLUSTER_ID_TEXT + 1];
    char enrollment[ENROLLMENT_TEXT + 1], other[ENROLLMENT_TEXT + 1];
    assert_succeeds(cluster_id_make(one_id, &err) && cluster_id_make(other_id, &err));
    assert_string_not_equal(one_id, other_id);
    assert_succeeds(cluster_name_check(str_from_c(one_id), &err));
    for (int i = 0; i < 100; i++) {
        assert_succeeds(enrollment_make(enrollment, &err) && enrollment_make(other, &err));
        assert_succeeds(enrollment_check(str_from_c(enrollment), &err));
        assert_string_not_equal(enrollment, other);
    }
}

static void invalid_grants_are_rejected(void **state)
{
    Authority *authority = *state;
    Certificate made;
    NodeCertificateSpec good = node_grant(authority, "web1"), grant = good;
    snprintf(grant.identity.node, sizeof grant.identity.node, "../x");
    assert_fails(ca_issue_node(&authority->arena, &authority->ca, &grant, &made, &err),
                 ERROR_INVALID, "character 1 is '.'");
    grant = good;
    snprintf(grant.identity.cluster, sizeof grant.identity.cluster, "away");
    assert_fails(ca_issue_node(&authority->arena, &authority->ca, &grant, &made, &err),
                 ERROR_INVALID, "the CA 'CN=eden home' does not belong to cluster 'away'");
    static const char *const enrollments[] = {
        "", "4011", "401122334455667g", "8011223344556677", "401122334455667A", "40112233445566771"
    };
    for (size_t i = 0; i < COUNT_OF(enrollments); i++) {
        grant = good;
        grant.enrollment = str_from_c(enrollments[i]);
        assert_fails(ca_issue_node(&authority->arena, &authority->ca, &grant, &made, &err),
                     ERROR_INVALID, "enrollment");
    }
    static const int64_t lives[] = { -1, 1, LIFETIME_MIN_MS - 1, CA_LIFETIME_MS + 1, INT64_MAX };
    for (size_t i = 0; i < COUNT_OF(lives); i++) {
        grant = good;
        grant.lifetime_ms = lives[i];
        assert_fails(ca_issue_node(&authority->arena, &authority->ca, &grant, &made, &err),
                     ERROR_INVALID, "the lifetime of a certificate must be");
    }
    static const int64_t times[] = { INT64_MIN, -1, 0, INT64_MAX };
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        grant = good;
        grant.now_ms = times[i];
        assert_fails(ca_issue_node(&authority->arena, &authority->ca, &grant, &made, &err),
                     ERROR_INVALID, "for that time");
    }
    grant = good;
    memset(&grant.key, 4, sizeof grant.key);
    assert_fails(ca_issue_node(&authority->arena, &authority->ca, &grant, &made, &err), ERROR_OS,
                 "cannot create a certificate");
    AUTO_CLEAR(Credential) ca = { 0 };
    assert_fails(ca_make(&authority->arena, STR("Home"), NOW_MS, &ca, &err), ERROR_INVALID,
                 "character 1 is 'H'");
}

/* CLUSTER H 13: an expired CA issues nothing, and nothing outlives it. */
static void certificates_expire_with_their_ca(void **state)
{
    Authority *authority = *state;
    const Certificate *ca = &authority->ca.chain.items[0];
    Certificate made;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    grant.now_ms = ca->not_after_ms - 5 * PKI_DAY_MS;
    made = issue_node(authority, &grant);
    assert_int_equal(made.not_after_ms, ca->not_after_ms);
    grant.now_ms = ca->not_after_ms;
    assert_fails(ca_issue_node(&authority->arena, &authority->ca, &grant, &made, &err),
                 ERROR_DENIED,
                 "the CA is valid from 2027-01-15T07:55:00Z to 2037-01-12T08:00:00Z; "
                 "this machine's clock shows 2037-01-12T08:00:00Z");
    grant.now_ms = ca->not_before_ms - 1;
    assert_fails(ca_issue_node(&authority->arena, &authority->ca, &grant, &made, &err),
                 ERROR_DENIED, "the CA is valid from");
    /* Issued right after the CA was created, it does not start before it. */
    grant.now_ms = ca->not_before_ms + 1000;
    made = issue_node(authority, &grant);
    assert_int_equal(made.not_before_ms, ca->not_before_ms);
}

static ServingCertificateSpec serving_grant(const Authority *authority, const Str *names,
                                            uint32_t count)
{
    return (ServingCertificateSpec){
        .names = names, .name_count = count, .key = authority->public_key, .now_ms = NOW_MS
    };
}

static int host_matches(const Certificate *certificate, const char *host)
{
    const unsigned char *at = (const unsigned char *)certificate->der.data;
    X509 *x = d2i_X509(NULL, &at, (long)certificate->der.len);
    int matches = X509_check_host(x, host, 0, 0, NULL) == 1 || X509_check_ip_asc(x, host, 0) == 1;
    X509_free(x);
    ERR_clear_error();
    return matches;
}

static void serving_certificate_has_the_configured_names(void **state)
{
    Authority *authority = *state;
    const Str names[] = { STR("API.Example.com"),
                          STR("localhost"),
                          STR("10.0.0.7"),
                          STR("2001:db8::7"),
                          STR("xn--bcher-kva.example"),
                          STR("n.x"),
                          str_slice(STR("web1.example"), 0, 3) };
    ServingCertificateSpec grant = serving_grant(authority, names, COUNT_OF(names));
    Certificate made;
    assert_succeeds(ca_issue_serving(&authority->arena, &authority->ca, &grant, &made, &err));
    assert_true(made.for_server && !made.for_client && !made.is_ca);
    assert_false(made.has_identity);
    assert_int_equal(made.not_after_ms, NOW_MS + SERVING_LIFETIME_MS);
    assert_true(host_matches(&made, "api.example.com"));
    assert_true(host_matches(&made, "localhost"));
    assert_true(host_matches(&made, "10.0.0.7"));
    assert_true(host_matches(&made, "2001:db8:0:0::7"));
    assert_true(host_matches(&made, "xn--bcher-kva.example"));
    assert_true(host_matches(&made, "n.x"));
    assert_true(host_matches(&made, "web"));
    assert_false(host_matches(&made, "web1"));
    assert_false(host_matches(&made, "10.0.0.8"));
    assert_succeeds(certificate_verify(one(&made), authority->ca.chain, USE_SERVER, NOW_MS, &err));
    assert_fails(certificate_verify(one(&made), authority->ca.chain, USE_CLIENT, NOW_MS, &err),
                 ERROR_DENIED, "");
}

static void datastore_certificates_are_for_members_or_clients(void **state)
{
    Authority *authority = *state;
    const Str names[] = { STR("10.0.0.7"), STR("web1.example") };
    ServingCertificateSpec grant = serving_grant(authority, names, COUNT_OF(names));
    Certificate member, client;
    assert_succeeds(ca_issue_datastore(&authority->arena, &authority->ca, &grant, &member, &err));
    assert_true(member.for_server && member.for_client && !member.is_ca && !member.has_identity);
    assert_str(member.subject, "CN=" DATASTORE_MEMBER_NAME);
    assert_int_equal(member.not_after_ms, NOW_MS + NODE_LIFETIME_MS);
    assert_true(host_matches(&member, "10.0.0.7") && host_matches(&member, "web1.example"));
    grant.name_count = 0;
    assert_succeeds(ca_issue_datastore(&authority->arena, &authority->ca, &grant, &client, &err));
    assert_true(!client.for_server && client.for_client && !client.has_user);
    assert_str(client.subject, "CN=" DATASTORE_CLIENT_NAME);
    assert_fails(certificate_verify(one(&client), authority->ca.chain, USE_SERVER, NOW_MS, &err),
                 ERROR_DENIED, "");
}

static void serving_names_reach_their_limits(void **state)
{
    char long_name[256] = "", longest_label[64] = "";
    memset(longest_label, 'a', 63);
    memset(long_name, 'a', 253);
    for (int i = 1; i < 4; i++) {
        long_name[64 * i - 1] = '.';
    }
    Str names[] = { STR("az.09.a-z"),      STR("AZ"),       STR("0a"), str_from_c(longest_label),
                    str_from_c(long_name), STR("10.0.0.1"), STR("::1") };
    GENERAL_NAMES *made;
    Error err;
    if (!serving_names_make(names, COUNT_OF(names), &made, &err)) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(sk_GENERAL_NAME_num(made), COUNT_OF(names));
    GENERAL_NAMES_free(made);
    long_name[253] = 'a';
    Str too_long = str_from_c(long_name), brace = STR("a{b"), tick = STR("a`b"), slash = STR("a/b");
    assert_false(serving_names_make(&too_long, 1, &made, &err));
    assert_false(serving_names_make(&brace, 1, &made, &err));
    assert_false(serving_names_make(&tick, 1, &made, &err));
    assert_false(serving_names_make(&slash, 1, &made, &err));
}

static void serving_names_are_strict(void **state)
{
    Authority *authority = *state;
    static const struct {
        Str name;
        const char *why;
    } rows[] = {
        { { "", 0 }, "'' is neither a DNS name nor an IP address" },
        { { "*.example.com", 13 }, "neither a DNS name" },
        { { "api.example.com.", 16 }, "neither a DNS name" },
        { { "api..example.com", 16 }, "neither a DNS name" },
        { { "-api.example.com", 16 }, "neither a DNS name" },
        { { "api_1.example.com", 17 }, "neither a DNS name" },
        { { "api.example.com\0.evil", 21 }, "neither a DNS name" },
        { { "api example", 11 }, "neither a DNS name" },
        { { "10.0.0", 6 }, "neither a DNS name" },
        { { "10.0.0.256", 10 }, "neither a DNS name" },
        { { "1::2::3", 7 }, "neither a DNS name" },
        { { "10.0.0.0/8", 10 }, "neither a DNS name" },
        { { "https://api", 11 }, "neither a DNS name" },
        { { "api:1338", 8 }, "neither a DNS name" },
        { { "b\xc3\xbc"
            "cher.example",
            14 },
          "neither a DNS name" },
    };
    Certificate made;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ServingCertificateSpec grant = serving_grant(authority, &rows[i].name, 1);
        assert_fails(ca_issue_serving(&authority->arena, &authority->ca, &grant, &made, &err),
                     ERROR_INVALID, rows[i].why);
    }
    const Str twice[] = { STR("api"), STR("10.0.0.1"), STR("API") };
    ServingCertificateSpec grant = serving_grant(authority, twice, 3);
    assert_fails(ca_issue_serving(&authority->arena, &authority->ca, &grant, &made, &err),
                 ERROR_INVALID, "'api' is specified twice");
    grant.name_count = 0;
    assert_fails(ca_issue_serving(&authority->arena, &authority->ca, &grant, &made, &err),
                 ERROR_INVALID, "must have 1 to 64");
}

/* A client may use the common name if a certificate has no DNS names. */
static void node_cannot_impersonate_the_api(void **state)
{
    Authority *authority = *state;
    NodeCertificateSpec grant = node_grant(authority, "api.example.com");
    Certificate made = issue_node(authority, &grant);
    assert_str(made.subject, "CN=node api.example.com");
    assert_false(host_matches(&made, "api.example.com"));
}

static void cross_signed_ca_is_trusted_through_the_old_one(void **state)
{
    Authority *authority = *state;
    AUTO_CLEAR(Credential) next = { 0 };
    Certificate cross, node;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    assert_succeeds(ca_make(&authority->arena, STR("home"), NOW_MS, &next, &err));
    assert_succeeds(ca_cross_sign(&authority->arena, &authority->ca, &next.chain.items[0], NOW_MS,
                                  &cross, &err));
    assert_true(pin_equal(&cross.pin, &next.chain.items[0].pin));
    assert_succeeds(ca_issue_node(&authority->arena, &next, &grant, &node, &err));
    Certificate chain[] = { node, cross };
    assert_fails(certificate_verify(one(&node), authority->ca.chain, USE_SERVER, NOW_MS, &err),
                 ERROR_DENIED, "not issued by a trusted CA");
    assert_succeeds(certificate_verify((CertificateSet){ chain, 2 }, authority->ca.chain,
                                       USE_SERVER, NOW_MS, &err));
    assert_succeeds(
        certificate_verify((CertificateSet){ chain, 2 }, next.chain, USE_SERVER, NOW_MS, &err));
    /* Only for a CA, and only for one of the same cluster. */
    AUTO_CLEAR(Credential) away = { 0 };
    assert_succeeds(ca_make(&authority->arena, STR("away"), NOW_MS, &away, &err));
    assert_fails(ca_cross_sign(&authority->arena, &authority->ca, &away.chain.items[0], NOW_MS,
                               &cross, &err),
                 ERROR_INVALID, "'CN=eden away' is not a CA of the same cluster");
    assert_fails(ca_cross_sign(&authority->arena, &authority->ca, &node, NOW_MS, &cross, &err),
                 ERROR_INVALID, "is not a CA of the same cluster");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(ca_certificate_is_for_a_ca_only),
        authority_test(every_ca_and_certificate_has_its_own_number),
        authority_test(user_certificate_is_valid_for_clients_only),
        authority_test(ids_are_random),
        authority_test(invalid_grants_are_rejected),
        authority_test(certificates_expire_with_their_ca),
        authority_test(serving_certificate_has_the_configured_names),
        authority_test(datastore_certificates_are_for_members_or_clients),
        authority_test(serving_names_reach_their_limits),
        authority_test(serving_names_are_strict),
        authority_test(node_cannot_impersonate_the_api),
        authority_test(cross_signed_ca_is_trusted_through_the_old_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
