#include "pki/certificate.h"

#include <openssl/x509v3.h>

#include "authority.h"
#include "pki/pem.h"

#define DAY PKI_DAY_MS

/* A certificate from the CA with any extensions: what a faulty CA, or an attacker with its key,
 * could issue. */
static Certificate forge(Authority *authority, const char *const extensions[][2],
                         const char *serial)
{
    X509 *x = X509_new();
    BIGNUM *number = NULL;
    assert_true(BN_hex2bn(&number, serial) > 0);
    ASN1_INTEGER *serial_number = BN_to_ASN1_INTEGER(number, NULL);
    X509_set_version(x, X509_VERSION_3);
    X509_set_serialNumber(x, serial_number);
    X509_NAME_add_entry_by_NID(X509_get_subject_name(x), NID_commonName, MBSTRING_ASC,
                               (const unsigned char *)"forged", -1, -1, 0);
    const Certificate *ca = &authority->ca.chain.items[0];
    const unsigned char *at = (const unsigned char *)ca->der.data;
    X509 *issuer = d2i_X509(NULL, &at, (long)ca->der.len);
    X509_set_issuer_name(x, X509_get_subject_name(issuer));
    ASN1_TIME_set(X509_getm_notBefore(x), NOW_MS / 1000 - 60);
    ASN1_TIME_set(X509_getm_notAfter(x), NOW_MS / 1000 + 3600);
    X509_set_pubkey(x, authority->key);
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, x, NULL, NULL, 0);
    for (size_t i = 0; extensions[i][0] != NULL; i++) {
        X509_EXTENSION *extension =
            X509V3_EXT_conf(NULL, &context, extensions[i][0], extensions[i][1]);
        assert_non_null(extension);
        X509_add_ext(x, extension, -1);
        X509_EXTENSION_free(extension);
    }
    assert_true(X509_sign(x, authority->ca.key, EVP_sha256()) > 0);
    unsigned char *der = NULL;
    int len = i2d_X509(x, &der);
    Certificate made;
    Str bytes = arena_copy(&authority->arena, str_from((const char *)der, (size_t)len));
    assert_succeeds(certificate_parse(&authority->arena, bytes, &made, &err));
    OPENSSL_free(der);
    X509_free(x);
    X509_free(issuer);
    BN_free(number);
    ASN1_INTEGER_free(serial_number);
    return made;
}

static const char our_serial[] = "40112233445566778899aabbccddeeff";

#define BASICS                                                                                \
    { "basicConstraints", "critical,CA:FALSE" }, { "keyUsage", "critical,digitalSignature" }, \
        { "subjectKeyIdentifier", "hash" },                                                   \
    {                                                                                         \
        "authorityKeyIdentifier", "keyid"                                                     \
    }
#define BOTH                                        \
    {                                               \
        "extendedKeyUsage", "serverAuth,clientAuth" \
    }

static void node_certificate_contains_its_identity(void **state)
{
    Authority *authority = *state;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    Certificate made = issue_node(authority, &grant);
    assert_true(made.has_identity);
    assert_string_equal(made.identity.cluster, "home");
    assert_string_equal(made.identity.node, "web1");
    assert_string_equal(made.enrollment, first_enrollment);
    assert_int_equal(strlen(made.serial), SERIAL_DIGITS);
    assert_true(made.for_client && made.for_server && !made.is_ca);
    assert_int_equal(made.not_before_ms, NOW_MS - CA_BACKDATE_MS);
    assert_int_equal(made.not_after_ms, NOW_MS + NODE_LIFETIME_MS);
    assert_true(certificate_names_issuer(&made, &authority->ca.chain.items[0].pin));
    assert_false(certificate_names_issuer(&made, &made.pin));
    Certificate *read;
    uint32_t count;
    assert_succeeds(certificates_from_pem(
        &authority->arena, certificate_pem(&authority->arena, &made), &read, &count, &err));
    assert_int_equal(count, 1);
    assert_true(str_eq(read->der, made.der));
}

