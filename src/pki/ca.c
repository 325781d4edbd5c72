#include "pki/ca.h"

#include <stdio.h>

#include <openssl/rand.h>

#include "base/hex.h"
#include "base/utc.h"
#include "pki/base32.h"
#include "pki/certificate_draft.h"
#include "pki/crypto_fault.h"
#include "pki/handle.h"
#include "pki/serving_names.h"

enum {
    ID_BYTES = 16,
    COMMON_NAME_MAX = 64, /* of X.520; libcrypto insists on it */
};

/* Moments that certificates can hold: 1970 to 9999. */
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

bool enrolment_make(char out[ENROLMENT_TEXT + 1], Error *err)
{
    unsigned char bytes[ENROLMENT_TEXT / 2];
    if (!random_bytes(bytes, sizeof bytes, err)) {
        return false;
    }
    /* As serial numbers start: positive, and with no zeros in front. */
    bytes[0] = (unsigned char)((bytes[0] & 0x3f) | 0x40);
    hex_put(bytes, sizeof bytes, out);
    return true;
}

bool enrolment_check(Str enrolment, Error *err)
{
    bool good = enrolment.len == ENROLMENT_TEXT && hex_is(enrolment) && enrolment.data[0] >= '4' &&
                enrolment.data[0] <= '7';
    return good || error_set(err, ERROR_INVALID, "an enrollment ID has %d digits (0-9, a-f)",
                             ENROLMENT_TEXT);
}

/* What a certificate calls its subject. The name of a node may be a host name of somebody, and old
 * clients take a common name for one where there is no DNS name; with a space in it they cannot.
 * A name too long for the field is cut: it is for people, the whole one stands in the SAN. */
static void make_common_name(const char *before, const char *name, char out[COMMON_NAME_MAX + 1])
{
    int room = COMMON_NAME_MAX - (int)strlen(before) - 1;
    snprintf(out, COMMON_NAME_MAX + 1, "%s %.*s", before, room, name);
}

static bool check_time(int64_t now_ms, int64_t life_ms, Error *err)
{
    if (now_ms < CA_BACKDATE_MS || now_ms > TIME_MAX_MS - CA_LIFE_MS) {
        return error_set(err, ERROR_INVALID, "cannot issue a certificate for that time");
    }
    if (life_ms < LIFE_MIN_MS || life_ms > CA_LIFE_MS) {
        return error_set(err, ERROR_INVALID,
                         "the lifetime of a certificate must be 10 s to ten years");
    }
    return true;
}

bool ca_make(Arena *arena, Str cluster, int64_t now_ms, Credential *out, Error *err)
{
    char name[CLUSTER_NAME_MAX + 1], common_name[COMMON_NAME_MAX + 1];
    if (!cluster_name_check(cluster, err) || !check_time(now_ms, CA_LIFE_MS, err)) {
        return false;
    }
    snprintf(name, sizeof name, "%" STR_FMT, STR_ARG(cluster));
    make_common_name("eden", name, common_name);
    CertificateDraft draft = {
        .common_name = common_name,
        .not_before_ms = now_ms - CA_BACKDATE_MS,
        .not_after_ms = now_ms + CA_LIFE_MS,
        .is_ca = true,
    };
    AUTO(P256Private) *key = NULL;
    Certificate *made = ARENA_NEW(arena, Certificate);
    if (!p256_private_make(&key, err) || !p256_public_of(key, &draft.key, err) ||
        !certificate_sign(arena, &draft, key, NULL, made, err)) {
        return error_wrap(err, "the CA");
    }
    *out = (Credential){ .key = TAKE(key), .chain = { made, 1 } };
    return true;
}

/* Fills in when the certificate is good, as far as the CA's own life allows. */
static bool set_life(CertificateDraft *draft, const Certificate *ca, int64_t now_ms,
                     int64_t life_ms, Error *err)
{
    if (!check_time(now_ms, life_ms, err)) {
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
                         "; the clock of this machine says %" STR_FMT,
                         STR_ARG(from), STR_ARG(until), STR_ARG(now));
    }
    /* Those that live shorter than clocks differ must not be old when they are made. */
    int64_t backdate = life_ms / 4 < CA_BACKDATE_MS ? life_ms / 4 : CA_BACKDATE_MS;
    int64_t from = now_ms - backdate, until = now_ms + life_ms;
    draft->not_before_ms = from > ca->not_before_ms ? from : ca->not_before_ms;
    draft->not_after_ms = until < ca->not_after_ms ? until : ca->not_after_ms;
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

