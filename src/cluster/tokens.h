/* The tokens of the cluster: made, listed, taken back. Loop thread.
 *
 * Each function calls `done` exactly once, in a later turn or within, also when the store closes.
 * What it is given is borrowed for that call. Failures beside those named are the store's. */
#pragma once

#include "cluster/cluster_store.h"
#include "pki/token.h"

enum {
    TOKENS_MAX = 10000 /* in the store, expired ones included */
};

typedef struct TokenWish {
    Str label;
    int64_t life_ms;
    uint32_t uses;
} TokenWish;

/* `token` holds the secret, which is nowhere else and not to be had again. */
typedef void TokenMade(void *context, const Token *token, const TokenRecord *record,
                       const Error *err);
/* ERROR_INVALID for a wish that makes no sense, ERROR_LIMIT when there are too many. */
void tokens_create(const ClusterStore *at, const TokenWish *wish, TokenMade *done, void *context);

/* `revisions`: of the last change of each. */
typedef void TokensListed(void *context, const TokenRecord *records, const int64_t *revisions,
                          uint32_t count, const Error *err);
/* In the order of their ids. */
void tokens_list(const ClusterStore *at, TokensListed *done, void *context);

/* From then on nobody can join with it; those who did stay. ERROR_NOT_FOUND; ERROR_INVALID for what
 * is no id. */
void tokens_revoke(const ClusterStore *at, Str id, ClusterDone *done, void *context);

/* What it is worth to who has its secret. */
TokenVerdict token_standing(const TokenRecord *record, int64_t now_ms);
