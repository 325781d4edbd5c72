#include "access/access_tokens.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cluster/cluster_keys.h"

/* --- Records --------------------------------------------------------------------------------- */

static bool check(Str id, Error *err)
{
    return access_token_id_check(id) ||
           error_set(err, ERROR_INVALID,
                     "a token ID has %d letters and digits, as shown by 'eden tokens list'",
                     ACCESS_TOKEN_ID_TEXT);
}

static bool read_record(Arena *arena, Str text, void *out, Error *err)
{
    return access_token_record_read(arena, text, out, err);
}

const CredentialRecords access_token_records = {
    .one = "token",
    .many = "tokens",
    .max = ACCESS_TOKENS_MAX,
    .size = sizeof(AccessTokenRecord),
    .id = offsetof(AccessTokenRecord, id),
    .expires_ms = offsetof(AccessTokenRecord, expires_ms),
    .key = cluster_key_access_token,
    .all = cluster_key_access_token_all,
    .check = check,
    .read = read_record,
    .grants = cluster_key_access_token_grants,
};

/* --- Making ---------------------------------------------------------------------------------- */

typedef struct Making {
    AccessToken token;
    AccessTokenRecord record;
    AccessTokenMade *done;
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
    access_token_clear(&making->token);
    free(making);
}

static bool fill_record(const AccessTokenWish *wish, int64_t now_ms, Making *making, Error *err)
{
    AccessTokenRecord *record = &making->record;
    if (!access_token_name_check(wish->name, err) ||
        !role_names_make(wish->roles, wish->role_count, &record->roles, err)) {
        return false;
    }
    if (wish->life_ms < ACCESS_TOKEN_LIFE_MIN_MS || wish->life_ms > ACCESS_TOKEN_LIFE_MAX_MS) {
        return error_set(err, ERROR_INVALID,
                         "the lifetime of a token must be a minute to a year, such as 90m or 7d");
    }
    if (!access_token_make(&making->token, err)) {
        return false;
    }
    memcpy(record->id, making->token.id, sizeof record->id);
    access_token_hash(&making->token, record->hash);
    memcpy(record->name, wish->name.data, wish->name.len);
    snprintf(record->made_by, sizeof record->made_by, "%" STR_FMT, STR_ARG(wish->made_by));
    record->created_ms = now_ms;
    record->expires_ms = now_ms + wish->life_ms;
    return true;
}

void access_tokens_create(const ClusterStore *at, const AccessTokenWish *wish,
                          AccessTokenMade *done, void *context)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Making *making = memory_new(sizeof *making);
    Error err;
    making->done = done;
    making->context = context;
    if (!fill_record(wish, loop_wall_ms(at->loop), making, &err)) {
        making_end(making, 0, &err);
        return;
    }
    access_token_record_print(&making->record, &text);
    credential_records_add(at, &access_token_records,
                           &(CredentialDraft){ .id = str_from_c(making->token.id),
                                               .text = buf_str(&text),
                                               .roles = &making->record.roles },
                           making_end, making);
}