/* With the URI as the one name of whom it is for. */
static bool sign_for(Arena *arena, CertificateDraft *draft, const char *uri, const Credential *ca,
                     Certificate *out, Error *err)
{
    crypto_begin();
    AUTO(GENERAL_NAMES) *names = sk_GENERAL_NAME_new_null();
    if (names == NULL || !add_uri(names, uri)) {
        return crypto_fail(err, ERROR_OS, "cannot write an identity");
    }
    draft->names = names;
    return certificate_sign(arena, draft, ca->key, &ca->chain.items[0], out, err);
}

bool ca_issue_node(Arena *arena, const Credential *ca, const NodeGrant *grant, Certificate *out,
                   Error *err)
{
    const Certificate *issuer = &ca->chain.items[0];
    Identity checked;
    if (!identity_make(str_from_c(grant->identity.cluster), str_from_c(grant->identity.node),
                       &checked, err) ||
        !enrolment_check(grant->enrolment, err)) {
        return false;
    }
    if (!check_issuer(issuer, checked.cluster, err)) {
        return false;
    }
    char common_name[COMMON_NAME_MAX + 1];
    make_common_name("node", checked.node, common_name);
    CertificateDraft draft = {
        .common_name = common_name,
        .enrolment = grant->enrolment,
        .key = grant->key,
        .for_client = true,
        .for_server = true,
    };
    int64_t life_ms = grant->life_ms == 0 ? NODE_LIFE_MS : grant->life_ms;
    if (!set_life(&draft, issuer, grant->now_ms, life_ms, err)) {
        return false;
    }
    char uri[IDENTITY_URI_MAX + 1];
    identity_uri(&checked, uri);
    return sign_for(arena, &draft, uri, ca, out, err) || error_wrap(err, "node '%s'", checked.node);
}

bool ca_issue_user(Arena *arena, const Credential *ca, const UserGrant *grant, Certificate *out,
                   Error *err)
{
    const Certificate *issuer = &ca->chain.items[0];
    UserIdentity checked;
    if (!user_identity_make(str_from_c(grant->identity.cluster), str_from_c(grant->identity.user),
                            &checked, err) ||
        !check_issuer(issuer, checked.cluster, err)) {
        return false;
    }
    if (grant->life_ms > USER_LIFE_MAX_MS) {
        return error_set(err, ERROR_INVALID,
                         "the lifetime of a user certificate must be at most a year");
    }
    char common_name[COMMON_NAME_MAX + 1], uri[IDENTITY_URI_MAX + 1];
    make_common_name("user", checked.user, common_name);
    CertificateDraft draft = { .common_name = common_name, .key = grant->key, .for_client = true };
    int64_t life_ms = grant->life_ms == 0 ? USER_LIFE_MS : grant->life_ms;
    if (!set_life(&draft, issuer, grant->now_ms, life_ms, err)) {
        return false;
    }
    user_identity_uri(&checked, uri);
    return sign_for(arena, &draft, uri, ca, out, err) || error_wrap(err, "user '%s'", checked.user);
}

bool ca_issue_serving(Arena *arena, const Credential *ca, const ServingGrant *grant,
                      Certificate *out, Error *err)
{
    CertificateDraft draft = {
        .common_name = "eden API",
        .key = grant->key,
        .for_server = true,
    };
    AUTO(GENERAL_NAMES) *names = NULL;
    int64_t life_ms = grant->life_ms == 0 ? SERVING_LIFE_MS : grant->life_ms;
    if (!serving_names_make(grant->names, grant->name_count, &names, err) ||
        !set_life(&draft, &ca->chain.items[0], grant->now_ms, life_ms, err)) {
        return error_wrap(err, "the API certificate");
    }
    draft.names = names;
    return certificate_sign(arena, &draft, ca->key, &ca->chain.items[0], out, err) ||
           error_wrap(err, "the API certificate");
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
    CertificateDraft draft = {
        .common_name = common_name,
        .key = other->key,
        .is_ca = true,
    };
    return (set_life(&draft, issuer, now_ms, CA_LIFE_MS, err) &&
            certificate_sign(arena, &draft, ca->key, issuer, out, err)) ||
           error_wrap(err, "the cross-signed CA");
}
