#include "cluster/access_tokens.h"

#include <stdio.h>
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
    AccessToken token;
    AccessTokenRecord record;
    AccessTokenMade *done;
    void *context;
} Making;

static void making_end(Making *making, const Error *err)
{
    bool ok = err == NULL;
    making->done(making->context, ok ? &making->token : NULL, ok ? &making->record : NULL, err);
    access_token_clear(&making->token);
    free(making);
}

static bool making_decide(void *context, Change *change, Error *err)
{
    const Making *making = context;
    if (change_has(change, 0)) {
        return error_set(err, ERROR_CONFLICT, "another token has drawn the same id; try again");
    }
    if (change_count(change) >= ACCESS_TOKENS_MAX) {
        return error_set(err, ERROR_LIMIT, "there are %d tokens already; revoke some",
                         ACCESS_TOKENS_MAX);
    }
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    access_token_record_print(&making->record, &text);
    change_put(change, change_key(change, 0), buf_str(&text), 0);
    return true;
}

static void making_done(void *context, Change *change, const Error *err)
{
    making_end(context, err);
}

static bool fill_record(const AccessTokenWish *wish, int64_t now_ms, Making *making, Error *err)
{
    AccessTokenRecord *record = &making->record;
    if (!access_token_name_check(wish->name, err) ||
        !role_names_make(wish->roles, wish->role_count, &record->roles, err)) {
        return false;
    }
    if (wish->life_ms < ACCESS_TOKEN_LIFE_MIN_MS || wish->life_ms > ACCESS_TOKEN_LIFE_MAX_MS) {
        return error_set(err, ERROR_INVALID, "a token lives a minute to a year, as 90m or 7d");
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
    AUTO_CLEAR(Arena) arena;
    Making *making = make(sizeof *making);
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    making->done = done;
    making->context = context;
    if (!fill_record(wish, loop_wall_ms(at->loop), making, &err)) {
        making_end(making, &err);
        return;
    }
    Change *change;
    Str key = cluster_key_access_token(&arena, at->prefix, str_from_c(making->token.id));
    change_start(&(ChangeSpec){ .store = at->store,
                                .keys = &key,
                                .key_count = 1,
                                .counted = cluster_key_access_token_all(&arena, at->prefix),
                                .decide = making_decide,
                                .done = making_done,
                                .context = making },
                 &change);
}

/* --- Listing --------------------------------------------------------------------------------- */

typedef struct Listing {
    char id[ACCESS_TOKEN_ID_TEXT + 1]; /* the only one; empty: a page */
    AccessTokensDone *done;
    void *context;
} Listing;

static void listing_end(Listing *listing, const AccessTokensListed *listed, const Error *err)
{
    listing->done(listing->context, listed, err);
    free(listing);
}

/* A record under another's name is nobody's. */
static bool read_record(Arena *arena, const StoreKv *kv, AccessTokenRecord *out)
{
    Error err;
    return access_token_record_read(arena, kv->value, out, &err) &&
           str_ends(kv->key, str_from_c(out->id));
}

static void listed(void *context, const StoreReply *reply, const Error *err)
{
    Listing *listing = context;
    AUTO_CLEAR(Arena) arena;
    Error missing;
    arena_init(&arena, ARENA_UNLIMITED);
    if (err == NULL && listing->id[0] != '\0' && reply->ops[0].kv_count == 0) {
        error_set(&missing, ERROR_NOT_FOUND, "there is no token '%s'", listing->id);
        err = &missing;
    }
    if (err != NULL) {
        listing_end(listing, NULL, err);
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    AccessTokenRecord *records = ARENA_ARRAY(&arena, AccessTokenRecord, range->kv_count);
    int64_t *revisions = ARENA_ARRAY(&arena, int64_t, range->kv_count);
    AccessTokensListed found = { .records = records,
                                 .revisions = revisions,
                                 .revision = reply->revision };
    for (uint32_t i = 0; i < range->kv_count; i++) {
        if (read_record(&arena, &range->kvs[i], &records[found.count])) {
            revisions[found.count++] = range->kvs[i].mod_revision;
        } else {
            found.unreadable++;
        }
    }
    if (listing->id[0] != '\0' && found.count == 0) {
        error_set(&missing, ERROR_INVALID, "the record of the token '%s' cannot be read; revoke it",
                  listing->id);
        listing_end(listing, NULL, &missing);
        return;
    }
    if (range->more && range->kv_count > 0) {
        Str last = range->kvs[range->kv_count - 1].key;
        found.next = str_from_offset(last, str_find_last(last, STR("/")) + 1);
    }
    listing_end(listing, &found, NULL);
}

static void list(const ClusterStore *at, const StoreOp *op, Str id, AccessTokensDone *done,
                 void *context)
{
    Listing *listing = make(sizeof *listing);
    Error err;
    listing->done = done;
    listing->context = context;
    snprintf(listing->id, sizeof listing->id, "%" STR_FMT, STR_ARG(id));
    if (!store_op(at->store, op, listed, listing, &err)) {
        listing_end(listing, NULL, &err);
    }
}

void access_tokens_list(const ClusterStore *at, Str after, uint32_t limit, AccessTokensDone *done,
                        void *context)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (limit == 0 || limit > ACCESS_TOKENS_PAGE_MAX) {
        error_set(&err, ERROR_INVALID, "a page has 1 to %d tokens", ACCESS_TOKENS_PAGE_MAX);
        done(context, NULL, &err);
        return;
    }
    Str all = cluster_key_access_token_all(&arena, at->prefix);
    Str from = after.len == 0
                   ? all
                   : arena_join(&arena, cluster_key_access_token(&arena, at->prefix, after),
                                STR("\0"), STR_EMPTY);
    StoreOp op = {
        .kind = STORE_RANGE, .key = from, .end = store_prefix_end(&arena, all), .limit = limit
    };
    list(at, &op, STR_EMPTY, done, context);
}

static bool check_id(Str id, Error *err)
{
    return access_token_id_check(id) ||
           error_set(err, ERROR_INVALID,
                     "the id of a token is %d letters and digits: what stands behind 'eden_'",
                     ACCESS_TOKEN_ID_TEXT);
}

void access_tokens_get(const ClusterStore *at, Str id, AccessTokensDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!check_id(id, &err)) {
        done(context, NULL, &err);
        return;
    }
    StoreOp op = { .kind = STORE_RANGE, .key = cluster_key_access_token(&arena, at->prefix, id) };
    list(at, &op, id, done, context);
}

/* --- Taking back ----------------------------------------------------------------------------- */

typedef struct Revoking {
    char id[ACCESS_TOKEN_ID_TEXT + 1];
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

void access_tokens_revoke(const ClusterStore *at, Str id, ClusterDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!check_id(id, &err)) {
        done(context, &err);
        return;
    }
    Revoking *revoking = make(sizeof *revoking);
    memcpy(revoking->id, id.data, id.len);
    revoking->done = done;
    revoking->context = context;
    Change *change;
    Str key = cluster_key_access_token(&arena, at->prefix, id);
    change_start(&(ChangeSpec){ .store = at->store,
                                .keys = &key,
                                .key_count = 1,
                                .decide = revoking_decide,
                                .done = revoking_done,
                                .context = revoking },
                 &change);
}
