/* The API tokens. Loop thread. Listed and revoked with
 * access/credential_records.h; sessions created from a token end with it. */
#pragma once

#include "access/access_token.h"
#include "access/credential_records.h"

enum {
    ACCESS_TOKENS_MAX = 100000,
};

extern const CredentialRecords access_token_records; /* of AccessTokenRecord */

typedef struct AccessTokenWish {
    Str name;         /* of AccessTokenRecord */
    const Str *roles; /* the caller has asked credentials_may_grant() */
    uint32_t role_count;
    int64_t life_ms;
    Str made_by; /* Principal.who */
} AccessTokenWish;

/* `token` holds the secret, which is nowhere else and not to be had again. */
typedef void AccessTokenMade(void *context, const AccessToken *token, const CredentialEntry *entry,
                             const Error *err);
/* As credential_records_add; the wish is borrowed for the call. ERROR_INVALID when it makes no
 * sense. */
void access_tokens_create(const ClusterStore *at, const AccessTokenWish *wish,
                          AccessTokenMade *done, void *context);
