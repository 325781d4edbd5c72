#include "pki/csr.h"

#include "pki/crypto_fault.h"
#include "pki/handle.h"
#include "pki/pem.h"

static const char label[] = "CERTIFICATE REQUEST";

bool csr_make(Arena *arena, const P256Private *key, Str *out, Error *err)
{
    crypto_begin();
    AUTO(X509_REQ) *request = X509_REQ_new();
    EVP_PKEY *pkey = (EVP_PKEY *)key; /* changes only the reference count */
    if (request == NULL || X509_REQ_set_version(request, X509_REQ_VERSION_1) != 1 ||
        X509_REQ_set_pubkey(request, pkey) != 1 ||
        X509_REQ_sign(request, pkey, EVP_sha256()) <= 0) {
        return crypto_fail(err, ERROR_OS, "cannot create a certificate request");
    }
    int len = i2d_X509_REQ(request, NULL);
    if (len <= 0) {
        return crypto_fail(err, ERROR_OS, "cannot write a certificate request");
    }
    unsigned char *der = arena_alloc(arena, (size_t)len), *to = der;
    i2d_X509_REQ(request, &to);
    *out = pem_text(arena, label, str_from((const char *)der, (size_t)len));
    return crypto_done();
}

static bool read_der(const unsigned char *der, size_t len, P256Public *out, Error *err)
{
    const unsigned char *at = der;
    AUTO(X509_REQ) *request = d2i_X509_REQ(NULL, &at, (long)len);
    if (request == NULL) {
        return crypto_fail(err, ERROR_INVALID, "it cannot be parsed");
    }
    if (at != der + len) {
        return crypto_fail(err, ERROR_INVALID, "trailing data after it");
    }
    if (X509_REQ_get_version(request) != X509_REQ_VERSION_1) {
        return crypto_fail(err, ERROR_INVALID, "it does not have version 1");
    }
    if (X509_REQ_get_signature_nid(request) != NID_ecdsa_with_SHA256) {
        return crypto_fail(err, ERROR_INVALID, "it is not signed with ECDSA and SHA-256");
    }
    P256Public key;
    if (!p256_public_read(X509_REQ_get_X509_PUBKEY(request), &key, err)) {
        return false;
    }
    AUTO(EVP_PKEY) *opened = p256_public_open(&key);
    if (opened == NULL || X509_REQ_verify(request, opened) != 1) {
        return crypto_fail(err, ERROR_INVALID, "its signature does not match its key");
    }
    *out = key;
    return crypto_done();
}

bool csr_read(Str pem, P256Public *out, Error *err)
{
    PemBlock block;
    unsigned char der[CSR_MAX];
    size_t len;
    if (pem.len > CSR_MAX) {
        return error_set(err, ERROR_LIMIT, "the certificate request is longer than %d bytes",
                         CSR_MAX);
    }
    crypto_begin();
    if (!pem_read_single(pem, label, &block, err) || !pem_bytes(&block, der, &len, err) ||
        !read_der(der, len, out, err)) {
        return error_wrap(err, "the certificate request");
    }
    return true;
}
