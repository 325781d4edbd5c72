#include "pki/p256_public.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/param_build.h>

#include "base/hex.h"
#include "pki/crypto_fault.h"
#include "pki/handle.h"
#include "sys/sha256.h"

static const char prefix[] = "sha256:";

/* SEQUENCE { SEQUENCE { id-ecPublicKey, prime256v1 }, BIT STRING { the point } }: everything that
 * precedes the point in a SubjectPublicKeyInfo on this curve. */
static const unsigned char spki_head[] = {
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
    0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
};

void p256_public_pin(const P256Public *key, Pin *out)
{
    Sha256 sha;
    char digits[SHA256_HEX + 1];
    sha256_start(&sha);
    sha256_add(&sha, str_from((const char *)spki_head, sizeof spki_head));
    sha256_add(&sha, str_from((const char *)key->point, sizeof key->point));
    sha256_finish(&sha, digits);
    hex_decode(digits, sizeof out->bytes, out->bytes);
}

bool p256_public_equal(const P256Public *a, const P256Public *b)
{
    return memcmp(a->point, b->point, sizeof a->point) == 0;
}

bool p256_public_verify(const P256Public *key, Str message, const P256Signature *signature)
{
    crypto_begin();
    AUTO(EVP_PKEY) *opened = p256_public_open(key);
    AUTO(EVP_MD_CTX) *state = EVP_MD_CTX_new();
    bool ok = signature->len <= sizeof signature->bytes && opened != NULL && state != NULL &&
              EVP_DigestVerifyInit(state, NULL, EVP_sha256(), NULL, opened) == 1 &&
              EVP_DigestVerify(state, signature->bytes, signature->len,
                               (const unsigned char *)message.data, message.len) == 1;
    crypto_done();
    return ok;
}

void pin_text(const Pin *pin, char out[PIN_TEXT + 1])
{
    memcpy(out, prefix, sizeof prefix - 1);
    hex_encode(pin->bytes, sizeof pin->bytes, out + sizeof prefix - 1);
}

bool pin_parse(Str text, Pin *out, Error *err)
{
    if (text.len != PIN_TEXT || !str_starts(text, str_from_c(prefix))) {
        return error_set(err, ERROR_INVALID, "a pin must be 'sha256:' and %d hexadecimal digits",
                         2 * PIN_BYTES);
    }
    if (!hex_is_valid(str_from_offset(text, sizeof prefix - 1))) {
        return error_set(err, ERROR_INVALID, "a pin must consist of hexadecimal digits (0-9, a-f)");
    }
    hex_decode(text.data + sizeof prefix - 1, sizeof out->bytes, out->bytes);
    return true;
}

static bool pin_decode(Arena *arena, Value value, void *member, Error *err)
{
    return pin_parse(value_str(value), member, err);
}

static void pin_encode(const void *member, Buf *out)
{
    char text[PIN_TEXT + 1];
    pin_text(member, text);
    buf_put_format(out, "\"%s\"", text);
}

const RecordCodec pin_codec = { pin_decode, pin_encode, NULL };

static bool pin_or_none_decode(Arena *arena, Value value, void *member, Error *err)
{
    return value_str(value).len == 0 || pin_parse(value_str(value), member, err);
}

static bool pin_is_unset(const void *member)
{
    return pin_is_zero(member);
}

static void pin_or_none_encode(const void *member, Buf *out)
{
    if (pin_is_unset(member)) {
        buf_put_c(out, "\"\"");
    } else {
        pin_encode(member, out);
    }
}

const RecordCodec pin_or_none_codec = { pin_or_none_decode, pin_or_none_encode, pin_is_unset };

bool pin_equal(const Pin *a, const Pin *b)
{
    return CRYPTO_memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool pin_is_zero(const Pin *pin)
{
    static const Pin zero;
    return pin_equal(pin, &zero);
}

struct evp_pkey_st *p256_public_open(const P256Public *key)
{
    char group[] = "prime256v1";
    P256Public copy = *key; /* the parameter is not const */
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, copy.point, sizeof copy.point),
        OSSL_PARAM_construct_end(),
    };
    AUTO(EVP_PKEY_CTX) *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    EVP_PKEY *opened = NULL;
    if (context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &opened, EVP_PKEY_PUBLIC_KEY, params) != 1) {
        return NULL;
    }
    return opened;
}

bool p256_public_read(struct X509_pubkey_st *from, P256Public *out, Error *err)
{
    ASN1_OBJECT *kind = NULL;
    X509_ALGOR *algorithm = NULL;
    const ASN1_OBJECT *ignored = NULL;
    const unsigned char *bytes = NULL;
    const void *curve = NULL;
    int len = 0, curve_type = 0;
    if (from == NULL || X509_PUBKEY_get0_param(&kind, &bytes, &len, &algorithm, from) != 1) {
        return crypto_fail(err, ERROR_INVALID, "it has no key");
    }
    X509_ALGOR_get0(&ignored, &curve_type, &curve, algorithm);
    int nid = OBJ_obj2nid(kind);
    if (nid != NID_X9_62_id_ecPublicKey) {
        const char *name = nid == NID_undef ? NULL : OBJ_nid2sn(nid);
        return crypto_fail(err, ERROR_INVALID, "its key has the type '%s'; it must be P-256",
                           name == NULL ? "unknown" : name);
    }
    /* Explicit curve parameters could describe a curve that the sender constructed. */
    if (curve_type != V_ASN1_OBJECT || OBJ_obj2nid(curve) != NID_X9_62_prime256v1) {
        return crypto_fail(err, ERROR_INVALID, "its key is not on the curve P-256");
    }
    P256Public key;
    if (len != P256_PUBLIC_BYTES || bytes[0] != POINT_CONVERSION_UNCOMPRESSED) {
        return crypto_fail(err, ERROR_INVALID, "its key is not an uncompressed point");
    }
    memcpy(key.point, bytes, sizeof key.point);
    AUTO(EVP_PKEY) *opened = p256_public_open(&key);
    if (opened == NULL) {
        return crypto_fail(err, ERROR_INVALID, "its key is not a point on P-256");
    }
    *out = key;
    return true;
}
