#include "cli/credential_hint.h"

#include "pki/certificate.h"
#include "pki/token.h"

Str credential_token_id(Arena *arena, const Context *context)
{
    AUTO_CLEAR(Token) token = { 0 };
    Error err;
    return token_parse(TOKEN_API, context->token, &token, &err)
               ? arena_copy(arena, str_from_c(token.id))
               : STR_EMPTY;
}

Str credential_serial(Arena *arena, const Context *context)
{
    Certificate *items;
    uint32_t count;
    Error err;
    return certificates_from_pem(arena, context->certificate, &items, &count, &err)
               ? arena_copy(arena, str_from_c(items[0].serial))
               : STR_EMPTY;
}

Str credential_revoke_hint(Arena *arena, const Context *was)
{
    Str id = credential_token_id(arena, was), serial = credential_serial(arena, was);
    Str until = was->expires.len > 0 ? arena_format(arena, "until %" STR_FMT, STR_ARG(was->expires))
                                     : STR("until it expires");
    if (serial.len > 0) {
        return arena_format(
            arena,
            "the previous certificate stays valid %" STR_FMT
            " for anyone who has its key; revoke it on a server with 'eden pki revoke "
            "%" STR_FMT "'",
            STR_ARG(until), STR_ARG(serial));
    }
    return id.len == 0 ? STR_EMPTY
                       : arena_format(arena,
                                      "the previous token stays valid %" STR_FMT
                                      " for anyone who has it; revoke it on a server with 'eden "
                                      "tokens revoke %" STR_FMT "'",
                                      STR_ARG(until), STR_ARG(id));
}
