#include "pki/token.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "base/hex.h"
#include "base/utf8.h"
#include "lang/record.h"
#include "pki/base32.h"
#include "pki/crypto_fault.h"
#include "sys/sha256.h"

/* Domain separation: keep values derived from a secret distinct from any other use of the hash. */
static const char key_domain[] = "eden token key 1";
static const char key_hash_domain[] = "eden token hash 1";
static const char api_hash_domain[] = "eden access token hash 1";

enum {
    RECORD_MAX = 2048, /* bytes of JSON */
};

DEFINE_ENUM_NAMES(TokenVerdict, token_verdict, [TOKEN_VALID] = "good", [TOKEN_UNKNOWN] = "unknown",
                  [TOKEN_WRONG] = "wrong", [TOKEN_EXPIRED] = "expired", [TOKEN_USED_UP] = "used up")

_Static_assert(TOKEN_ID_TEXT == BASE32_TEXT(TOKEN_ID_BYTES), "an ID is base32");
_Static_assert(TOKEN_SECRET_TEXT == BASE32_TEXT(TOKEN_SECRET_BYTES), "a secret is base32");
_Static_assert((int)TOKEN_HASH_TEXT == (int)SHA256_HEX, "a hash is a SHA-256");

/* --- Text ------------------------------------------------------------------------------------ */

/* "PREFIX ID SEPARATOR SECRET", without the spaces. */
static const struct TokenForm {
    Str prefix;
    char separator;
} forms[] = {
    [TOKEN_JOIN] = { STR(""), '.' },
    [TOKEN_API] = { STR("eden_"), '_' },
};

bool token_make(TokenKind kind, Token *out, Error *err)
{
    unsigned char id[TOKEN_ID_BYTES];
    AUTO_CLEAR(Token) token = { .kind = kind };
    crypto_begin();
    if (RAND_bytes(id, sizeof id) != 1 || RAND_priv_bytes(token.secret, sizeof token.secret) != 1) {
        return crypto_fail(err, ERROR_OS, "cannot generate a token");
    }
    base32_write(id, sizeof id, token.id);
    *out = token;
    return crypto_done();
}

bool token_id_check(Str id)
{
    unsigned char bytes[TOKEN_ID_BYTES];
    return base32_read(id, bytes, sizeof bytes);
}

static bool parse(TokenKind kind, Str text, Token *out)
{
    const struct TokenForm *form = &forms[kind];
    AUTO_CLEAR(Token) read = { .kind = kind };
    Str rest = str_from_offset(text, form->prefix.len), id = str_slice(rest, 0, TOKEN_ID_TEXT);
    if (!str_starts(text, form->prefix) || rest.len != TOKEN_JOIN_TEXT || !token_id_check(id) ||
        rest.data[TOKEN_ID_TEXT] != form->separator ||
        !base32_read(str_from_offset(rest, TOKEN_ID_TEXT + 1), read.secret, sizeof read.secret)) {
        return false;
    }
    memcpy(read.id, id.data, id.len);
    *out = read;
    return true;
}

bool token_parse(TokenKind kind, Str text, Token *out, Error *err)
{
    AUTO_CLEAR(Token) other = { 0 };
    if (parse(kind, text, out)) {
        return true;
    }
    if (kind == TOKEN_JOIN) {
        return str_starts(text, forms[TOKEN_API].prefix)
                   ? error_set(err, ERROR_INVALID,
                               "this is an API token; 'eden tokens create' without --role creates "
                               "a join token")
                   : error_set(err, ERROR_INVALID,
                               "a token has %d letters and digits, a dot and %d more; is it "
                               "complete?",
                               TOKEN_ID_TEXT, TOKEN_SECRET_TEXT);
    }
    return parse(TOKEN_JOIN, text, &other)
               ? error_set(err, ERROR_INVALID,
                           "this is a join token, for 'eden join'; create an API token with 'eden "
                           "tokens create --role ROLE' on a server")
               : error_set(err, ERROR_INVALID,
                           "a token has the form eden_ID_SECRET, with %d and %d letters and "
                           "digits; is it complete?",
                           TOKEN_ID_TEXT, TOKEN_SECRET_TEXT);
}

