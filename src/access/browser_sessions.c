#include "access/browser_sessions.h"

#include <stdlib.h>

#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"

/* What is read, and compared when it is written. */
enum {
    SEEN_SESSION,
    SEEN_GRANTS,
    SEEN_COUNT
};

/* What is counted. */
enum {
    COUNTED_ALL,
    COUNTED_OWN
};

typedef struct Making {
    BrowserSecret secret;
    BrowserRecord record;
    BrowserSessionMade *done;
    void *context;
} Making;

static void making_end(Making *making, const Error *err)
{
    bool ok = err == NULL;
    making->done(making->context, ok ? &making->secret : NULL, ok ? &making->record : NULL, err);
    browser_secret_clear(&making->secret);
    free(making);
}

static bool making_decide(void *context, Change *change, Error *err)
{
    const Making *making = context;
    Arena *arena = change_arena(change);
    if (change_count(change, COUNTED_ALL) >= BROWSER_SESSIONS_MAX) {
        return error_set(err, ERROR_LIMIT, "there are already %d browser sessions",
                         BROWSER_SESSIONS_MAX);
    }
    if (change_count(change, COUNTED_OWN) >= BROWSER_SESSIONS_OWN_MAX) {
        return error_set(err, ERROR_LIMIT,
                         "this credential already has %d browser sessions; log out, or wait until "
                         "some of them expire",
                         BROWSER_SESSIONS_OWN_MAX);
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    browser_record_print(&making->record, &text);
    change_put(change, change_key(change, SEEN_SESSION), buf_str(&text), BROWSER_IDLE_S);
    change_put(change, change_key(change, SEEN_GRANTS), grants_record(arena, STR_EMPTY),
               BROWSER_IDLE_S);
    return true;
}

static void making_done(void *context, Change *change, const Error *err)
{
    making_end(context, err);
}

static bool fill(const Principal *principal, int64_t now_ms, Making *making, Error *err)
{
    BrowserRecord *record = &making->record;
    if (principal->kind != PRINCIPAL_TOKEN && principal->kind != PRINCIPAL_CERTIFICATE) {
        return error_set(err, ERROR_DENIED,
                         "a browser session can be created only with a token or a certificate");
    }
    memcpy(record->credential, principal->credential, sizeof record->credential);
    record->credential_made_ms = principal->credential_made_ms;
    record->created_ms = now_ms;
    record->expires_ms = now_ms + BROWSER_LIFE_MS;
    if (principal->expires_ms > 0 && principal->expires_ms < record->expires_ms) {
        record->expires_ms = principal->expires_ms;
    }
    return browser_secret_make(&making->secret, err);
}

void browser_sessions_create(const ClusterStore *at, const Principal *principal,
                             BrowserSessionMade *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    char hash[BROWSER_HASH_TEXT + 1];
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    Making *making = memory_new(sizeof *making);
    making->done = done;
    making->context = context;
    if (!fill(principal, loop_wall_ms(at->loop), making, &err)) {
        making_end(making, &err);
        return;
    }
    browser_secret_hash(&making->secret, hash);
    Change *change;
    Str credential = str_from_c(making->record.credential);
    Str keys[SEEN_COUNT] = {
        [SEEN_SESSION] = cluster_key_browser(&arena, at->prefix, credential, str_from_c(hash)),
        [SEEN_GRANTS] = cluster_key_browser_grants(&arena, at->prefix, credential),
    };
    change_start(
        &(ChangeSpec){
            .at = *at,
            .keys = keys,
            .key_count = SEEN_COUNT,
            .counted = { [COUNTED_ALL] = cluster_key_browser_all(&arena, at->prefix),
                         [COUNTED_OWN] = cluster_key_browser_of(&arena, at->prefix, credential) },
            .decide = making_decide,
            .done = making_done,
            .context = making },
        &change);
}

typedef struct Deleting {
    State *state;
    ClusterDone *done;
    void *context;
} Deleting;

static void seen_deleted(void *context)
{
    Deleting *deleting = context;
    deleting->done(deleting->context, NULL);
    free(deleting);
}

static void deleted(void *context, const StoreReply *reply, const Error *err)
{
    Deleting *deleting = context;
    if (err == NULL) {
        state_wait(deleting->state, reply->revision, seen_deleted, deleting);
        return;
    }
    deleting->done(deleting->context, err);
    free(deleting);
}

void browser_sessions_delete(const ClusterStore *at, const Principal *principal, ClusterDone *done,
                             void *context)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (principal->kind != PRINCIPAL_SESSION) {
        error_set(&err, ERROR_INVALID, "not a browser session");
        done(context, &err);
        return;
    }
    Str key = cluster_key_browser(&arena, at->prefix, str_from_c(principal->credential),
                                  str_from_c(principal->session));
    Deleting *deleting = memory_new(sizeof *deleting);
    *deleting = (Deleting){ at->state, done, context };
    if (!store_delete(at->store, key, deleted, deleting, &err)) {
        deleted(deleting, NULL, &err);
    }
}
