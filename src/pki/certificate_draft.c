#include "pki/certificate_draft.h"

#include <openssl/rand.h>

#include "base/hex.h"
#include "pki/crypto_fault.h"
#include "pki/handle.h"

enum {
    KEY_USAGE_SIGN = 0,       /* digitalSignature */
    KEY_USAGE_SIGN_CERTS = 5, /* keyCertSign */
    KEY_USAGE_SIGN_LISTS = 6, /* cRLSign */
};

static bool set_serial(X509 *x, Str enrolment)
{
    unsigned char bytes[SERIAL_OURS / 2];
    if (RAND_bytes(bytes, sizeof bytes) != 1) {
        return false;
    }
    /* Positive, and with the same number of digits always. */
    bytes[0] = (unsigned char)((bytes[0] & 0x3f) | 0x40);
    hex_get(enrolment.data, enrolment.len / 2, bytes);
    AUTO(BIGNUM) *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    AUTO(ASN1_INTEGER) *serial = number == NULL ? NULL : BN_to_ASN1_INTEGER(number, NULL);
    return serial != NULL && X509_set_serialNumber(x, serial) == 1;
}

static bool set_times(X509 *x, const CertificateDraft *draft)
{
    AUTO(ASN1_TIME) *from = ASN1_TIME_set(NULL, (time_t)(draft->not_before_ms / 1000));
    AUTO(ASN1_TIME) *until = ASN1_TIME_set(NULL, (time_t)(draft->not_after_ms / 1000));
    return from != NULL && until != NULL && X509_set1_notBefore(x, from) == 1 &&
           X509_set1_notAfter(x, until) == 1;
}

static bool set_names(X509 *x, const CertificateDraft *draft, const X509 *issuer)
{
    return X509_NAME_add_entry_by_NID(X509_get_subject_name(x), NID_commonName, V_ASN1_UTF8STRING,
                                      (const unsigned char *)draft->common_name, -1, -1, 0) == 1 &&
           X509_set_issuer_name(x, X509_get_subject_name(issuer == NULL ? x : issuer)) == 1;
}

static bool set_key(X509 *x, const P256Public *key)
{
    AUTO(EVP_PKEY) *opened = p256_public_open(key);
    return opened != NULL && X509_set_pubkey(x, opened) == 1;
}

static bool add_constraints(X509 *x, const CertificateDraft *draft)
{
    AUTO(BASIC_CONSTRAINTS) *constraints = BASIC_CONSTRAINTS_new();
    if (constraints == NULL) {
        return false;
    }
    if (draft->is_ca) {
        constraints->ca = 0xff;
        constraints->pathlen = ASN1_INTEGER_new();
        if (constraints->pathlen == NULL || ASN1_INTEGER_set(constraints->pathlen, 0) != 1) {
            return false;
        }
    }
    return X509_add1_ext_i2d(x, NID_basic_constraints, constraints, 1, X509V3_ADD_DEFAULT) == 1;
}

static bool add_usage(X509 *x, const CertificateDraft *draft)
{
    AUTO(ASN1_BIT_STRING) *bits = ASN1_BIT_STRING_new();
    bool ok = bits != NULL;
    if (draft->is_ca) {
        ok = ok && ASN1_BIT_STRING_set_bit(bits, KEY_USAGE_SIGN_CERTS, 1) == 1 &&
             ASN1_BIT_STRING_set_bit(bits, KEY_USAGE_SIGN_LISTS, 1) == 1;
    } else {
        ok = ok && ASN1_BIT_STRING_set_bit(bits, KEY_USAGE_SIGN, 1) == 1;
    }
    return ok && X509_add1_ext_i2d(x, NID_key_usage, bits, 1, X509V3_ADD_DEFAULT) == 1;
}

