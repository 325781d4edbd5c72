#include "access/access_token.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "base/hex.h"
#include "base/utf8.h"
#include "pki/base32.h"
#include "pki/crypto_fault.h"
#include "sys/sha256.h"

#define MARK "eden_"

/* Separates these hashes from all other hashes. */
static const char hash_domain[] = "eden access token hash 1";

enum {
    RECORD_MAX = 8 << 10, /* bytes of JSON */
};

_Static_assert(ACCESS_TOKEN_ID_TEXT == BASE32_TEXT(ACCESS_TOKEN_ID_BYTES), "an id is base32");
_Static_assert(ACCESS_TOKEN_SECRET_TEXT == BASE32_TEXT(ACCESS_TOKEN_SECRET_BYTES),
               "a secret is base32");
_Static_assert((int)ACCESS_TOKEN_HASH_TEXT == (int)SHA256_HEX, "a hash is a SHA-256");

bool access_token_generate(AccessToken *out, Error *err)
{
    unsigned char id[ACCESS_TOKEN_ID_BYTES];
    AUTO_CLEAR(AccessToken) made = { 0 };
    crypto_begin();
    if (RAND_bytes(id, sizeof id) != 1 || RAND_priv_bytes(made.secret, sizeof made.secret) != 1) {
        return crypto_fail(err, ERROR_OS, "cannot generate a token");
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
                         "a token has the form eden_ID_SECRET, with %d and %d letters and digits; "
                         "is it complete?",
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

/* Domain and id have fixed lengths, so that different inputs never give the same text. The secret
 * is random, not chosen, so a slow hash is not needed. */
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
                     "a token name must have at most %d bytes and no control characters",
                     ACCESS_TOKEN_NAME_MAX);
}

static bool check_id(Str id, Error *err)
{
    return access_token_id_check(id) || error_set(err, ERROR_INVALID, "must be a token ID");
}

static bool check_hash(Str hash, Error *err)
{
    return (hash.len == ACCESS_TOKEN_HASH_TEXT && hex_is(hash)) ||
           error_set(err, ERROR_INVALID, "must be a SHA-256");
}

static bool check_record(const void *record, Error *err)
{
    const AccessTokenRecord *token = record;
    return token->expires_ms >= token->created_ms ||
           error_set(err, ERROR_INVALID, "'expires_ms': is before 'created_ms'");
}

/* Written once: additional fields of a newer server stay in the store. */
static const RecordField token_fields[] = {
    { "id", RECORD_TEXT, RECORD_CHARS_AT(AccessTokenRecord, id), .is_required = true,
      .check_text = check_id, .help = "public part of the token" },
    { "hash", RECORD_TEXT, RECORD_CHARS_AT(AccessTokenRecord, hash), .is_required = true,
      .check_text = check_hash, .is_secret = true, .help = "hash of its secret" },
    { "name", RECORD_TEXT, RECORD_CHARS_AT(AccessTokenRecord, name), .is_required = true,
      .check_text = access_token_name_check, .help = "what or whom it is for" },
    { "roles", RECORD_TEXT, RECORD_CODED_AT(AccessTokenRecord, roles, RoleNames, role_names_codec),
      .shape = RECORD_LIST, .is_required = true, .help = "roles that it grants" },
    { "made_by", RECORD_TEXT, RECORD_CHARS_AT(AccessTokenRecord, made_by), .is_required = true,
      .is_plain = true, .help = "who created it" },
    { "created_ms", RECORD_INT, RECORD_INT_AT(AccessTokenRecord, created_ms), .is_required = true,
      .max = INT64_MAX, .help = "when it was created" },
    { "expires_ms", RECORD_INT, RECORD_INT_AT(AccessTokenRecord, expires_ms), .is_required = true,
      .max = INT64_MAX, .help = "when it expires" },
    { 0 },
};

static const RecordFormat token_format = {
    .format = "eden.access-token/1",
    .what = "the record of an API token",
    .fields = token_fields,
    .size = sizeof(AccessTokenRecord),
    .text_max = RECORD_MAX,
    .check = check_record,
};

void access_token_record_print(const AccessTokenRecord *record, Buf *out)
{
    record_print(&token_format, record, out);
}

bool access_token_record_read(Arena *arena, Str text, AccessTokenRecord *out, Error *err)
{
    return record_read(&token_format, arena, text, RECORD_STORED, out, err);
}
