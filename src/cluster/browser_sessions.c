#include "cluster/browser_sessions.h"

#include <stdlib.h>

#include "base/hex.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"

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
    if (change_count(change, 0) >= BROWSER_SESSIONS_MAX) {
        return error_set(err, ERROR_LIMIT, "there are %d sessions of browsers already",
                         BROWSER_SESSIONS_MAX);
    }
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    browser_record_print(&making->record, &text);
    change_put(change, change_key(change, 0), buf_str(&text), BROWSER_IDLE_S);
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
                         "a session of a browser is made from a token or a certificate");
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
    Str key = cluster_key_browser(&arena, at->prefix, str_from_c(hash));
    change_start(&(ChangeSpec){ .store = at->store,
                                .keys = &key,
                                .key_count = 1,
                                .counted = { cluster_key_browser_all(&arena, at->prefix) },
                                .decide = making_decide,
                                .done = making_done,
                                .context = making },
                 &change);
}

typedef struct Deleting {
    ClusterDone *done;
    void *context;
} Deleting;

static void deleted(void *context, const StoreReply *reply, const Error *err)
{
    Deleting *deleting = context;
    deleting->done(deleting->context, err);
    free(deleting);
}

void browser_sessions_delete(const ClusterStore *at, Str hash, ClusterDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (hash.len != BROWSER_HASH_TEXT || !hex_is(hash)) {
        error_set(&err, ERROR_INVALID, "this is no session of a browser");
        done(context, &err);
        return;
    }
    Deleting *deleting = memory_new(sizeof *deleting);
    *deleting = (Deleting){ done, context };
    if (!store_delete(at->store, cluster_key_browser(&arena, at->prefix, hash), deleted, deleting,
                      &err)) {
        deleted(deleting, NULL, &err);
    }
}