/* CLUSTER H 6 and 20: one SAN, which is an identity; anything else is rejected. */
static void certificates_with_other_names_have_no_identity(void **state)
{
    Authority *authority = *state;
    static const char *const names[] = {
        "URI:eden://home/node/web1,URI:eden://home/node/web2",
        "URI:eden://home/node/web1,DNS:web1",
        "DNS:eden://home/node/web1",
        "email:web1@home",
        "URI:eden://home/node/WEB1",
        "URI:eden://home/node/web1.",
        "URI:eden://home/node/..",
        "URI:eden://home/node/web1/",
        "URI:https://home/node/web1",
    };
    const char *const good[][2] = {
        BASICS, BOTH, { "subjectAltName", "URI:eden://home/node/web1" }, { NULL }
    };
    assert_true(forge(authority, good, our_serial).has_identity);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *const extensions[][2] = {
            BASICS, BOTH, { "subjectAltName", names[i] }, { NULL }
        };
        Certificate made = forge(authority, extensions, our_serial);
        assert_false(made.has_identity);
        assert_string_equal(made.identity.node, "");
        assert_string_equal(made.enrollment, "");
    }
    /* None at all; a CA; a serial number without an enrollment. */
    const char *const none[][2] = { BASICS, BOTH, { NULL } };
    const char *const ca[][2] = { { "basicConstraints", "critical,CA:TRUE" },
                                  { "keyUsage", "critical,keyCertSign" },
                                  { "subjectAltName", "URI:eden://home/node/web1" },
                                  { NULL } };
    assert_false(forge(authority, none, our_serial).has_identity);
    assert_false(forge(authority, ca, our_serial).has_identity);
    assert_false(forge(authority, good, "40112233").has_identity);
}

static void name_with_a_nul_has_no_identity(void **state)
{
    Authority *authority = *state;
    const char *const good[][2] = {
        BASICS, BOTH, { "subjectAltName", "URI:eden://home/node/web1.evil" }, { NULL }
    };
    Certificate made = forge(authority, good, our_serial);
    char *der = arena_copy_c(&authority->arena, made.der);
    char *dot = memmem(der, made.der.len, "web1.evil", 9);
    assert_non_null(dot);
    dot[4] = '\0';
    Certificate read;
    assert_succeeds(certificate_parse(&authority->arena, str_from(der, made.der.len), &read, &err));
    assert_false(read.has_identity);
}

