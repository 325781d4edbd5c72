#include "pki/token.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "base/hex.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "pki/base32.h"
#include "pki/crypto_fault.h"
#include "pki/json_fields.h"
#include "sys/sha256.h"

static const char format[] = "eden.token/1";
/* Keep what is derived from a secret apart from everything else that is ever hashed. */
static const char key_domain[] = "eden token key 1";
static const char hash_domain[] = "eden token hash 1";

enum {
    RECORD_MAX = 2048, /* bytes of JSON */
    RECORD_NODES = 32,
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
        return crypto_fail(err, ERROR_OS, "cannot draw a token");
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
                         "this is a token for people, to log in with; 'eden tokens create' without "
                         "--role makes one to join with");
    }
    if (text.len != TOKEN_TEXT || text.data[TOKEN_ID_TEXT] != '.' || !token_id_check(id) ||
        !base32_read(secret, read.secret, sizeof read.secret)) {
        return error_set(
            err, ERROR_INVALID,
            "a token is %d letters and digits, a dot and %d more of them; is it whole?",
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

/* Of domain, id and bytes. Domains end with a NUL and ids have one length, so that no two inputs
 * give the same text. */
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
                         "a label has at most %d bytes and no control characters", TOKEN_LABEL_MAX);
    }
    if (life_ms < TOKEN_LIFE_MIN_MS || life_ms > TOKEN_LIFE_MAX_MS || now_ms < 0 ||
        now_ms > INT64_MAX - life_ms) {
        return error_set(err, ERROR_INVALID, "a token lives a minute to a year, as 90m or 7d");
    }
    if (uses_max == 0 || uses_max > TOKEN_USES_MAX) {
        return error_set(err, ERROR_INVALID, "a token can be used once to %d times",
                         TOKEN_USES_MAX);
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

void token_record_print(const TokenRecord *record, Buf *out)
{
    buf_put_format(out, "{\"format\":\"%s\",\"id\":\"%s\",\"hash\":\"%s\",\"label\":", format,
                   record->id, record->hash);
    json_text_put(out, str_from_c(record->label));
    buf_put_format(out, ",\"created_ms\":%lld,\"expires_ms\":%lld,\"uses_max\":%u,\"uses\":%u}",
                   (long long)record->created_ms, (long long)record->expires_ms, record->uses_max,
                   record->uses);
}

bool token_record_read(Arena *arena, Str text, TokenRecord *out, Error *err)
{
    Value object, said, id, digits, label, created, expires, uses_max, uses;
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },     { "id", VALUE_STRING, false, &id },
        { "hash", VALUE_STRING, false, &digits },     { "label", VALUE_STRING, false, &label },
        { "created_ms", VALUE_INT, false, &created }, { "expires_ms", VALUE_INT, false, &expires },
        { "uses_max", VALUE_INT, false, &uses_max },  { "uses", VALUE_INT, false, &uses },
    };
    TokenRecord record = { 0 };
    if (!json_object_read(arena, text, RECORD_MAX, RECORD_NODES, &object, err) ||
        !json_format_check(object, format, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err)) {
        return error_wrap(err, "the record of a token");
    }
    if (!token_id_check(value_str(id)) || !json_copy(id, record.id, sizeof record.id) ||
        digits.len != TOKEN_HASH_TEXT || !hex_is(value_str(digits)) ||
        !json_copy(digits, record.hash, sizeof record.hash) || !utf8_is_plain(value_str(label)) ||
        !json_copy(label, record.label, sizeof record.label) || uses_max.integer < 1 ||
        uses_max.integer > TOKEN_USES_MAX || uses.integer < 0 || uses.integer > uses_max.integer ||
        created.integer < 0 || expires.integer < created.integer) {
        return error_set(err, ERROR_INVALID, "the record of a token: a field is out of its range");
    }
    record.created_ms = created.integer;
    record.expires_ms = expires.integer;
    record.uses_max = (uint32_t)uses_max.integer;
    record.uses = (uint32_t)uses.integer;
    *out = record;
    return true;
}

TokenVerdict token_check(const TokenRecord *record, const Ed25519Public *key, int64_t now_ms)
{
    /* An id that nobody has takes as long as one that somebody has. */
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
    case TOKEN_GOOD: return "the token is good";
    case TOKEN_UNKNOWN:
    case TOKEN_WRONG: return "the token is not known here, or it is not whole";
    case TOKEN_EXPIRED: return "the token has expired; 'eden tokens create' makes another";
    case TOKEN_USED_UP: return "the token is used up; 'eden tokens create' makes another";
    }
    BUG("no text for verdict %d", (int)verdict);
}
