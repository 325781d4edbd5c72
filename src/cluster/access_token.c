#include "cluster/access_token.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "base/hex.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "pki/base32.h"
#include "pki/crypto_fault.h"
#include "pki/json_fields.h"
#include "sys/sha256.h"

#define FORMAT "eden.access-token/1"
#define MARK   "eden_"

/* Keeps what is derived from a secret apart from everything else that is ever hashed. */
static const char hash_domain[] = "eden access token hash 1";

enum {
    RECORD_MAX = 8 << 10,
    RECORD_NODES = 64,
};

_Static_assert(ACCESS_TOKEN_ID_TEXT == BASE32_TEXT(ACCESS_TOKEN_ID_BYTES), "an id is base32");
_Static_assert(ACCESS_TOKEN_SECRET_TEXT == BASE32_TEXT(ACCESS_TOKEN_SECRET_BYTES),
               "a secret is base32");
_Static_assert((int)ACCESS_TOKEN_HASH_TEXT == (int)SHA256_HEX, "a hash is a SHA-256");

bool access_token_make(AccessToken *out, Error *err)
{
    unsigned char id[ACCESS_TOKEN_ID_BYTES];
    AUTO_CLEAR(AccessToken) made = { 0 };
    crypto_begin();
    if (RAND_bytes(id, sizeof id) != 1 || RAND_priv_bytes(made.secret, sizeof made.secret) != 1) {
        return crypto_fail(err, ERROR_OS, "cannot draw a token");
    }
    base32_write(id, sizeof id, made.id);
    *out = made;
    return crypto_done();
}

bool access_token_id_check(Str id)
{
    unsigned char bytes[ACCESS_TOKEN_ID_BYTES];
    return base32_read(id, bytes, sizeof bytes);
}

bool access_token_parse(Str text, AccessToken *out, Error *err)
{
    AUTO_CLEAR(AccessToken) read = { 0 };
    Str id = str_slice(text, 5, 5 + ACCESS_TOKEN_ID_TEXT);
    Str secret = str_from_offset(text, 5 + ACCESS_TOKEN_ID_TEXT + 1);
    if (text.len != ACCESS_TOKEN_TEXT || !str_starts(text, STR(MARK)) ||
        text.data[5 + ACCESS_TOKEN_ID_TEXT] != '_' || !access_token_id_check(id) ||
        !base32_read(secret, read.secret, sizeof read.secret)) {
        return error_set(err, ERROR_INVALID,
                         "a token is written eden_ID_SECRET, with %d and %d letters and digits; is "
                         "it whole?",
                         ACCESS_TOKEN_ID_TEXT, ACCESS_TOKEN_SECRET_TEXT);
    }
    memcpy(read.id, id.data, id.len);
    *out = read;
    return true;
}

void access_token_text(const AccessToken *token, char out[ACCESS_TOKEN_TEXT + 1])
{
    memcpy(out, MARK, 5);
    memcpy(out + 5, token->id, ACCESS_TOKEN_ID_TEXT);
    out[5 + ACCESS_TOKEN_ID_TEXT] = '_';
    base32_write(token->secret, sizeof token->secret, out + 5 + ACCESS_TOKEN_ID_TEXT + 1);
}

void access_token_clear(AccessToken *token)
{
    OPENSSL_cleanse(token, sizeof *token);
}

/* Domain and id have one length, so that no two inputs give the same text. The secret is drawn, not
 * chosen: there is nothing to guess that would ask for a slow hash. */
void access_token_hash(const AccessToken *token, char out[ACCESS_TOKEN_HASH_TEXT + 1])
{
    Sha256 sha;
    sha256_start(&sha);
    sha256_add(&sha, str_from(hash_domain, sizeof hash_domain));
    sha256_add(&sha, str_from(token->id, ACCESS_TOKEN_ID_TEXT));
    sha256_add(&sha, str_from((const char *)token->secret, sizeof token->secret));
    sha256_finish(&sha, out);
    OPENSSL_cleanse(&sha, sizeof sha);
}

bool access_token_hash_equal(const char *a, const char *b)
{
    return CRYPTO_memcmp(a, b, ACCESS_TOKEN_HASH_TEXT) == 0;
}

bool access_token_name_check(Str name, Error *err)
{
    return (name.len <= ACCESS_TOKEN_NAME_MAX && utf8_is_plain(name)) ||
           error_set(err, ERROR_INVALID,
                     "a token is called by at most %d bytes without control characters",
                     ACCESS_TOKEN_NAME_MAX);
}

void access_token_record_print(const AccessTokenRecord *record, Buf *out)
{
    buf_put_format(out,
                   "{\"format\":\"" FORMAT "\",\"id\":\"%s\",\"hash\":\"%s\",\"name\":", record->id,
                   record->hash);
    json_text_put(out, str_from_c(record->name));
    buf_put_c(out, ",\"roles\":");
    role_names_print(record->roles.text, out);
    buf_put_c(out, ",\"made_by\":");
    json_text_put(out, str_from_c(record->made_by));
    buf_put_format(out, ",\"created_ms\":%lld,\"expires_ms\":%lld}", (long long)record->created_ms,
                   (long long)record->expires_ms);
}

bool access_token_record_read(Arena *arena, Str text, AccessTokenRecord *out, Error *err)
{
    Value object, said, id, hash, name, roles, made_by, created, expires;
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },     { "id", VALUE_STRING, false, &id },
        { "hash", VALUE_STRING, false, &hash },       { "name", VALUE_STRING, false, &name },
        { "roles", VALUE_LIST, false, &roles },       { "made_by", VALUE_STRING, false, &made_by },
        { "created_ms", VALUE_INT, false, &created }, { "expires_ms", VALUE_INT, false, &expires },
    };
    AccessTokenRecord record = { 0 };
    if (!json_object_read(arena, text, RECORD_MAX, RECORD_NODES, &object, err) ||
        !json_format_check(object, FORMAT, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !access_token_name_check(value_str(name), err) ||
        !role_names_read(roles, &record.roles, err)) {
        return error_wrap(err, "the record of a token of the API");
    }
    if (!access_token_id_check(value_str(id)) || !json_copy(id, record.id, sizeof record.id) ||
        hash.len != ACCESS_TOKEN_HASH_TEXT || !hex_is(value_str(hash)) ||
        !json_copy(hash, record.hash, sizeof record.hash) ||
        !json_copy(name, record.name, sizeof record.name) || !utf8_is_plain(value_str(made_by)) ||
        !json_copy(made_by, record.made_by, sizeof record.made_by) || created.integer < 0 ||
        expires.integer < created.integer) {
        return error_set(err, ERROR_INVALID,
                         "the record of a token of the API: a field is out of its range");
    }
    record.created_ms = created.integer;
    record.expires_ms = expires.integer;
    *out = record;
    return true;
}