void token_text(const Token *token, char out[TOKEN_TEXT_MAX + 1])
{
    const struct TokenForm *form = &forms[token->kind];
    memcpy(out, form->prefix.data, form->prefix.len);
    out += form->prefix.len;
    memcpy(out, token->id, TOKEN_ID_TEXT);
    out[TOKEN_ID_TEXT] = form->separator;
    base32_write(token->secret, sizeof token->secret, out + TOKEN_ID_TEXT + 1);
}

void token_clear(Token *token)
{
    OPENSSL_cleanse(token, sizeof *token);
}

/* --- Hashes ---------------------------------------------------------------------------------- */

/* Hashes domain, id and bytes. Domains end with a NUL and ids have a fixed length, so the encoding
 * is unambiguous. Secrets are random, not chosen, so a slow hash is not needed. */
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
    hex_decode(digits, sizeof out->bytes, out->bytes);
    OPENSSL_cleanse(digits, sizeof digits);
}

static void hash_key(const char *id, const Ed25519Public *key, char out[TOKEN_HASH_TEXT + 1])
{
    hash(key_hash_domain, id, key->bytes, sizeof key->bytes, out);
}

bool token_hash(const Token *token, char out[TOKEN_HASH_TEXT + 1], Error *err)
{
    Ed25519Private private;
    Ed25519Public public;
    if (token->kind == TOKEN_API) {
        hash(api_hash_domain, token->id, token->secret, sizeof token->secret, out);
        return true;
    }
    token_key(token, &private);
    bool ok = ed25519_public(&private, &public, err);
    ed25519_forget(&private);
    if (ok) {
        hash_key(token->id, &public, out);
    }
    return ok;
}

bool token_hash_equal(const char *a, const char *b)
{
    return CRYPTO_memcmp(a, b, TOKEN_HASH_TEXT) == 0;
}

/* --- Records --------------------------------------------------------------------------------- */

bool token_record_make(const Token *token, const TokenTerms *terms, TokenRecord *out, Error *err)
{
    Str label = terms->label;
    bool is_counted = token->kind == TOKEN_JOIN;
    if (label.len > TOKEN_LABEL_MAX || !utf8_is_plain(label)) {
        return error_set(err, ERROR_INVALID,
                         "a label must be at most %d bytes long and contain no control characters",
                         TOKEN_LABEL_MAX);
    }
    if (terms->lifetime_ms < TOKEN_LIFETIME_MIN_MS || terms->lifetime_ms > TOKEN_LIFETIME_MAX_MS ||
        terms->now_ms < 0 || terms->now_ms > INT64_MAX - terms->lifetime_ms) {
        return error_set(err, ERROR_INVALID,
                         "the lifetime of a token must be between a minute and a year, such as "
                         "90m or 7d");
    }
    if (is_counted && (terms->uses == 0 || terms->uses > TOKEN_USES_MAX)) {
        return error_set(err, ERROR_INVALID, "a token can be used 1 to %d times", TOKEN_USES_MAX);
    }
    TokenRecord record = { .created_ms = terms->now_ms,
                           .expires_ms = terms->now_ms + terms->lifetime_ms,
                           .uses_max = is_counted ? terms->uses : 0 };
    memcpy(record.id, token->id, sizeof record.id);
    if (label.len > 0) {
        memcpy(record.label, label.data, label.len);
    }
    if (!token_hash(token, record.hash, err)) {
        return false;
    }
    *out = record;
    return true;
}

bool token_record_check_id(Str id, Error *err)
{
    return token_id_check(id) || error_set(err, ERROR_INVALID, "must be a token ID");
}

bool token_record_check_hash(Str hash, Error *err)
{
    return (hash.len == TOKEN_HASH_TEXT && hex_is_valid(hash)) ||
           error_set(err, ERROR_INVALID, "must be a SHA-256 digest");
}

