#include "pki/ca.h"

#include <openssl/rand.h>
#include <stdio.h>

#include "base/hex.h"
#include "base/utc.h"
#include "pki/base32.h"
#include "pki/crypto_fault.h"
#include "pki/handle.h"
#include "pki/serving_names.h"

/* --- Signing --------------------------------------------------------------------------------- */

/* A certificate before it is signed. */
typedef struct CertificateFields {
    const char *common_name;
    Str enrollment; /* first half of the serial number; empty: random */
    P256Public key;
    int64_t not_before_ms;
    int64_t not_after_ms;
    bool is_ca;
    bool for_client, for_server;
    const GENERAL_NAMES *names; /* NULL: no names */
} CertificateFields;

enum {
    KEY_USAGE_SIGN = 0,       /* digitalSignature */
    KEY_USAGE_SIGN_CERTS = 5, /* keyCertSign */
    KEY_USAGE_SIGN_LISTS = 6, /* cRLSign */
};

static bool set_serial(X509 *x, Str enrollment)
{
    unsigned char bytes[SERIAL_DIGITS / 2];
    if (RAND_bytes(bytes, sizeof bytes) != 1) {
        return false;
    }
    /* A serial number is positive and always has the same number of digits. */
    bytes[0] = (unsigned char)((bytes[0] & 0x3f) | 0x40);
    hex_decode(enrollment.data, enrollment.len / 2, bytes);
    AUTO(BIGNUM) *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    AUTO(ASN1_INTEGER) *serial = number == NULL ? NULL : BN_to_ASN1_INTEGER(number, NULL);
    return serial != NULL && X509_set_serialNumber(x, serial) == 1;
}

static bool set_times(X509 *x, const CertificateFields *fields)
{
    AUTO(ASN1_TIME) *from = ASN1_TIME_set(NULL, (time_t)(fields->not_before_ms / 1000));
    AUTO(ASN1_TIME) *until = ASN1_TIME_set(NULL, (time_t)(fields->not_after_ms / 1000));
    return from != NULL && until != NULL && X509_set1_notBefore(x, from) == 1 &&
           X509_set1_notAfter(x, until) == 1;
}

static bool set_names(X509 *x, const CertificateFields *fields, const X509 *issuer)
{
    return X509_NAME_add_entry_by_NID(X509_get_subject_name(x), NID_commonName, V_ASN1_UTF8STRING,
                                      (const unsigned char *)fields->common_name, -1, -1, 0) == 1 &&
           X509_set_issuer_name(x, X509_get_subject_name(issuer == NULL ? x : issuer)) == 1;
}

static bool set_key(X509 *x, const P256Public *key)
{
    AUTO(EVP_PKEY) *opened = p256_public_open(key);
    return opened != NULL && X509_set_pubkey(x, opened) == 1;
}

static bool add_constraints(X509 *x, const CertificateFields *fields)
{
    AUTO(BASIC_CONSTRAINTS) *constraints = BASIC_CONSTRAINTS_new();
    if (constraints == NULL) {
        return false;
    }
    if (fields->is_ca) {
        constraints->ca = 0xff;
        constraints->pathlen = ASN1_INTEGER_new();
        if (constraints->pathlen == NULL || ASN1_INTEGER_set(constraints->pathlen, 0) != 1) {
            return false;
        }
    }
    return X509_add1_ext_i2d(x, NID_basic_constraints, constraints, 1, X509V3_ADD_DEFAULT) == 1;
}

static bool add_usage(X509 *x, const CertificateFields *fields)
{
    AUTO(ASN1_BIT_STRING) *bits = ASN1_BIT_STRING_new();
    bool ok = bits != NULL;
    if (fields->is_ca) {
        ok = ok && ASN1_BIT_STRING_set_bit(bits, KEY_USAGE_SIGN_CERTS, 1) == 1 &&
             ASN1_BIT_STRING_set_bit(bits, KEY_USAGE_SIGN_LISTS, 1) == 1;
    } else {
        ok = ok && ASN1_BIT_STRING_set_bit(bits, KEY_USAGE_SIGN, 1) == 1;
    }
    return ok && X509_add1_ext_i2d(x, NID_key_usage, bits, 1, X509V3_ADD_DEFAULT) == 1;
}

