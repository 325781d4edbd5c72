/* Tokens in the store (pki/token.h): join tokens, which admit machines, and API tokens, which
 * authenticate their holder; sessions created from an API token end with it. Loop thread only.
 * Listed and revoked with access/credential_records.h. */
#pragma once

#include "access/credential_records.h"
#include "access/role_names.h"
#include "pki/token.h"

enum {
    JOIN_TOKENS_MAX = 10000,
    API_TOKENS_MAX = 100000,
};

/* The record of an API token, "eden.access-token/1". */
typedef struct ApiTokenRecord {
    TokenRecord token;
    RoleNames roles;
    char created_by[200 + 1]; /* Principal.who */
} ApiTokenRecord;

void api_token_record_print(const ApiTokenRecord *record, Buf *out);
MUST_CHECK bool api_token_record_read(Arena *arena, Str text, ApiTokenRecord *out, Error *err);

extern const CredentialRecords join_token_records; /* of TokenRecord */
extern const CredentialRecords api_token_records;  /* of ApiTokenRecord */

typedef struct TokenRequest {
    TokenKind kind;
    Str label;
    int64_t lifetime_ms;
    uint32_t uses; /* for a join token */
    /* For an API token; the caller must have called credentials_may_grant(). */
    const Str *roles;
    uint32_t role_count;
    Str created_by; /* Principal.who */
} TokenRequest;

/* `token` contains the secret, which is not stored and cannot be retrieved later. The record of the
 * entry is a TokenRecord or an ApiTokenRecord. */
typedef void TokenCreated(void *context, const Token *token, const CredentialEntry *entry,
                          const Error *err);
/* See credential_records_add. The request is only used during the call. ERROR_INVALID if it is
 * invalid. */
void tokens_create(const ClusterStore *cluster_store, const TokenRequest *request,
                   TokenCreated *done, void *context);
