/* Creating and deleting browser sessions in the store, in transactions that count those of the same
 * credential. */
#include "access/browser_sessions.h"

#include <stdlib.h>

#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"

/* Indexes of the keys that are read, and compared when writing. */
enum {
    READ_SESSION,
    READ_GRANTS,
    READ_COUNT
};

/* Indexes of the counts. */
enum {
    COUNTED_ALL,
    COUNTED_OWN
};

typedef struct SessionCreation {
    BrowserSecret secret;
    BrowserRecord record;
    BrowserSessionCreated *done;
    void *context;
} SessionCreation;

static void creation_end(SessionCreation *creation, const Error *err)
{
    bool ok = err == NULL;
    creation->done(creation->context, ok ? &creation->secret : NULL, ok ? &creation->record : NULL,
                   err);
    browser_secret_clear(&creation->secret);
    free(creation);
}

static bool creation_decide(void *context, Change *change, Error *err)
{
    const SessionCreation *creation = context;
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
    browser_record_print(&creation->record, &text);
    change_put(change, change_key(change, READ_SESSION), buf_str(&text), BROWSER_IDLE_S);
    change_put(change, change_key(change, READ_GRANTS), grants_record(arena, STR_EMPTY),
               BROWSER_IDLE_S);
    return true;
}

static void creation_done(void *context, Change *change, const Error *err)
{
    creation_end(context, err);
}

static bool fill(const Principal *principal, int64_t now_ms, SessionCreation *creation, Error *err)
{
    BrowserRecord *record = &creation->record;
    if (principal->kind != PRINCIPAL_TOKEN && principal->kind != PRINCIPAL_CERTIFICATE) {
        return error_set(err, ERROR_DENIED,
                         "a browser session can be created only with a token or a certificate");
    }
    memcpy(record->credential, principal->credential, sizeof record->credential);
    record->credential_created_ms = principal->credential_created_ms;
    record->created_ms = now_ms;
    record->expires_ms = now_ms + BROWSER_LIFETIME_MS;
    if (principal->expires_ms > 0 && principal->expires_ms < record->expires_ms) {
        record->expires_ms = principal->expires_ms;
    }
    return browser_secret_generate(&creation->secret, err);
}

void browser_sessions_create(const ClusterStore *cluster_store, const Principal *principal,
                             BrowserSessionCreated *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    char hash[BROWSER_HASH_TEXT + 1];
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    SessionCreation *creation = memory_new(sizeof *creation);
    creation->done = done;
    creation->context = context;
    if (!fill(principal, loop_wall_ms(cluster_store->loop), creation, &err)) {
        creation_end(creation, &err);
        return;
    }
    browser_secret_hash(&creation->secret, hash);
    Change *change;
    Str credential = str_from_c(creation->record.credential);
    Str keys[READ_COUNT] = {
        [READ_SESSION] =
            cluster_key_browser(&arena, cluster_store->prefix, credential, str_from_c(hash)),
        [READ_GRANTS] = cluster_key_browser_grants(&arena, cluster_store->prefix, credential),
    };
    change_start(
        &(ChangeSpec){
            .cluster_store = *cluster_store,
            .keys = keys,
            .key_count = READ_COUNT,
            .counted = { [COUNTED_ALL] = cluster_key_browser_all(&arena, cluster_store->prefix),
                         [COUNTED_OWN] =
                             cluster_key_browser_of(&arena, cluster_store->prefix, credential) },
            .decide = creation_decide,
            .done = creation_done,
            .context = creation },
        &change);
}

typedef struct SessionDeletion {
    State *state;
    ClusterDone *done;
    void *context;
} SessionDeletion;

static void seen_deleted(void *context)
{
    SessionDeletion *deletion = context;
    deletion->done(deletion->context, NULL);
    free(deletion);
}

static void deleted(void *context, const StoreReply *reply, const Error *err)
{
    SessionDeletion *deletion = context;
    if (err == NULL) {
        state_wait(deletion->state, reply->revision, seen_deleted, deletion);
        return;
    }
    deletion->done(deletion->context, err);
    free(deletion);
}

void browser_sessions_delete(const ClusterStore *cluster_store, const Principal *principal,
                             ClusterDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (principal->kind != PRINCIPAL_SESSION) {
        error_set(&err, ERROR_INVALID, "not a browser session");
        done(context, &err);
        return;
    }
    Str key = cluster_key_browser(&arena, cluster_store->prefix, str_from_c(principal->credential),
                                  str_from_c(principal->session));
    SessionDeletion *deletion = memory_new(sizeof *deletion);
    *deletion = (SessionDeletion){ cluster_store->state, done, context };
    if (!store_delete(cluster_store->store, key, deleted, deletion, &err)) {
        deleted(deletion, NULL, &err);
    }
}
