/* Join tokens and API tokens: what differs between them. Storing, listing, expiring and revoking is
 * the same for both (credential_records.h). */
#include "access/tokens.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cluster/cluster_keys.h"

/* --- Join tokens ----------------------------------------------------------------------------- */

static bool check_join_id(Str id, Error *err)
{
    return token_id_check(id) ||
           error_set(err, ERROR_INVALID,
                     "a token ID has %d letters and digits: the part before the dot",
                     TOKEN_ID_TEXT);
}

static bool read_join_record(Arena *arena, Str text, void *out, Error *err)
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
    .check = check_join_id,
    .read = read_join_record,
};

TokenVerdict token_check_record(const TokenRecord *record, int64_t now_ms)
{
    if (now_ms >= record->expires_ms) {
        return TOKEN_EXPIRED;
    }
    return record->uses >= record->uses_max ? TOKEN_USED_UP : TOKEN_GOOD;
}

/* --- Creation -------------------------------------------------------------------------------- */

typedef struct JoinTokenCreation {
    Token token;
    TokenRecord record;
    TokenCreated *done;
    void *context;
} JoinTokenCreation;

static void join_creation_end(void *context, int64_t revision, const Error *err)
{
    JoinTokenCreation *creation = context;
    bool ok = err == NULL;
    CredentialEntry entry = { .id = str_from_c(creation->record.id),
                              .revision = revision,
                              .record = &creation->record };
    creation->done(creation->context, ok ? &creation->token : NULL, ok ? &entry : NULL, err);
    token_clear(&creation->token);
    free(creation);
}

void tokens_create(const ClusterStore *at, const TokenRequest *request, TokenCreated *done,
                   void *context)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    JoinTokenCreation *creation = memory_new(sizeof *creation);
    Error err;
    creation->done = done;
    creation->context = context;
    if (!token_make(&creation->token, &err) ||
        !token_record_make(&creation->token, request->label, loop_wall_ms(at->loop),
                           request->life_ms, request->uses, &creation->record, &err)) {
        join_creation_end(creation, 0, &err);
        return;
    }
    token_record_print(&creation->record, &text);
    credential_records_add(
        at, &token_records,
        &(CredentialDraft){ .id = str_from_c(creation->token.id), .text = buf_str(&text) },
        join_creation_end, creation);
}

/* --- API tokens ------------------------------------------------------------------------------ */

static bool check_api_id(Str id, Error *err)
{
    return access_token_id_check(id) ||
           error_set(err, ERROR_INVALID,
                     "a token ID has %d letters and digits, as shown by 'eden tokens list'",
                     ACCESS_TOKEN_ID_TEXT);
}

static bool read_api_record(Arena *arena, Str text, void *out, Error *err)
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
    .check = check_api_id,
    .read = read_api_record,
    .grants = cluster_key_access_token_grants,
};

/* --- Creation -------------------------------------------------------------------------------- */

typedef struct ApiTokenCreation {
    AccessToken token;
    AccessTokenRecord record;
    AccessTokenCreated *done;
    void *context;
} ApiTokenCreation;

static void api_creation_end(void *context, int64_t revision, const Error *err)
{
    ApiTokenCreation *creation = context;
    bool ok = err == NULL;
    CredentialEntry entry = { .id = str_from_c(creation->record.id),
                              .revision = revision,
                              .record = &creation->record };
    creation->done(creation->context, ok ? &creation->token : NULL, ok ? &entry : NULL, err);
    access_token_clear(&creation->token);
    free(creation);
}

static bool fill_record(const AccessTokenRequest *request, int64_t now_ms,
                        ApiTokenCreation *creation, Error *err)
{
    AccessTokenRecord *record = &creation->record;
    if (!access_token_name_check(request->name, err) ||
        !role_names_make(request->roles, request->role_count, &record->roles, err)) {
        return false;
    }
    if (request->life_ms < ACCESS_TOKEN_LIFE_MIN_MS ||
        request->life_ms > ACCESS_TOKEN_LIFE_MAX_MS) {
        return error_set(err, ERROR_INVALID,
                         "the lifetime of a token must be a minute to a year, such as 90m or 7d");
    }
    if (!access_token_generate(&creation->token, err)) {
        return false;
    }
    memcpy(record->id, creation->token.id, sizeof record->id);
    access_token_hash(&creation->token, record->hash);
    memcpy(record->name, request->name.data, request->name.len);
    snprintf(record->made_by, sizeof record->made_by, "%" STR_FMT, STR_ARG(request->made_by));
    record->created_ms = now_ms;
    record->expires_ms = now_ms + request->life_ms;
    return true;
}

void access_tokens_create(const ClusterStore *at, const AccessTokenRequest *request,
                          AccessTokenCreated *done, void *context)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    ApiTokenCreation *creation = memory_new(sizeof *creation);
    Error err;
    creation->done = done;
    creation->context = context;
    if (!fill_record(request, loop_wall_ms(at->loop), creation, &err)) {
        api_creation_end(creation, 0, &err);
        return;
    }
    access_token_record_print(&creation->record, &text);
    credential_records_add(at, &access_token_records,
                           &(CredentialDraft){ .id = str_from_c(creation->token.id),
                                               .text = buf_str(&text),
                                               .roles = &creation->record.roles },
                           api_creation_end, creation);
}
