/* Any bytes as a token, and as base32 of some length. What is taken is written as it was read; what is
 * refused is not repeated in the error. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = str_from((const char *)data, size);
    Token token;
    Error err = { 0 };
    read_base32(text);
    if (!token_parse(text, &token, &err)) {
        BUG_IF(err.kind != ERROR_INVALID);
        BUG_IF(size > 12 && memmem(err.text, strlen(err.text), data, size) != NULL);
        return 0;
    }
    char again[TOKEN_TEXT + 1];
    token_text(&token, again);
    BUG_IF(!str_eq_c(text, again));
    BUG_IF(!token_id_check(str_from_c(token.id)));
    TokenRecord record;
    Ed25519Private private;
    Ed25519Public public;
    BUG_IF(!token_record_make(&token, STR("x"), 0, 60000, 1, &record, &err));
    token_key(&token, &private);
    BUG_IF(!ed25519_public(&private, &public, &err));
    BUG_IF(token_check(&record, &public, 0) != TOKEN_GOOD);
    public.bytes[0] ^= 1;
    BUG_IF(token_check(&record, &public, 0) != TOKEN_WRONG);
    return 0;
}
