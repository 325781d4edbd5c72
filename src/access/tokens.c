#include "access/tokens.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cluster/cluster_keys.h"

/* --- Records --------------------------------------------------------------------------------- */

static bool check(Str id, Error *err)
{
    return token_id_check(id) ||
           error_set(err, ERROR_INVALID,
                     "a token ID has %d letters and digits: the part before the dot",
                     TOKEN_ID_TEXT);
}

static bool read_record(Arena *arena, Str text, void *out, Error *err)
{
    return token_record_read(arena, text, out, err);
}

const CredentialRecords token_records = {
    .one = "token",
    .many = "tokens",
    .max = TOKENS_MAX,
    .size = sizeof(TokenRecord),
    .id = offsetof(TokenRecord, id),
    .expires_ms = offsetof(TokenRecord, expires_ms),
    .key = cluster_key_token,
    .all = cluster_key_token_all,
    .check = check,
    .read = read_record,
};

TokenVerdict token_standing(const TokenRecord *record, int64_t now_ms)
{
    if (now_ms >= record->expires_ms) {
        return TOKEN_EXPIRED;
    }
    return record->uses >= record->uses_max ? TOKEN_USED_UP : TOKEN_GOOD;
}

/* --- Making ---------------------------------------------------------------------------------- */

typedef struct Making {
    Token token;
    TokenRecord record;
    TokenMade *done;
    void *context;
} Making;

static void making_end(void *context, int64_t revision, const Error *err)
{
    Making *making = context;
    bool ok = err == NULL;
    CredentialEntry entry = { .id = str_from_c(making->record.id),
                              .revision = revision,
                              .record = &making->record };
    making->done(making->context, ok ? &making->token : NULL, ok ? &entry : NULL, err);
    token_clear(&making->token);
    free(making);
}

void tokens_create(const ClusterStore *at, const TokenWish *wish, TokenMade *done, void *context)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Making *making = memory_new(sizeof *making);
    Error err;
    making->done = done;
    making->context = context;
    if (!token_make(&making->token, &err) ||
        !token_record_make(&making->token, wish->label, loop_wall_ms(at->loop), wish->life_ms,
                           wish->uses, &making->record, &err)) {
        making_end(making, 0, &err);
        return;
    }
    token_record_print(&making->record, &text);
    credential_records_add(
        at, &token_records,
        &(CredentialDraft){ .id = str_from_c(making->token.id), .text = buf_str(&text) },
        making_end, making);
}