bool token_record_check(const TokenRecord *record, Error *err)
{
    return record->expires_ms >= record->created_ms ||
           error_set(err, ERROR_INVALID, "'expires_ms': must not be earlier than 'created_ms'");
}

static bool check_join_record(const void *record, Error *err)
{
    const TokenRecord *token = record;
    return token_record_check(token, err) &&
           (token->uses <= token->uses_max ||
            error_set(err, ERROR_INVALID, "'uses': more than 'uses_max'"));
}

static const RecordField join_fields[] = {
    { "id", RECORD_TEXT, RECORD_CHARS_AT(TokenRecord, id), .is_required = true,
      .check_text = token_record_check_id, .help = "public part of the token" },
    { "hash", RECORD_TEXT, RECORD_CHARS_AT(TokenRecord, hash), .is_required = true,
      .check_text = token_record_check_hash, .help = "hash of its public key" },
    { "label", RECORD_TEXT, RECORD_CHARS_AT(TokenRecord, label), .is_required = true,
      .is_plain = true, .help = "what it is for" },
    { "created_ms", RECORD_INT, RECORD_INT_AT(TokenRecord, created_ms), .is_required = true,
      .max = INT64_MAX, .help = "when it was created" },
    { "expires_ms", RECORD_INT, RECORD_INT_AT(TokenRecord, expires_ms), .is_required = true,
      .max = INT64_MAX, .help = "when it expires" },
    { "uses_max", RECORD_INT, RECORD_INT_AT(TokenRecord, uses_max), .is_required = true, .min = 1,
      .max = TOKEN_USES_MAX, .help = "number of times it can be used" },
    { "uses", RECORD_INT, RECORD_INT_AT(TokenRecord, uses), .is_required = true,
      .help = "number of times it was used" },
    { RECORD_UNKNOWN_AT(TokenRecord, unknown) },
    { 0 },
};

static const RecordFormat join_format = {
    .format = "eden.token/1",
    .what = "the record of a token",
    .fields = join_fields,
    .size = sizeof(TokenRecord),
    .text_max = RECORD_MAX,
    .check = check_join_record,
};

void token_record_print(const TokenRecord *record, Buf *out)
{
    record_print(&join_format, record, out);
}

bool token_record_read(Arena *arena, Str text, TokenRecord *out, Error *err)
{
    return record_read(&join_format, arena, text, RECORD_STORED, out, err);
}

/* --- Validity -------------------------------------------------------------------------------- */

TokenVerdict token_state(const TokenRecord *record, int64_t now_ms)
{
    bool is_used_up = record->uses_max != 0 && record->uses >= record->uses_max;
    return now_ms >= record->expires_ms ? TOKEN_EXPIRED : is_used_up ? TOKEN_USED_UP : TOKEN_VALID;
}

TokenVerdict token_check(const TokenRecord *record, const Ed25519Public *key, int64_t now_ms)
{
    /* Takes the same time for an unknown id as for a known one. */
    static const TokenRecord no_token = { .id = "aaaaaaaa" };
    const TokenRecord *candidate = record == NULL ? &no_token : record;
    char digits[TOKEN_HASH_TEXT + 1];
    hash_key(candidate->id, key, digits);
    bool same = token_hash_equal(digits, candidate->hash);
    return record == NULL ? TOKEN_UNKNOWN : same ? token_state(record, now_ms) : TOKEN_WRONG;
}

const char *token_verdict_text(TokenVerdict verdict)
{
    switch (verdict) {
    case TOKEN_VALID: return "the token is valid";
    case TOKEN_UNKNOWN:
    case TOKEN_WRONG: return "invalid token: unknown or incomplete";
    case TOKEN_EXPIRED: return "the token has expired; create a new one with 'eden tokens create'";
    case TOKEN_USED_UP:
        return "the token has been used up; create a new one with 'eden tokens "
               "create'";
    }
    BUG("no text for verdict %d", (int)verdict);
}
