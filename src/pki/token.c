#include "pki/token.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "base/hex.h"
#include "base/utf8.h"
#include "lang/record.h"
#include "pki/base32.h"
#include "pki/crypto_fault.h"
#include "sys/sha256.h"

/* Separate values derived from a secret from any other use of the hash function. */
static const char key_domain[] = "eden token key 1";
static const char hash_domain[] = "eden token hash 1";

enum {
    RECORD_MAX = 2048, /* bytes of JSON */
};

DEFINE_ENUM_NAMES(TokenVerdict, token_verdict, [TOKEN_GOOD] = "good", [TOKEN_UNKNOWN] = "unknown",
                  [TOKEN_WRONG] = "wrong", [TOKEN_EXPIRED] = "expired", [TOKEN_USED_UP] = "used up")

_Static_assert(TOKEN_ID_TEXT == BASE32_TEXT(TOKEN_ID_BYTES), "an id is base32");
_Static_assert(TOKEN_SECRET_TEXT == BASE32_TEXT(TOKEN_SECRET_BYTES), "a secret is base32");
_Static_assert((int)TOKEN_HASH_TEXT == (int)SHA256_HEX, "a hash is a SHA-256");

bool token_make(Token *out, Error *err)
{
    unsigned char id[TOKEN_ID_BYTES];
    Token made = { 0 };
    crypto_begin();
    if (RAND_bytes(id, sizeof id) != 1 || RAND_priv_bytes(made.secret, sizeof made.secret) != 1) {
        return crypto_fail(err, ERROR_OS, "cannot generate a token");
    }
    base32_write(id, sizeof id, made.id);
    *out = made;
    token_clear(&made);
    return crypto_done();
}

bool token_id_check(Str id)
{
    unsigned char bytes[TOKEN_ID_BYTES];
    return base32_read(id, bytes, sizeof bytes);
}

bool token_parse(Str text, Token *out, Error *err)
{
    AUTO_CLEAR(Token) read = { 0 };
    Str id = str_slice(text, 0, TOKEN_ID_TEXT), secret = str_from_offset(text, TOKEN_ID_TEXT + 1);
    if (str_starts(text, STR("eden_"))) {
        return error_set(err, ERROR_INVALID,
                         "this is an API token; 'eden tokens create' without --role creates a "
                         "token for joining");
    }
    if (text.len != TOKEN_TEXT || text.data[TOKEN_ID_TEXT] != '.' || !token_id_check(id) ||
        !base32_read(secret, read.secret, sizeof read.secret)) {
        return error_set(err, ERROR_INVALID,
                         "a token has %d letters and digits, a dot and %d more; is it complete?",
                         TOKEN_ID_TEXT, TOKEN_SECRET_TEXT);
    }
    memcpy(read.id, id.data, id.len);
    *out = read;
    return true;
}

void token_text(const Token *token, char out[TOKEN_TEXT + 1])
{
    memcpy(out, token->id, TOKEN_ID_TEXT);
    out[TOKEN_ID_TEXT] = '.';
    base32_write(token->secret, sizeof token->secret, out + TOKEN_ID_TEXT + 1);
}

void token_clear(Token *token)
{
    OPENSSL_cleanse(token, sizeof *token);
}

/* Hashes domain, id and bytes. Domains end with a NUL and ids have a fixed length, so the encoding
 * is unambiguous. */
static void hash(const char *domain, const char *id, const unsigned char *bytes, size_t count,
                 char out[SHA256_HEX + 1])
{
    Sha256 sha;
    sha256_start(&sha);
    sha256_add(&sha, str_from(domain, strlen(domain) + 1));
    sha256_add(&sha, str_from(id, TOKEN_ID_TEXT));
    sha256_add(&sha, str_from((const char *)bytes, count));
    sha256_finish(&sha, out);
    OPENSSL_cleanse(&sha, sizeof sha);
}

void token_key(const Token *token, Ed25519Private *out)
{
    char digits[SHA256_HEX + 1];
    hash(key_domain, token->id, token->secret, sizeof token->secret, digits);
    hex_get(digits, sizeof out->bytes, out->bytes);
    OPENSSL_cleanse(digits, sizeof digits);
}

static void hash_key(const char *id, const Ed25519Public *key, char out[TOKEN_HASH_TEXT + 1])
{
    hash(hash_domain, id, key->bytes, sizeof key->bytes, out);
}