static bool add_purposes(X509 *x, const CertificateDraft *draft)
{
    if (!draft->for_client && !draft->for_server) {
        return true;
    }
    AUTO(EXTENDED_KEY_USAGE) *purposes = sk_ASN1_OBJECT_new_null();
    /* The objects are libcrypto's own and are not freed. */
    return purposes != NULL &&
           (!draft->for_server ||
            sk_ASN1_OBJECT_push(purposes, OBJ_nid2obj(NID_server_auth)) > 0) &&
           (!draft->for_client ||
            sk_ASN1_OBJECT_push(purposes, OBJ_nid2obj(NID_client_auth)) > 0) &&
           X509_add1_ext_i2d(x, NID_ext_key_usage, purposes, 0, X509V3_ADD_DEFAULT) == 1;
}

/* Key identifiers are the first bytes of the pin, so that a certificate tells by which CA it was
 * signed also where both have the same name. */
static bool add_key_ids(X509 *x, const Pin *own, const Pin *issuer)
{
    AUTO(ASN1_OCTET_STRING) *subject = ASN1_OCTET_STRING_new();
    AUTO(AUTHORITY_KEYID) *authority = AUTHORITY_KEYID_new();
    if (subject == NULL || authority == NULL) {
        return false;
    }
    authority->keyid = ASN1_OCTET_STRING_new();
    return authority->keyid != NULL &&
           ASN1_OCTET_STRING_set(subject, own->bytes, KEY_ID_BYTES) == 1 &&
           ASN1_OCTET_STRING_set(authority->keyid, issuer->bytes, KEY_ID_BYTES) == 1 &&
           X509_add1_ext_i2d(x, NID_subject_key_identifier, subject, 0, X509V3_ADD_DEFAULT) == 1 &&
           X509_add1_ext_i2d(x, NID_authority_key_identifier, authority, 0, X509V3_ADD_DEFAULT) ==
               1;
}

static bool add_names(X509 *x, const CertificateDraft *draft)
{
    /* The function copies; it takes a pointer that is not const all the same. */
    return draft->names == NULL ||
           X509_add1_ext_i2d(x, NID_subject_alt_name, (GENERAL_NAMES *)draft->names, 0,
                             X509V3_ADD_DEFAULT) == 1;
}

static bool assemble(X509 *x, const CertificateDraft *draft, const X509 *issuer_x,
                     const Certificate *issuer)
{
    Pin own;
    p256_public_pin(&draft->key, &own);
    return X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x, draft->enrolment) &&
           set_times(x, draft) && set_names(x, draft, issuer_x) && set_key(x, &draft->key) &&
           add_constraints(x, draft) && add_usage(x, draft) && add_purposes(x, draft) &&
           add_key_ids(x, &own, issuer == NULL ? &own : &issuer->pin) && add_names(x, draft);
}

bool certificate_sign(Arena *arena, const CertificateDraft *draft, const P256Private *signer,
                      const Certificate *issuer, Certificate *out, Error *err)
{
    crypto_begin();
    AUTO(X509) *x = X509_new();
    AUTO(X509) *issuer_x = NULL;
    if (issuer != NULL) {
        const unsigned char *at = (const unsigned char *)issuer->der.data;
        issuer_x = d2i_X509(NULL, &at, (long)issuer->der.len);
    }
    if (x == NULL || (issuer != NULL && issuer_x == NULL) ||
        !assemble(x, draft, issuer_x, issuer) ||
        X509_sign(x, (EVP_PKEY *)signer, EVP_sha256()) <= 0) {
        return crypto_fail(err, ERROR_OS, "cannot create a certificate");
    }
    int len = i2d_X509(x, NULL);
    if (len <= 0) {
        return crypto_fail(err, ERROR_OS, "cannot write a certificate");
    }
    unsigned char *der = arena_alloc(arena, (size_t)len), *to = der;
    i2d_X509(x, &to);
    /* Read back as everybody else will read it: what we would refuse we do not hand out. */
    return certificate_parse(arena, str_from((const char *)der, (size_t)len), out, err);
}
