/* Input: a token of either kind, and base32 of some length. Invariants: an accepted token prints as
 * it was read; a rejected one is not repeated in the error. */
#include "base/bug.h"
#include "pki/base32.h"
#include "pki/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_base32(Str text)
{
    unsigned char bytes[64];
    char again[BASE32_TEXT(sizeof bytes) + 1];
    for (size_t count = 0; count <= sizeof bytes; count++) {
        if (base32_read(text, bytes, count)) {
            base32_write(bytes, count, again);
            BUG_IF(!str_eq_c(text, again));
        }
    }
}

static void read_token(TokenKind kind, Str text)
{
    const TokenTerms terms = { .label = STR("x"), .lifetime_ms = 60000, .uses = 1 };
    Token token;
    TokenRecord record;
    Ed25519Private private;
    Ed25519Public public;
    char again[TOKEN_TEXT_MAX + 1], hash[TOKEN_HASH_TEXT + 1];
    Error err = { 0 };
    if (!token_parse(kind, text, &token, &err)) {
        BUG_IF(err.kind != ERROR_INVALID);
        BUG_IF(text.len > 12 && memmem(err.text, strlen(err.text), text.data, text.len) != NULL);
        return;
    }
    token_text(&token, again);
    BUG_IF(!str_eq_c(text, again));
    BUG_IF(!token_id_check(str_from_c(token.id)));
    BUG_IF(!token_record_make(&token, &terms, &record, &err) || !token_hash(&token, hash, &err));
    BUG_IF(!token_hash_equal(record.hash, hash));
    BUG_IF(token_state(&record, 59999) != TOKEN_VALID ||
           token_state(&record, 60000) != TOKEN_EXPIRED);
    if (kind == TOKEN_JOIN) {
        token_key(&token, &private);
        BUG_IF(!ed25519_public(&private, &public, &err));
        BUG_IF(token_check(&record, &public, 0) != TOKEN_VALID);
        public.bytes[0] ^= 1;
        BUG_IF(token_check(&record, &public, 0) != TOKEN_WRONG);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = str_from((const char *)data, size);
    read_base32(text);
    read_token(TOKEN_JOIN, text);
    read_token(TOKEN_API, text);
    return 0;
}