static bool add_purposes(X509 *x, const CertificateFields *fields)
{
    if (!fields->for_client && !fields->for_server) {
        return true;
    }
    AUTO(EXTENDED_KEY_USAGE) *purposes = sk_ASN1_OBJECT_new_null();
    /* The objects are owned by libcrypto and not freed. */
    return purposes != NULL &&
           (!fields->for_server ||
            sk_ASN1_OBJECT_push(purposes, OBJ_nid2obj(NID_server_auth)) > 0) &&
           (!fields->for_client ||
            sk_ASN1_OBJECT_push(purposes, OBJ_nid2obj(NID_client_auth)) > 0) &&
           X509_add1_ext_i2d(x, NID_ext_key_usage, purposes, 0, X509V3_ADD_DEFAULT) == 1;
}

/* Key identifiers are the first bytes of the pin, so that a certificate identifies its CA even if
 * two have the same name. */
static bool add_key_ids(X509 *x, const Pin *subject_pin, const Pin *issuer)
{
    AUTO(ASN1_OCTET_STRING) *subject = ASN1_OCTET_STRING_new();
    AUTO(AUTHORITY_KEYID) *authority = AUTHORITY_KEYID_new();
    if (subject == NULL || authority == NULL) {
        return false;
    }
    authority->keyid = ASN1_OCTET_STRING_new();
    return authority->keyid != NULL &&
           ASN1_OCTET_STRING_set(subject, subject_pin->bytes, KEY_ID_BYTES) == 1 &&
           ASN1_OCTET_STRING_set(authority->keyid, issuer->bytes, KEY_ID_BYTES) == 1 &&
           X509_add1_ext_i2d(x, NID_subject_key_identifier, subject, 0, X509V3_ADD_DEFAULT) == 1 &&
           X509_add1_ext_i2d(x, NID_authority_key_identifier, authority, 0, X509V3_ADD_DEFAULT) ==
               1;
}

static bool add_names(X509 *x, const CertificateFields *fields)
{
    /* libcrypto copies the key, but its parameter is not const. */
    return fields->names == NULL ||
           X509_add1_ext_i2d(x, NID_subject_alt_name, (GENERAL_NAMES *)fields->names, 0,
                             X509V3_ADD_DEFAULT) == 1;
}

static bool assemble(X509 *x, const CertificateFields *fields, const X509 *issuer_x,
                     const Certificate *issuer)
{
    Pin subject_pin;
    p256_public_pin(&fields->key, &subject_pin);
    return X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x, fields->enrollment) &&
           set_times(x, fields) && set_names(x, fields, issuer_x) && set_key(x, &fields->key) &&
           add_constraints(x, fields) && add_usage(x, fields) && add_purposes(x, fields) &&
           add_key_ids(x, &subject_pin, issuer == NULL ? &subject_pin : &issuer->pin) &&
           add_names(x, fields);
}

static bool certificate_sign(Arena *arena, const CertificateFields *fields,
                             const P256Private *signer, const Certificate *issuer, Certificate *out,
                             Error *err)
{
    crypto_begin();
    AUTO(X509) *x = X509_new();
    AUTO(X509) *issuer_x = NULL;
    if (issuer != NULL) {
        const unsigned char *at = (const unsigned char *)issuer->der.data;
        issuer_x = d2i_X509(NULL, &at, (long)issuer->der.len);
    }
    if (x == NULL || (issuer != NULL && issuer_x == NULL) ||
        !assemble(x, fields, issuer_x, issuer) ||
        X509_sign(x, (EVP_PKEY *)signer, EVP_sha256()) <= 0) {
        return crypto_fail(err, ERROR_OS, "cannot create a certificate");
    }
    int len = i2d_X509(x, NULL);
    if (len <= 0) {
        return crypto_fail(err, ERROR_OS, "cannot write a certificate");
    }
    unsigned char *der = arena_alloc(arena, (size_t)len), *to = der;
    i2d_X509(x, &to);
    /* Parse the result as every other program will: never issue a certificate that we would
     * reject. */
    return certificate_parse(arena, str_from((const char *)der, (size_t)len), out, err);
}

/* --- Issuing --------------------------------------------------------------------------------- */

