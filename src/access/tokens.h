/* Tokens in the store: join tokens, which admit machines, and API tokens, which authenticate their
 * holder; sessions created from an API token end with it. Loop thread only. Listed and revoked with
 * access/credential_records.h. */
#pragma once

#include "access/access_token.h"
#include "access/credential_records.h"
#include "pki/token.h"

/* --- Join tokens ----------------------------------------------------------------------------- */

enum {
    TOKENS_MAX = 10000
};

extern const CredentialRecords token_records; /* of TokenRecord */

typedef struct TokenRequest {
    Str label;
    int64_t life_ms;
    uint32_t uses;
} TokenRequest;

/* `token` contains the secret, which is not stored and cannot be retrieved later. */
typedef void TokenCreated(void *context, const Token *token, const CredentialEntry *entry,
                          const Error *err);
/* See credential_records_add. The request is only used during the call. ERROR_INVALID if it is
 * invalid. */
void tokens_create(const ClusterStore *at, const TokenRequest *request, TokenCreated *done,
                   void *context);

/* The verdict for a machine that has its secret. */
TokenVerdict token_check_record(const TokenRecord *record, int64_t now_ms);

/* --- API tokens ------------------------------------------------------------------------------ */

enum {
    ACCESS_TOKENS_MAX = 100000,
};

extern const CredentialRecords access_token_records; /* of AccessTokenRecord */

typedef struct AccessTokenRequest {
    Str name;         /* of AccessTokenRecord */
    const Str *roles; /* the caller has called credentials_may_grant() */
    uint32_t role_count;
    int64_t life_ms;
    Str made_by; /* Principal.who */
} AccessTokenRequest;

/* `token` contains the secret, which is not stored and cannot be retrieved later. */
typedef void AccessTokenCreated(void *context, const AccessToken *token,
                                const CredentialEntry *entry, const Error *err);
/* See credential_records_add. The request is only used during the call. ERROR_INVALID if it is
 * invalid. */
void access_tokens_create(const ClusterStore *at, const AccessTokenRequest *request,
                          AccessTokenCreated *done, void *context);
