/* Changes a few keys of the store depending on their values: read, decide, write in one
 * transaction, and repeat if another writer was faster. Loop thread only. */
#pragma once

#include "cluster/cluster_store.h"

typedef struct Change Change;

enum {
    CHANGE_KEYS_MAX = 20, /* maximum number of keys read */
    CHANGE_OPS_MAX = 16,  /* maximum number of operations */
    CHANGE_COUNTS_MAX = 2
};

typedef struct ChangeSpec {
    ClusterStore cluster_store; /* copied, except for its prefix, which is not used */
    const Str *keys;            /* to read first; copied */
    uint32_t key_count;
    /* The keys with each of these prefixes are counted; empty: none. */
    Str counted[CHANGE_COUNTS_MAX];
    /* Puts and deletes depending on what was read. May be called again, as if for the first time.
     * If it returns false, nothing is written, and `done` receives the error. */
    bool (*decide)(void *context, Change *change, Error *err);
    /* Called once. `err` is NULL if everything is written and the state has seen it, or if there
     * was nothing to write. ERROR_UNKNOWN: it may have been written. The change is freed
     * afterwards. */
    void (*done)(void *context, Change *change, const Error *err);
    void *context;
    bool urgent; /* see StoreTxn */
    /* For controllers: leader_fence(), copied. If it does not hold, nothing is written, and `done`
     * receives ERROR_CONFLICT: this server no longer leads. NULL: no fence. */
    const StoreCompare *fence;
} ChangeSpec;

/* `done` is called later, or during this call if the store accepts no calls. */
void change_start(const ChangeSpec *spec, Change **out);
/* No more callbacks follow. Writes that were already submitted still happen. NULL is allowed. May
 * be called from `done`. */
void change_abandon(Change *change);

/* --- Within decide() ------------------------------------------------------------------------- */

Arena *change_arena(Change *change); /* valid until `done` has returned */
bool change_has(const Change *change, uint32_t key);
Str change_value(const Change *change, uint32_t key);        /* empty if the key does not exist */
int64_t change_revision(const Change *change, uint32_t key); /* 0 if the key does not exist */
Str change_key(const Change *change, uint32_t key);
/* count of a prefix of ChangeSpec.counted */
int64_t change_count(const Change *change, uint32_t index);
/* `ttl_s` 0: no expiration. All puts with a TTL share the first one. */
void change_put(Change *change, Str key, Str value, int64_t ttl_s);
void change_delete(Change *change, Str key);
void change_delete_all(Change *change, Str prefix); /* all keys with this prefix */

/* --- Within done() --------------------------------------------------------------------------- */

/* The revision of all puts; 0 if there were none. */
int64_t change_written(const Change *change);

/* --- Requests -------------------------------------------------------------------------------- */

/* The first member of what a change without a result needs until it is done. */
typedef struct ChangeRequest {
    ClusterStore cluster_store;
    Arena arena;
    ClusterDone *done;
    void *context;
} ChangeRequest;

/* Allocates `size` bytes, the size of the struct that begins with the request. */
void *change_request_new(size_t size, const ClusterStore *cluster_store, ClusterDone *done,
                         void *context);
/* Starts `spec` with the store of the request and the request as context; at the end the result is
 * reported and the request is freed. */
void change_request_start(ChangeRequest *request, const ChangeSpec *spec);
/* Reports `err` and frees a request that was not started. */
void change_request_end(ChangeRequest *request, const Error *err);

/* --- Marker records -------------------------------------------------------------------------- */

/* Values of keys that only matter by their revision, which changes compare. */
/* "eden.grants/1"; `last` is the ID of the last credential, or empty. */
Str grants_record(Arena *arena, Str last);
Str excluded_record(Arena *arena); /* "eden.without/1" */