bool token_record_make(const Token *token, Str label, int64_t now_ms, int64_t life_ms,
                       uint32_t uses_max, TokenRecord *out, Error *err)
{
    if (label.len > TOKEN_LABEL_MAX || !utf8_is_plain(label)) {
        return error_set(err, ERROR_INVALID,
                         "a label must have at most %d bytes and no control characters",
                         TOKEN_LABEL_MAX);
    }
    if (life_ms < TOKEN_LIFE_MIN_MS || life_ms > TOKEN_LIFE_MAX_MS || now_ms < 0 ||
        now_ms > INT64_MAX - life_ms) {
        return error_set(err, ERROR_INVALID,
                         "the lifetime of a token must be a minute to a year, such as 90m or 7d");
    }
    if (uses_max == 0 || uses_max > TOKEN_USES_MAX) {
        return error_set(err, ERROR_INVALID, "a token can be used 1 to %d times", TOKEN_USES_MAX);
    }
    Ed25519Private private;
    Ed25519Public public;
    token_key(token, &private);
    bool ok = ed25519_public(&private, &public, err);
    ed25519_forget(&private);
    if (!ok) {
        return false;
    }
    TokenRecord record = { .created_ms = now_ms,
                           .expires_ms = now_ms + life_ms,
                           .uses_max = uses_max };
    memcpy(record.id, token->id, sizeof record.id);
    memcpy(record.label, label.data, label.len);
    hash_key(record.id, &public, record.hash);
    *out = record;
    return true;
}

static bool check_id(Str id, Error *err)
{
    return token_id_check(id) || error_set(err, ERROR_INVALID, "must be a token ID");
}

static bool check_hash(Str digits, Error *err)
{
    return (digits.len == TOKEN_HASH_TEXT && hex_is(digits)) ||
           error_set(err, ERROR_INVALID, "must be a SHA-256");
}

static bool check_record(const void *record, Error *err)
{
    const TokenRecord *token = record;
    return (token->expires_ms >= token->created_ms ||
            error_set(err, ERROR_INVALID, "'expires_ms': is before 'created_ms'")) &&
           (token->uses <= token->uses_max ||
            error_set(err, ERROR_INVALID, "'uses': more than 'uses_max'"));
}

static const RecordField token_fields[] = {
    { "id", RECORD_TEXT, RECORD_CHARS_AT(TokenRecord, id), .is_required = true,
      .check_text = check_id, .help = "public part of the token" },
    { "hash", RECORD_TEXT, RECORD_CHARS_AT(TokenRecord, hash), .is_required = true,
      .check_text = check_hash, .help = "hash of its public key" },
    { "label", RECORD_TEXT, RECORD_CHARS_AT(TokenRecord, label), .is_required = true,
      .is_plain = true, .help = "what it is for" },
    { "created_ms", RECORD_INT, RECORD_INT_AT(TokenRecord, created_ms), .is_required = true,
      .max = INT64_MAX, .help = "when it was created" },
    { "expires_ms", RECORD_INT, RECORD_INT_AT(TokenRecord, expires_ms), .is_required = true,
      .max = INT64_MAX, .help = "when it expires" },
    { "uses_max", RECORD_INT, RECORD_INT_AT(TokenRecord, uses_max), .is_required = true, .min = 1,
      .max = TOKEN_USES_MAX, .help = "how often it can be used" },
    { "uses", RECORD_INT, RECORD_INT_AT(TokenRecord, uses), .is_required = true,
      .help = "how often it was used" },
    { RECORD_UNKNOWN_AT(TokenRecord, unknown) },
    { 0 },
};

static const RecordFormat token_format = {
    .format = "eden.token/1",
    .what = "the record of a token",
    .fields = token_fields,
    .size = sizeof(TokenRecord),
    .text_max = RECORD_MAX,
    .check = check_record,
};

void token_record_print(const TokenRecord *record, Buf *out)
{
    record_print(&token_format, record, out);
}

bool token_record_read(Arena *arena, Str text, TokenRecord *out, Error *err)
{
    return record_read(&token_format, arena, text, RECORD_STORED, out, err);
}

TokenVerdict token_check(const TokenRecord *record, const Ed25519Public *key, int64_t now_ms)
{
    /* Takes the same time for an unknown id as for a known one. */
    static const TokenRecord nobody = { .id = "aaaaaaaa" };
    const TokenRecord *asked = record == NULL ? &nobody : record;
    char digits[TOKEN_HASH_TEXT + 1];
    hash_key(asked->id, key, digits);
    bool same = CRYPTO_memcmp(digits, asked->hash, TOKEN_HASH_TEXT) == 0;
    if (record == NULL) {
        return TOKEN_UNKNOWN;
    }
    if (!same) {
        return TOKEN_WRONG;
    }
    if (now_ms >= record->expires_ms) {
        return TOKEN_EXPIRED;
    }
    return record->uses >= record->uses_max ? TOKEN_USED_UP : TOKEN_GOOD;
}

const char *token_verdict_text(TokenVerdict verdict)
{
    switch (verdict) {
    case TOKEN_GOOD: return "the token is valid";
    case TOKEN_UNKNOWN:
    case TOKEN_WRONG: return "invalid token, unknown or incomplete";
    case TOKEN_EXPIRED: return "the token has expired; 'eden tokens create' creates another";
    case TOKEN_USED_UP: return "the token is used up; 'eden tokens create' creates another";
    }
    BUG("no text for verdict %d", (int)verdict);
}