enum {
    ID_BYTES = 16,
    COMMON_NAME_MAX = 64, /* the limit of X.520, which libcrypto enforces */
};

/* Range of times in certificates: 1970 to 9999. */
#define TIME_MAX_MS ((int64_t)253402300799 * 1000)

static bool random_bytes(unsigned char *out, size_t count, Error *err)
{
    crypto_begin();
    return RAND_bytes(out, (int)count) == 1
               ? crypto_done()
               : crypto_fail(err, ERROR_OS, "cannot generate a random number");
}

bool cluster_id_make(char out[CLUSTER_ID_TEXT + 1], Error *err)
{
    unsigned char bytes[ID_BYTES];
    if (!random_bytes(bytes, sizeof bytes, err)) {
        return false;
    }
    base32_write(bytes, sizeof bytes, out);
    return true;
}

bool enrollment_make(char out[ENROLLMENT_TEXT + 1], Error *err)
{
    unsigned char bytes[ENROLLMENT_TEXT / 2];
    if (!random_bytes(bytes, sizeof bytes, err)) {
        return false;
    }
    /* Like the first half of serial numbers: positive, and without leading zeros. */
    bytes[0] = (unsigned char)((bytes[0] & 0x3f) | 0x40);
    hex_encode(bytes, sizeof bytes, out);
    return true;
}

bool enrollment_check(Str enrollment, Error *err)
{
    bool good = enrollment.len == ENROLLMENT_TEXT && hex_is_valid(enrollment) &&
                enrollment.data[0] >= '4' && enrollment.data[0] <= '7';
    return good || error_set(err, ERROR_INVALID, "an enrollment ID has %d digits (0-9, a-f)",
                             ENROLLMENT_TEXT);
}

/* The common name of a certificate. The name of a node may be the host name of another machine, and
 * old clients use the common name as a host name if there is no DNS name; a space in it prevents
 * that. A name that is too long is truncated: it is only for display, the full one is in the
 * SAN. */
static void make_common_name(const char *before, const char *name, char out[COMMON_NAME_MAX + 1])
{
    int remaining = COMMON_NAME_MAX - (int)strlen(before) - 1;
    snprintf(out, COMMON_NAME_MAX + 1, "%s %.*s", before, remaining, name);
}

static bool check_time(int64_t now_ms, int64_t lifetime_ms, Error *err)
{
    if (now_ms < CA_BACKDATE_MS || now_ms > TIME_MAX_MS - CA_LIFETIME_MS) {
        return error_set(err, ERROR_INVALID, "cannot issue a certificate for that time");
    }
    if (lifetime_ms < LIFETIME_MIN_MS || lifetime_ms > CA_LIFETIME_MS) {
        return error_set(err, ERROR_INVALID,
                         "the lifetime of a certificate must be between 10 s and ten years");
    }
    return true;
}

bool ca_make(Arena *arena, Str cluster, int64_t now_ms, Credential *out, Error *err)
{
    char name[CLUSTER_NAME_MAX + 1], common_name[COMMON_NAME_MAX + 1];
    if (!cluster_name_check(cluster, err) || !check_time(now_ms, CA_LIFETIME_MS, err)) {
        return false;
    }
    snprintf(name, sizeof name, "%" STR_FMT, STR_ARG(cluster));
    make_common_name("eden", name, common_name);
    CertificateFields fields = {
        .common_name = common_name,
        .not_before_ms = now_ms - CA_BACKDATE_MS,
        .not_after_ms = now_ms + CA_LIFETIME_MS,
        .is_ca = true,
    };
    AUTO(P256Private) *key = NULL;
    Certificate *certificate = ARENA_NEW(arena, Certificate);
    if (!p256_private_make(&key, err) || !p256_public_of(key, &fields.key, err) ||
        !certificate_sign(arena, &fields, key, NULL, certificate, err)) {
        return error_wrap(err, "the CA");
    }
    *out = (Credential){ .key = TAKE(key), .chain = { certificate, 1 } };
    return true;
}

