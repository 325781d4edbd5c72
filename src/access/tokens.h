/* The join tokens. Loop thread. Listed and revoked with access/credential_records.h. */
#pragma once

#include "access/credential_records.h"
#include "pki/token.h"

enum {
    TOKENS_MAX = 10000
};

extern const CredentialRecords token_records; /* of TokenRecord */

typedef struct TokenWish {
    Str label;
    int64_t life_ms;
    uint32_t uses;
} TokenWish;

/* `token` holds the secret, which is nowhere else and not to be had again. */
typedef void TokenMade(void *context, const Token *token, const CredentialEntry *entry,
                       const Error *err);
/* As credential_records_add; the wish is borrowed for the call. ERROR_INVALID when it makes no
 * sense. */
void tokens_create(const ClusterStore *at, const TokenWish *wish, TokenMade *done, void *context);

/* What it is worth to who has its secret. */
TokenVerdict token_standing(const TokenRecord *record, int64_t now_ms);
