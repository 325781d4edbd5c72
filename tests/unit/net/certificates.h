/* Certificates for tests: a CA and certificates signed by it, on P-256, as PEM. */
#pragma once

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/arena.h"
#include "unit.h"

typedef struct TestCa {
    EVP_PKEY *key;
    X509 *certificate;
    Str pem;
} TestCa;

typedef struct TestCertificate {
    Str pem, key;
} TestCertificate;

typedef struct TestCertificateOptions {
    const char *names;              /* in the syntax of subjectAltName in openssl.cnf; NULL: none */
    long not_before_s, not_after_s; /* relative to now; both 0: an hour ago, in an hour */
    long serial;
} TestCertificateOptions;

static inline Str test_bio_take(Arena *arena, BIO *bio)
{
    char *data;
    long len = BIO_get_mem_data(bio, &data);
    Str text = arena_copy(arena, str_from(data, (size_t)len));
    BIO_free(bio);
    return text;
}

static inline void test_extend(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static inline X509 *test_make(EVP_PKEY *key, const char *name, X509 *issuer, EVP_PKEY *issuer_key,
                              const TestCertificateOptions *options)
{
    X509 *certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), options->serial);
    bool usual = options->not_before_s == 0 && options->not_after_s == 0;
    X509_gmtime_adj(X509_getm_notBefore(certificate), usual ? -3600 : options->not_before_s);
    X509_gmtime_adj(X509_getm_notAfter(certificate), usual ? 3600 : options->not_after_s);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(issuer == NULL ? certificate : issuer));
    X509_set_pubkey(certificate, key);
    if (issuer == NULL) {
        test_extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
        test_extend(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
    } else {
        test_extend(certificate, issuer, NID_ext_key_usage, "clientAuth,serverAuth");
        if (options->names != NULL) {
            test_extend(certificate, issuer, NID_subject_alt_name, options->names);
        }
    }
    assert_true(X509_sign(certificate, issuer == NULL ? key : issuer_key, EVP_sha256()) > 0);
    return certificate;
}

static inline TestCa test_ca_make(Arena *arena, const char *name)
{
    TestCa ca = { .key = EVP_EC_gen("P-256") };
    ca.certificate = test_make(ca.key, name, NULL, NULL, &(TestCertificateOptions){ .serial = 1 });
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, ca.certificate);
    ca.pem = test_bio_take(arena, bio);
    return ca;
}

static inline void test_ca_clear(TestCa *ca)
{
    EVP_PKEY_free(ca->key);
    X509_free(ca->certificate);
}

static inline TestCertificate test_certificate_make(Arena *arena, const TestCa *ca,
                                                    const TestCertificateOptions *options)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = test_make(key, "test", ca->certificate, ca->key, options);
    BIO *bio = BIO_new(BIO_s_mem()), *key_bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, certificate);
    PEM_write_bio_PrivateKey(key_bio, key, NULL, NULL, 0, NULL, NULL);
    TestCertificate made = { test_bio_take(arena, bio), test_bio_take(arena, key_bio) };
    X509_free(certificate);
    EVP_PKEY_free(key);
    return made;
}
