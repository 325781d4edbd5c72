#include "pki/csr.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "authority.h"
#include "pki/pem.h"

/* A request for more than its key, as openssl or an attacker would create it. */
typedef struct Request {
    const char *names; /* in the syntax of openssl's configuration */
    bool ca;
    EVP_PKEY *key;    /* in the request */
    EVP_PKEY *signer; /* NULL: the same */
    const EVP_MD *digest;
} Request;

static void add_request(STACK_OF(X509_EXTENSION) * requests, int nid, const char *value)
{
    X509_EXTENSION *requested = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    assert_non_null(requested);
    sk_X509_EXTENSION_push(requests, requested);
}

static Str make_request(Arena *arena, const Request *requested)
{
    X509_REQ *request = X509_REQ_new();
    X509_NAME *subject = X509_REQ_get_subject_name(request);
    X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_ASC,
                               (const unsigned char *)"root of everything", -1, -1, 0);
    STACK_OF(X509_EXTENSION) *requests = sk_X509_EXTENSION_new_null();
    if (requested->names != NULL) {
        add_request(requests, NID_subject_alt_name, requested->names);
    }
    if (requested->ca) {
        add_request(requests, NID_basic_constraints, "critical,CA:TRUE");
        add_request(requests, NID_key_usage, "critical,keyCertSign,cRLSign");
        add_request(requests, NID_ext_key_usage, "codeSigning,anyExtendedKeyUsage");
    }
    X509_REQ_add_extensions(request, requests);
    sk_X509_EXTENSION_pop_free(requests, X509_EXTENSION_free);
    X509_REQ_set_pubkey(request, requested->key);
    assert_true(X509_REQ_sign(request,
                              requested->signer == NULL ? requested->key : requested->signer,
                              requested->digest == NULL ? EVP_sha256() : requested->digest) > 0);
    unsigned char *der = NULL;
    int len = i2d_X509_REQ(request, &der);
    assert_true(len > 0);
    Str pem = pem_text(arena, "CERTIFICATE REQUEST", str_from((const char *)der, (size_t)len));
    OPENSSL_free(der);
    X509_REQ_free(request);
    return pem;
}

static void requests_contain_their_key(void **state)
{
    Authority *authority = *state;
    Str request;
    P256Public key;
    assert_succeeds(csr_make(&authority->arena, authority->key, &request, &err));
    assert_succeeds(csr_read(request, &key, &err));
    assert_true(p256_public_equal(&key, &authority->public_key));
}

/* OpenSSL has one error queue for the whole thread. */
static void earlier_openssl_errors_are_not_reported(void **state)
{
    Authority *authority = *state;
    Str request = pem_text(&authority->arena, "CERTIFICATE REQUEST", STR("no request"));
    P256Public key;
    Error alone, after;
    ERR_clear_error();
    assert_false(csr_read(request, &key, &alone));
    ERR_raise(ERR_LIB_X509, X509_R_CERT_ALREADY_IN_HASH_TABLE);
    assert_false(csr_read(request, &key, &after));
    assert_string_equal(after.text, alone.text);
}

/* CLUSTER H 20: whatever a request asks for, the certificate has one SAN, the approved one. */
static void certificate_has_the_approved_name_only(void **state)
{
    Authority *authority = *state;
    static const char *const names[] = {
        NULL,
        "URI:eden://home/node/other",
        "URI:eden://home/node/web1,URI:eden://home/node/other",
        "DNS:api.example.com,DNS:*.example.com,IP:10.0.0.1",
        "email:root@example.com",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        Request requested = { .names = names[i], .ca = true, .key = authority->key };
        NodeCertificateSpec grant = node_grant(authority, "web1");
        assert_succeeds(csr_read(make_request(&authority->arena, &requested), &grant.key, &err));
        Certificate made = issue_node(authority, &grant);
        assert_true(made.has_identity);
        assert_string_equal(made.identity.cluster, "home");
        assert_string_equal(made.identity.node, "web1");
        assert_false(made.is_ca);
        assert_true(p256_public_equal(&made.key, &authority->public_key));
        assert_succeeds(
            certificate_verify(one(&made), authority->ca.chain, USE_CLIENT, NOW_MS, &err));
        assert_succeeds(
            certificate_verify(one(&made), authority->ca.chain, USE_SERVER, NOW_MS, &err));
    }
}

/* CLUSTER H 10: a key without proof of possession gets no certificate. */
static void request_with_a_foreign_key_is_rejected(void **state)
{
    Authority *authority = *state;
    Request requested = { .key = authority->key, .signer = authority->ca.key };
    P256Public key;
    assert_fails(csr_read(make_request(&authority->arena, &requested), &key, &err), ERROR_INVALID,
                 "does not match its key");
}