static void certificates_are_limited_to_their_usage(void **state)
{
    Authority *authority = *state;
    static const struct {
        const char *purposes;
        bool client, server;
    } rows[] = {
        { "clientAuth", true, false },           { "serverAuth", false, true },
        { "clientAuth,serverAuth", true, true }, { "codeSigning", false, false },
        { "anyExtendedKeyUsage", false, false }, { NULL, false, false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *const extensions[][2] = {
            BASICS,
            { "subjectAltName", "URI:eden://home/node/web1" },
            { rows[i].purposes == NULL ? NULL : "extendedKeyUsage", rows[i].purposes },
            { NULL },
        };
        Certificate made = forge(authority, extensions, our_serial);
        Error err = { 0 };
        assert_int_equal(
            certificate_verify(one(&made), authority->ca.chain, USE_CLIENT, NOW_MS, &err),
            rows[i].client);
        assert_int_equal(
            certificate_verify(one(&made), authority->ca.chain, USE_SERVER, NOW_MS, &err),
            rows[i].server);
    }
    /* The CA itself is not a node. */
    assert_fails(
        certificate_verify(authority->ca.chain, authority->ca.chain, USE_CLIENT, NOW_MS, &err),
        ERROR_DENIED, "");
}

static void unknown_critical_extension_is_rejected(void **state)
{
    Authority *authority = *state;
    const char *const extensions[][2] = { BASICS,
                                          BOTH,
                                          { "subjectAltName", "URI:eden://home/node/web1" },
                                          { "1.3.6.1.4.1.99999.1", "critical,ASN1:UTF8String:x" },
                                          { NULL } };
    Certificate made = forge(authority, extensions, our_serial);
    assert_fails(certificate_verify(one(&made), authority->ca.chain, USE_CLIENT, NOW_MS, &err),
                 ERROR_DENIED, "unhandled critical extension");
}

/* CLUSTER H 13: time passes, and the certificate expires; the error names both clocks. */
static void certificate_is_rejected_outside_its_validity(void **state)
{
    Authority *authority = *state;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    grant.now_ms += DAY;
    Certificate made = issue_node(authority, &grant);
    CertificateSet trusted = authority->ca.chain;
    assert_succeeds(certificate_verify(one(&made), trusted, USE_CLIENT, made.not_before_ms, &err));
    assert_succeeds(
        certificate_verify(one(&made), trusted, USE_CLIENT, made.not_after_ms - 1, &err));
    assert_fails(certificate_verify(one(&made), trusted, USE_CLIENT, made.not_after_ms, &err),
                 ERROR_DENIED,
                 "the certificate expired at 2027-02-15T08:00:00Z; this machine's clock shows "
                 "2027-02-15T08:00:00Z");
    assert_fails(certificate_verify(one(&made), trusted, USE_CLIENT, NOW_MS + 4000 * DAY, &err),
                 ERROR_DENIED, "the CA certificate expired at 2037-01-12T08:00:00Z; this machine");
    assert_fails(
        certificate_verify(one(&made), trusted, USE_CLIENT, made.not_before_ms - 1000, &err),
        ERROR_DENIED,
        "the certificate is not valid before 2027-01-16T07:55:00Z; this machine's clock shows "
        "2027-01-16T07:54:59Z");
}

static void certificate_of_another_ca_is_rejected(void **state)
{
    Authority *authority = *state;
    AUTO_CLEAR(Credential) other = { 0 };
    NodeCertificateSpec grant = node_grant(authority, "web1");
    Certificate made;
    /* It has the same name, only the key differs. */
    assert_succeeds(ca_make(&authority->arena, STR("home"), NOW_MS, &other, &err));
    assert_succeeds(ca_issue_node(&authority->arena, &other, &grant, &made, &err));
    assert_fails(certificate_verify(one(&made), authority->ca.chain, USE_CLIENT, NOW_MS, &err),
                 ERROR_DENIED, "not issued by a trusted CA");
    assert_succeeds(certificate_verify(one(&made), other.chain, USE_CLIENT, NOW_MS, &err));
    /* Sending its CA along changes nothing. */
    Certificate chain[] = { made, other.chain.items[0] };
    assert_fails(certificate_verify((CertificateSet){ chain, 2 }, authority->ca.chain, USE_CLIENT,
                                    NOW_MS, &err),
                 ERROR_DENIED, "not issued by a trusted CA");
    /* Both trusted, as during a rotation. */
    Certificate both[] = { authority->ca.chain.items[0], other.chain.items[0] };
    assert_succeeds(
        certificate_verify(one(&made), (CertificateSet){ both, 2 }, USE_CLIENT, NOW_MS, &err));
    assert_ptr_equal(certificate_find_pin(both, 2, &other.chain.items[0].pin), &both[1]);
    assert_null(certificate_find_pin(both, 2, &made.pin));
}

/* A node cannot issue certificates with its own. */
static void node_is_not_a_ca(void **state)
{
    Authority *authority = *state;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    Certificate node = issue_node(authority, &grant), made;
    Credential pretender = { .key = authority->key, .chain = one(&node) };
    assert_fails(ca_issue_node(&authority->arena, &pretender, &grant, &made, &err), ERROR_INVALID,
                 "does not belong to cluster");
    ServingCertificateSpec serving = { .names = (Str[]){ STR("localhost") },
                                       .name_count = 1,
                                       .key = authority->public_key,
                                       .now_ms = NOW_MS };
    assert_fails(ca_issue_serving(&authority->arena, &pretender, &serving, &made, &err),
                 ERROR_DENIED, "is not a CA");
    /* Nor is one that was made that way without our CA. */
    Authority forger = *authority;
    forger.ca = pretender;
    const char *const extensions[][2] = { { "basicConstraints", "critical,CA:FALSE" },
                                          { "keyUsage", "critical,digitalSignature" },
                                          BOTH,
                                          { "subjectAltName", "URI:eden://home/node/web2" },
                                          { NULL } };
    Certificate forged = forge(&forger, extensions, our_serial);
    authority->arena = forger.arena;
    Certificate chain[] = { forged, node };
    assert_fails(certificate_verify((CertificateSet){ chain, 2 }, authority->ca.chain, USE_CLIENT,
                                    NOW_MS, &err),
                 ERROR_DENIED, "");
}

static void changed_certificate_is_rejected(void **state)
{
    Authority *authority = *state;
    NodeCertificateSpec grant = node_grant(authority, "web1");
    Certificate made = issue_node(authority, &grant);
    for (size_t at = 0; at < made.der.len; at++) {
        char *der = arena_copy_c(&authority->arena, made.der);
        der[at] ^= 1;
        Certificate read;
        Error err = { 0 };
        bool good =
            certificate_parse(&authority->arena, str_from(der, made.der.len), &read, &err) &&
            certificate_verify(one(&read), authority->ca.chain, USE_CLIENT, NOW_MS, &err);
        if (good) {
            fail_msg("byte %zu can be changed", at);
        }
    }
}

static void invalid_bundles_are_rejected(void **state)
{
    Authority *authority = *state;
    Arena *arena = &authority->arena;
    Certificate *read;
    uint32_t count;
    Str ca = certificate_pem(arena, &authority->ca.chain.items[0]);
    assert_fails(certificates_from_pem(arena, STR(" \n"), &read, &count, &err), ERROR_INVALID,
                 "no certificate");
    assert_fails(
        certificates_from_pem(arena, pem_text(arena, "CERTIFICATE", STR("x")), &read, &count, &err),
        ERROR_INVALID, "certificate 1: not a certificate");
    AUTO_CLEAR(KeyText) key = { 0 };
    assert_succeeds(p256_private_text(authority->key, &key, &err));
    assert_fails(
        certificates_from_pem(arena, arena_join(arena, ca, str_from(key.text, key.len), STR_EMPTY),
                              &read, &count, &err),
        ERROR_INVALID, "unexpected 'PRIVATE KEY' among the certificates");
    Str many = STR_EMPTY;
    for (int i = 0; i < CERTIFICATES_MAX; i++) {
        many = arena_join(arena, many, ca, STR_EMPTY);
    }
    assert_succeeds(certificates_from_pem(arena, many, &read, &count, &err));
    assert_int_equal(count, CERTIFICATES_MAX);
    assert_fails(
        certificates_from_pem(arena, arena_join(arena, many, ca, STR_EMPTY), &read, &count, &err),
        ERROR_LIMIT, "more than 16");
    Certificate one_more;
    Str longer = arena_join(arena, authority->ca.chain.items[0].der, STR("x"), STR_EMPTY);
    assert_fails(certificate_parse(arena, longer, &one_more, &err), ERROR_INVALID, "trailing data");
    char *huge = arena_alloc_zero(arena, CERTIFICATE_MAX + 1);
    assert_fails(certificate_parse(arena, str_from(huge, CERTIFICATE_MAX + 1), &one_more, &err),
                 ERROR_INVALID, "larger than 8192");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(node_certificate_contains_its_identity),
        authority_test(certificates_with_other_names_have_no_identity),
        authority_test(name_with_a_nul_has_no_identity),
        authority_test(certificates_are_limited_to_their_usage),
        authority_test(unknown_critical_extension_is_rejected),
        authority_test(certificate_is_rejected_outside_its_validity),
        authority_test(certificate_of_another_ca_is_rejected),
        authority_test(node_is_not_a_ca),
        authority_test(changed_certificate_is_rejected),
        authority_test(invalid_bundles_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