/* Sets the validity period, limited to that of the CA. */
static bool set_validity(CertificateFields *fields, const Certificate *ca, int64_t now_ms,
                         int64_t lifetime_ms, Error *err)
{
    if (!check_time(now_ms, lifetime_ms, err)) {
        return false;
    }
    if (!ca->is_ca) {
        return error_set(err, ERROR_DENIED, "'%" STR_FMT "' is not a CA", STR_ARG(ca->subject));
    }
    if (now_ms >= ca->not_after_ms || now_ms < ca->not_before_ms) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        Str from = utc_text(&arena, ca->not_before_ms), until = utc_text(&arena, ca->not_after_ms);
        Str now = utc_text(&arena, now_ms);
        return error_set(err, ERROR_DENIED,
                         "the CA is valid from %" STR_FMT " to %" STR_FMT
                         "; this machine's clock shows %" STR_FMT,
                         STR_ARG(from), STR_ARG(until), STR_ARG(now));
    }
    /* Certificates that live for less time than clocks may differ must not be backdated too far. */
    int64_t backdate = lifetime_ms / 4 < CA_BACKDATE_MS ? lifetime_ms / 4 : CA_BACKDATE_MS;
    int64_t from = now_ms - backdate, until = now_ms + lifetime_ms;
    fields->not_before_ms = from > ca->not_before_ms ? from : ca->not_before_ms;
    fields->not_after_ms = until < ca->not_after_ms ? until : ca->not_after_ms;
    return true;
}

static bool check_issuer(const Certificate *ca, const char *cluster, Error *err)
{
    char common_name[COMMON_NAME_MAX + 1];
    make_common_name("eden", cluster, common_name);
    return (str_starts(ca->subject, STR("CN=")) &&
            str_eq_c(str_from_offset(ca->subject, 3), common_name)) ||
           error_set(err, ERROR_INVALID, "the CA '%" STR_FMT "' does not belong to cluster '%s'",
                     STR_ARG(ca->subject), cluster);
}

static bool add_uri(GENERAL_NAMES *names, const char *uri)
{
    AUTO(GENERAL_NAME) *name = GENERAL_NAME_new();
    ASN1_IA5STRING *text = ASN1_IA5STRING_new();
    if (name == NULL || text == NULL || ASN1_STRING_set(text, uri, -1) != 1) {
        ASN1_IA5STRING_free(text);
        return false;
    }
    GENERAL_NAME_set0_value(name, GEN_URI, text);
    if (sk_GENERAL_NAME_push(names, name) == 0) {
        return false;
    }
    (void)TAKE(name);
    return true;
}

/* Signs with the URI as the only subject alternative name. */
static bool sign_for(Arena *arena, CertificateFields *fields, const char *uri, const Credential *ca,
                     Certificate *out, Error *err)
{
    crypto_begin();
    AUTO(GENERAL_NAMES) *names = sk_GENERAL_NAME_new_null();
    if (names == NULL || !add_uri(names, uri)) {
        return crypto_fail(err, ERROR_OS, "cannot write an identity");
    }
    fields->names = names;
    return certificate_sign(arena, fields, ca->key, &ca->chain.items[0], out, err);
}

bool ca_issue_node(Arena *arena, const Credential *ca, const NodeCertificateSpec *grant,
                   Certificate *out, Error *err)
{
    const Certificate *issuer = &ca->chain.items[0];
    Identity checked;
    if (!identity_make(str_from_c(grant->identity.cluster), str_from_c(grant->identity.node),
                       &checked, err) ||
        !enrollment_check(grant->enrollment, err)) {
        return false;
    }
    if (!check_issuer(issuer, checked.cluster, err)) {
        return false;
    }
    char common_name[COMMON_NAME_MAX + 1];
    make_common_name("node", checked.node, common_name);
    CertificateFields fields = {
        .common_name = common_name,
        .enrollment = grant->enrollment,
        .key = grant->key,
        .for_client = true,
        .for_server = true,
    };
    int64_t lifetime_ms = grant->lifetime_ms == 0 ? NODE_LIFETIME_MS : grant->lifetime_ms;
    if (!set_validity(&fields, issuer, grant->now_ms, lifetime_ms, err)) {
        return false;
    }
    char uri[IDENTITY_URI_MAX + 1];
    identity_uri(&checked, uri);
    return sign_for(arena, &fields, uri, ca, out, err) ||
           error_wrap(err, "node '%s'", checked.node);
}

