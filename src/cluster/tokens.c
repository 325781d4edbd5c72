#include "cluster/tokens.h"

#include <stdlib.h>

#include "base/bug.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"

static void *make(size_t size)
{
    void *made = calloc(1, size);
    if (made == NULL) {
        memory_exhausted(size);
    }
    return made;
}

/* --- Making ---------------------------------------------------------------------------------- */

typedef struct Making {
    Token token;
    TokenRecord record;
    TokenMade *done;
    void *context;
} Making;

static void making_end(Making *making, const Error *err)
{
    bool ok = err == NULL;
    making->done(making->context, ok ? &making->token : NULL, ok ? &making->record : NULL, err);
    token_clear(&making->token);
    free(making);
}

static bool making_decide(void *context, Change *change, Error *err)
{
    const Making *making = context;
    if (change_has(change, 0)) {
        return error_set(err, ERROR_CONFLICT, "another token has drawn the same id; try again");
    }
    if (change_count(change) >= TOKENS_MAX) {
        return error_set(err, ERROR_LIMIT, "there are %d tokens already; revoke some", TOKENS_MAX);
    }
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    token_record_print(&making->record, &text);
    change_put(change, change_key(change, 0), buf_str(&text), 0);
    return true;
}

static void making_done(void *context, Change *change, const Error *err)
{
    making_end(context, err);
}

void tokens_create(const ClusterStore *at, const TokenWish *wish, TokenMade *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Making *making = make(sizeof *making);
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    making->done = done;
    making->context = context;
    if (!token_make(&making->token, &err) ||
        !token_record_make(&making->token, wish->label, loop_wall_ms(at->loop), wish->life_ms,
                           wish->uses, &making->record, &err)) {
        making_end(making, &err);
        return;
    }
    Change *change;
    Str key = cluster_key_token(&arena, at->prefix, str_from_c(making->token.id));
    change_start(&(ChangeSpec){ .store = at->store,
                                .keys = &key,
                                .key_count = 1,
                                .counted = cluster_key_token_all(&arena, at->prefix),
                                .decide = making_decide,
                                .done = making_done,
                                .context = making },
                 &change);
}

/* --- Listing --------------------------------------------------------------------------------- */

typedef struct Listing {
    TokensListed *done;
    void *context;
} Listing;

static bool read_records(Arena *arena, const StoreOpReply *reply, TokenRecord *out,
                         int64_t *revisions, Error *err)
{
    for (uint32_t i = 0; i < reply->kv_count; i++) {
        if (!token_record_read(arena, reply->kvs[i].value, &out[i], err)) {
            return error_wrap(err, "%" STR_FMT, STR_ARG(reply->kvs[i].key));
        }
        revisions[i] = reply->kvs[i].mod_revision;
    }
    return true;
}

static void listed(void *context, const StoreReply *reply, const Error *err)
{
    Listing *listing = context;
    AUTO_CLEAR(Arena) arena;
    Error bad;
    arena_init(&arena, ARENA_UNLIMITED);
    TokenRecord *records = NULL;
    int64_t *revisions = NULL;
    if (err == NULL) {
        revisions = ARENA_ARRAY(&arena, int64_t, reply->ops[0].kv_count);
        records = ARENA_ARRAY(&arena, TokenRecord, reply->ops[0].kv_count);
        err = read_records(&arena, &reply->ops[0], records, revisions, &bad) ? NULL : &bad;
    }
    listing->done(listing->context, err == NULL ? records : NULL, err == NULL ? revisions : NULL,
                  err == NULL ? reply->ops[0].kv_count : 0, err);
    free(listing);
}

void tokens_list(const ClusterStore *at, TokensListed *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Listing *listing = make(sizeof *listing);
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    *listing = (Listing){ done, context };
    if (!store_list(at->store, cluster_key_token_all(&arena, at->prefix), listed, listing, &err)) {
        listed(listing, NULL, &err);
    }
}

/* --- Taking back ----------------------------------------------------------------------------- */

typedef struct Revoking {
    char id[TOKEN_ID_TEXT + 1];
    ClusterDone *done;
    void *context;
} Revoking;

/* The record is not looked at, so that a damaged one can go too. */
static bool revoking_decide(void *context, Change *change, Error *err)
{
    const Revoking *revoking = context;
    if (!change_has(change, 0)) {
        return error_set(err, ERROR_NOT_FOUND, "there is no token '%s'", revoking->id);
    }
    change_delete(change, change_key(change, 0));
    return true;
}

static void revoking_done(void *context, Change *change, const Error *err)
{
    Revoking *revoking = context;
    revoking->done(revoking->context, err);
    free(revoking);
}

void tokens_revoke(const ClusterStore *at, Str id, ClusterDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!token_id_check(id)) {
        error_set(&err, ERROR_INVALID,
                  "the id of a token is %d letters and digits: what stands before its dot",
                  TOKEN_ID_TEXT);
        done(context, &err);
        return;
    }
    Revoking *revoking = make(sizeof *revoking);
    memcpy(revoking->id, id.data, TOKEN_ID_TEXT);
    revoking->done = done;
    revoking->context = context;
    Change *change;
    Str key = cluster_key_token(&arena, at->prefix, id);
    change_start(&(ChangeSpec){ .store = at->store,
                                .keys = &key,
                                .key_count = 1,
                                .decide = revoking_decide,
                                .done = revoking_done,
                                .context = revoking },
                 &change);
}

TokenVerdict token_standing(const TokenRecord *record, int64_t now_ms)
{
    if (now_ms >= record->expires_ms) {
        return TOKEN_EXPIRED;
    }
    return record->uses >= record->uses_max ? TOKEN_USED_UP : TOKEN_GOOD;
}
