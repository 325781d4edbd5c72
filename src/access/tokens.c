/* Join tokens and API tokens: what differs between them. Storing, listing, expiring and revoking is
 * the same for all credentials (credential_records.h). */
#include "access/tokens.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cluster/cluster_keys.h"

enum {
    API_RECORD_MAX = 8 << 10, /* maximum size of the JSON */
};

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

const CredentialRecords join_token_records = {
    .singular = "token",
    .plural = "tokens",
    .max = JOIN_TOKENS_MAX,
    .size = sizeof(TokenRecord),
    .id = offsetof(TokenRecord, id),
    .expires_ms = offsetof(TokenRecord, expires_ms),
    .key = cluster_key_token,
    .key_prefix = cluster_key_token_all,
    .check = check_join_id,
    .read = read_join_record,
};

/* --- API tokens ------------------------------------------------------------------------------ */

static bool check_api_record(const void *record, Error *err)
{
    return token_record_check(&((const ApiTokenRecord *)record)->token, err);
}

/* Written once: additional fields of a newer server stay in the store. */
static const RecordField api_fields[] = {
    { "id", RECORD_TEXT, RECORD_CHARS_AT(ApiTokenRecord, token.id), .is_required = true,
      .check_text = token_record_check_id, .help = "public part of the token" },
    { "hash", RECORD_TEXT, RECORD_CHARS_AT(ApiTokenRecord, token.hash), .is_required = true,
      .check_text = token_record_check_hash, .is_secret = true, .help = "hash of its secret" },
    { "name", RECORD_TEXT, RECORD_CHARS_AT(ApiTokenRecord, token.label), .is_required = true,
      .is_plain = true, .help = "description" },
    { "roles", RECORD_TEXT, RECORD_CODED_AT(ApiTokenRecord, roles, RoleNames, role_names_codec),
      .shape = RECORD_LIST, .is_required = true, .help = "roles that it grants" },
    { "made_by", RECORD_TEXT, RECORD_CHARS_AT(ApiTokenRecord, created_by), .is_required = true,
      .is_plain = true, .help = "who created it" },
    { "created_ms", RECORD_INT, RECORD_INT_AT(ApiTokenRecord, token.created_ms),
      .is_required = true, .max = INT64_MAX, .help = "when it was created" },
    { "expires_ms", RECORD_INT, RECORD_INT_AT(ApiTokenRecord, token.expires_ms),
      .is_required = true, .max = INT64_MAX, .help = "when it expires" },
    { 0 },
};

static const RecordFormat api_format = {
    .format = "eden.access-token/1",
    .what = "the record of an API token",
    .fields = api_fields,
    .size = sizeof(ApiTokenRecord),
    .text_max = API_RECORD_MAX,
    .check = check_api_record,
};

void api_token_record_print(const ApiTokenRecord *record, Buf *out)
{
    record_print(&api_format, record, out);
}

bool api_token_record_read(Arena *arena, Str text, ApiTokenRecord *out, Error *err)
{
    return record_read(&api_format, arena, text, RECORD_STORED, out, err);
}

static bool check_api_id(Str id, Error *err)
{
    return token_id_check(id) ||
           error_set(err, ERROR_INVALID,
                     "a token ID has %d letters and digits, as shown by 'eden tokens list'",
                     TOKEN_ID_TEXT);
}

static bool read_api_record(Arena *arena, Str text, void *out, Error *err)
{
    return api_token_record_read(arena, text, out, err);
}

const CredentialRecords api_token_records = {
    .singular = "token",
    .plural = "tokens",
    .max = API_TOKENS_MAX,
    .size = sizeof(ApiTokenRecord),
    .id = offsetof(ApiTokenRecord, token.id),
    .expires_ms = offsetof(ApiTokenRecord, token.expires_ms),
    .key = cluster_key_access_token,
    .key_prefix = cluster_key_access_token_all,
    .check = check_api_id,
    .read = read_api_record,
    .grants = cluster_key_access_token_grants,
};

/* --- Creation -------------------------------------------------------------------------------- */

typedef struct TokenCreation {
    Token token;
    ApiTokenRecord record; /* for a join token, only the first part is used */
    TokenCreated *done;
    void *context;
} TokenCreation;

_Static_assert(offsetof(ApiTokenRecord, token) == 0, "the record of either kind");

static void creation_end(void *context, int64_t revision, const Error *err)
{
    TokenCreation *creation = context;
    bool ok = err == NULL;
    CredentialEntry entry = { .id = str_from_c(creation->token.id),
                              .revision = revision,
                              .record = &creation->record };
    creation->done(creation->context, ok ? &creation->token : NULL, ok ? &entry : NULL, err);
    token_clear(&creation->token);
    free(creation);
}

static bool fill_record(TokenCreation *creation, const TokenRequest *request, int64_t now_ms,
                        Error *err)
{
    ApiTokenRecord *record = &creation->record;
    const TokenTerms terms = { .label = request->label,
                               .now_ms = now_ms,
                               .lifetime_ms = request->lifetime_ms,
                               .uses = request->uses };
    if (!token_make(request->kind, &creation->token, err) ||
        !token_record_make(&creation->token, &terms, &record->token, err)) {
        return false;
    }
    snprintf(record->created_by, sizeof record->created_by, "%" STR_FMT,
             STR_ARG(request->created_by));
    return request->kind == TOKEN_JOIN ||
           role_names_make(request->roles, request->role_count, &record->roles, err);
}

void tokens_create(const ClusterStore *cluster_store, const TokenRequest *request,
                   TokenCreated *done, void *context)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    TokenCreation *creation = memory_new(sizeof *creation);
    bool is_join = request->kind == TOKEN_JOIN;
    Error err;
    creation->done = done;
    creation->context = context;
    if (!fill_record(creation, request, loop_wall_ms(cluster_store->loop), &err)) {
        creation_end(creation, 0, &err);
        return;
    }
    if (is_join) {
        token_record_print(&creation->record.token, &text);
    } else {
        api_token_record_print(&creation->record, &text);
    }
    credential_records_add(cluster_store, is_join ? &join_token_records : &api_token_records,
                           &(NewCredential){ .id = str_from_c(creation->token.id),
                                             .text = buf_str(&text),
                                             .roles = is_join ? NULL : &creation->record.roles },
                           creation_end, creation);
}
