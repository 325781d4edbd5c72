/* Changes a few keys of the store depending on their values: read, decide, write
 * in one transaction, and repeat if another writer was faster. Loop thread. */
#pragma once

#include "cluster/cluster_store.h"

typedef struct Change Change;

enum {
    CHANGE_KEYS_MAX = 20, /* read */
    CHANGE_OPS_MAX = 16,  /* written */
    CHANGE_COUNTS_MAX = 2
};

typedef struct ChangeSpec {
    ClusterStore at; /* copied; its prefix is not used */
    const Str *keys; /* read first; copied */
    uint32_t key_count;
    /* The keys that start with each of these are counted; empty: none. */
    Str counted[CHANGE_COUNTS_MAX];
    /* Puts and deletes what follows from what was read. May be called again, as if for the first
     * time. False: nothing is written, and `done` gets the error. */
    bool (*decide)(void *context, Change *change, Error *err);
    /* Once: `err` is NULL when all is written and the state has seen it, or there was nothing to
     * write. ERROR_UNKNOWN: it may be written. The change ends with it. */
    void (*done)(void *context, Change *change, const Error *err);
    void *context;
    bool urgent; /* as of a StoreTxn */
    /* Of a controller: leader_fence(), copied. When it does not hold, nothing is written, and `done` gets
     * ERROR_CONFLICT: this server no longer leads. NULL: no fence. */
    const StoreCompare *fence;
} ChangeSpec;

/* `done` follows, within when the store takes nothing at present. */
void change_start(const ChangeSpec *spec, Change **out);
/* Neither function is called any more. What the store was given is still written. NULL is allowed;
 * also for one whose `done` is being called. */
void change_abandon(Change *change);

/* --- While it is decided --------------------------------------------------------------------- */

Arena *change_arena(Change *change); /* lives until `done` has returned */
bool change_has(const Change *change, uint32_t key);
Str change_value(const Change *change, uint32_t key);        /* empty when it is not there */
int64_t change_revision(const Change *change, uint32_t key); /* 0 when it is not there */
Str change_key(const Change *change, uint32_t key);
int64_t change_count(const Change *change, uint32_t which); /* of `counted` */
/* `ttl_s` 0: for good. Those with a time have the same one, the first that is given. */
void change_put(Change *change, Str key, Str value, int64_t ttl_s);
void change_delete(Change *change, Str key);
void change_delete_all(Change *change, Str prefix); /* every key that starts with it */

/* --- When it is done ------------------------------------------------------------------------- */

/* The revision that all that was put has now; 0: nothing was. */
int64_t change_written(const Change *change);

/* --- Marker records -------------------------------------------------------------------------- */

/* Values of keys of which only the revision matters: changes compare it. */
/* "eden.grants/1"; `last` is the ID of the last credential, or empty. */
Str grants_record(Arena *arena, Str last);
Str without_record(Arena *arena); /* "eden.without/1" */