static void tampered_request_is_rejected(void **state)
{
    Authority *authority = *state;
    Request requested = { .key = authority->key, .names = "URI:eden://home/node/web1" };
    Str request = make_request(&authority->arena, &requested);
    PemBlock block;
    Str der;
    P256Public key;
    assert_succeeds(pem_read_single(request, "CERTIFICATE REQUEST", &block, &err));
    assert_succeeds(pem_bytes_in(&authority->arena, &block, &der, &err));
    for (size_t at = 0; at < der.len; at++) {
        char *bytes = arena_copy_c(&authority->arena, der);
        bytes[at] ^= 4;
        Str pem = pem_text(&authority->arena, "CERTIFICATE REQUEST", str_from(bytes, der.len));
        assert_fails(csr_read(pem, &key, &err), ERROR_INVALID, "the certificate request");
    }
}

static void other_keys_and_digests_are_rejected(void **state)
{
    Authority *authority = *state;
    EVP_PKEY *rsa = EVP_RSA_gen(2048), *wide = EVP_EC_gen("P-384"), *coin = EVP_EC_gen("secp256k1");
    EVP_PKEY *edwards = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    const struct {
        Request requested;
        const char *why;
    } rows[] = {
        { { .key = rsa }, "not signed with ECDSA and SHA-256" },
        { { .key = rsa, .signer = authority->key }, "has the type 'rsaEncryption'" },
        { { .key = edwards, .signer = authority->key }, "has the type 'ED25519'" },
        { { .key = wide }, "not on the curve P-256" },
        { { .key = coin }, "not on the curve P-256" },
        { { .key = authority->key, .digest = EVP_sha1() }, "not signed with ECDSA and SHA-256" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        P256Public key;
        Str request = make_request(&authority->arena, &rows[i].requested);
        assert_fails(csr_read(request, &key, &err), ERROR_INVALID, rows[i].why);
    }
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(wide);
    EVP_PKEY_free(coin);
    EVP_PKEY_free(edwards);
}

/* A curve with explicit parameters looks like P-256 and may have a generator chosen by the
 * attacker. */
static void key_in_another_encoding_is_rejected(void **state)
{
    Authority *authority = *state;
    static const char *const rows[][3] = {
        { "encoding", "explicit", "not on the curve P-256" },
        { "point-format", "compressed", "uncompressed" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        EVP_PKEY *odd = EVP_EC_gen("P-256");
        P256Public key;
        assert_int_equal(EVP_PKEY_set_utf8_string_param(odd, rows[i][0], rows[i][1]), 1);
        Str request = make_request(&authority->arena, &(Request){ .key = odd });
        assert_fails(csr_read(request, &key, &err), ERROR_INVALID, rows[i][2]);
        EVP_PKEY_free(odd);
    }
}

static void invalid_requests_are_rejected(void **state)
{
    Authority *authority = *state;
    Arena *arena = &authority->arena;
    static const char label[] = "CERTIFICATE REQUEST";
    Str request, der;
    PemBlock block;
    P256Public key;
    assert_succeeds(csr_make(arena, authority->key, &request, &err));
    assert_succeeds(pem_read_single(request, label, &block, &err));
    assert_succeeds(pem_bytes_in(arena, &block, &der, &err));
    Str twice = arena_join(arena, request, request, STR_EMPTY);
    Str ca = certificate_pem(arena, &authority->ca.chain.items[0]);
    Str longer = pem_text(arena, label, arena_join(arena, der, STR("x"), STR_EMPTY));
    assert_fails(csr_read(STR(""), &key, &err), ERROR_INVALID, "it is empty");
    assert_fails(csr_read(twice, &key, &err), ERROR_INVALID, "more than one");
    assert_fails(csr_read(ca, &key, &err), ERROR_INVALID, "it is a 'CERTIFICATE'");
    assert_fails(csr_read(pem_text(arena, label, STR("hello")), &key, &err), ERROR_INVALID,
                 "cannot be parsed");
    assert_fails(csr_read(longer, &key, &err), ERROR_INVALID, "trailing data after it");
    char *large = arena_alloc(arena, CSR_MAX + 1);
    memset(large, '\n', CSR_MAX + 1);
    memcpy(large, request.data, request.len);
    assert_succeeds(csr_read(str_from(large, CSR_MAX), &key, &err));
    assert_fails(csr_read(str_from(large, CSR_MAX + 1), &key, &err), ERROR_LIMIT,
                 "longer than 8192");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(requests_contain_their_key),
        authority_test(certificate_has_the_approved_name_only),
        authority_test(request_with_a_foreign_key_is_rejected),
        authority_test(earlier_openssl_errors_are_not_reported),
        authority_test(tampered_request_is_rejected),
        authority_test(other_keys_and_digests_are_rejected),
        authority_test(key_in_another_encoding_is_rejected),
        authority_test(invalid_requests_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
