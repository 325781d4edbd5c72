/* The tokens of the API: made, listed, taken back. Loop thread.
 *
 * Each function calls `done` exactly once, in a later turn or within, also when the store closes.
 * What it is given is borrowed for that call. Failures beside those named are the store's. */
#pragma once

#include "cluster/access_token.h"
#include "cluster/cluster_store.h"

enum {
    ACCESS_TOKENS_MAX = 100000, /* in the store, expired ones included */
    ACCESS_TOKENS_PAGE_MAX = 1000,
};

typedef struct AccessTokenWish {
    Str name;
    const Str *roles; /* the caller has asked credentials_may_grant() */
    uint32_t role_count;
    int64_t life_ms;
    Str made_by; /* Principal.who */
} AccessTokenWish;

/* `token` holds the secret, which is nowhere else and not to be had again. */
typedef void AccessTokenMade(void *context, const AccessToken *token,
                             const AccessTokenRecord *record, const Error *err);
/* ERROR_INVALID for a wish that makes no sense, ERROR_LIMIT when there are too many. */
void access_tokens_create(const ClusterStore *at, const AccessTokenWish *wish,
                          AccessTokenMade *done, void *context);

typedef struct AccessTokensListed {
    const AccessTokenRecord *records; /* those that can be read */
    const int64_t *revisions;         /* of the last change of each */
    uint32_t count;
    uint32_t unreadable; /* so many more are there */
    Str next;            /* the id where the next page begins behind; empty: that was all */
    int64_t revision;    /* of the store */
} AccessTokensListed;
typedef void AccessTokensDone(void *context, const AccessTokensListed *listed, const Error *err);
/* In the order of their ids, behind `after`; `limit` from 1 to ACCESS_TOKENS_PAGE_MAX. */
void access_tokens_list(const ClusterStore *at, Str after, uint32_t limit, AccessTokensDone *done,
                        void *context);
/* A list of one. ERROR_NOT_FOUND; ERROR_INVALID when its record cannot be read. */
void access_tokens_get(const ClusterStore *at, Str id, AccessTokensDone *done, void *context);

/* From then on it opens nothing, nor do sessions that were made from it. ERROR_NOT_FOUND;
 * ERROR_INVALID for what is no id. */
void access_tokens_revoke(const ClusterStore *at, Str id, ClusterDone *done, void *context);