bool ca_issue_user(Arena *arena, const Credential *ca, const UserCertificateSpec *grant,
                   Certificate *out, Error *err)
{
    const Certificate *issuer = &ca->chain.items[0];
    UserIdentity checked;
    if (!user_identity_make(str_from_c(grant->identity.cluster), str_from_c(grant->identity.user),
                            &checked, err) ||
        !check_issuer(issuer, checked.cluster, err)) {
        return false;
    }
    if (grant->lifetime_ms > USER_LIFETIME_MAX_MS) {
        return error_set(err, ERROR_INVALID,
                         "the lifetime of a user certificate must be at most a year");
    }
    char common_name[COMMON_NAME_MAX + 1], uri[IDENTITY_URI_MAX + 1];
    make_common_name("user", checked.user, common_name);
    CertificateFields fields = { .common_name = common_name,
                                 .key = grant->key,
                                 .for_client = true };
    int64_t lifetime_ms = grant->lifetime_ms == 0 ? USER_LIFETIME_MS : grant->lifetime_ms;
    if (!set_validity(&fields, issuer, grant->now_ms, lifetime_ms, err)) {
        return false;
    }
    user_identity_uri(&checked, uri);
    return sign_for(arena, &fields, uri, ca, out, err) ||
           error_wrap(err, "user '%s'", checked.user);
}

bool ca_issue_serving(Arena *arena, const Credential *ca, const ServingCertificateSpec *grant,
                      Certificate *out, Error *err)
{
    CertificateFields fields = {
        .common_name = "eden API",
        .key = grant->key,
        .for_server = true,
    };
    AUTO(GENERAL_NAMES) *names = NULL;
    int64_t lifetime_ms = grant->lifetime_ms == 0 ? SERVING_LIFETIME_MS : grant->lifetime_ms;
    if (!serving_names_make(grant->names, grant->name_count, &names, err) ||
        !set_validity(&fields, &ca->chain.items[0], grant->now_ms, lifetime_ms, err)) {
        return error_wrap(err, "the API certificate");
    }
    fields.names = names;
    return certificate_sign(arena, &fields, ca->key, &ca->chain.items[0], out, err) ||
           error_wrap(err, "the API certificate");
}

bool ca_issue_datastore(Arena *arena, const Credential *ca, const ServingCertificateSpec *grant,
                        Certificate *out, Error *err)
{
    bool is_member = grant->name_count > 0;
    CertificateFields fields = {
        .common_name = is_member ? DATASTORE_MEMBER_NAME : DATASTORE_CLIENT_NAME,
        .key = grant->key,
        .for_client = true,
        .for_server = is_member,
    };
    AUTO(GENERAL_NAMES) *names = NULL;
    int64_t lifetime_ms = grant->lifetime_ms == 0 ? NODE_LIFETIME_MS : grant->lifetime_ms;
    if ((is_member && !serving_names_make(grant->names, grant->name_count, &names, err)) ||
        !set_validity(&fields, &ca->chain.items[0], grant->now_ms, lifetime_ms, err)) {
        return error_wrap(err, "the datastore certificate");
    }
    fields.names = names;
    return certificate_sign(arena, &fields, ca->key, &ca->chain.items[0], out, err) ||
           error_wrap(err, "the datastore certificate");
}

bool ca_cross_sign(Arena *arena, const Credential *ca, const Certificate *other, int64_t now_ms,
                   Certificate *out, Error *err)
{
    const Certificate *issuer = &ca->chain.items[0];
    if (!other->is_ca || !str_eq(other->subject, issuer->subject)) {
        return error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a CA of the same cluster",
                         STR_ARG(other->subject));
    }
    char common_name[COMMON_NAME_MAX + 1];
    snprintf(common_name, sizeof common_name, "%" STR_FMT,
             STR_ARG(str_from_offset(issuer->subject, 3)));
    CertificateFields fields = {
        .common_name = common_name,
        .key = other->key,
        .is_ca = true,
    };
    return (set_validity(&fields, issuer, now_ms, CA_LIFETIME_MS, err) &&
            certificate_sign(arena, &fields, ca->key, issuer, out, err)) ||
           error_wrap(err, "the cross-signed CA");
}
