#include "cluster/cursor_key.h"

#include <stdlib.h>

#include "base/hex.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "lang/record.h"

enum {
    RECORD_MAX = 512 /* maximum size in bytes */
};

typedef struct Waiter {
    CursorKeyReady *done;
    void *context;
    struct Waiter *next;
} Waiter;

struct CursorKey {
    ClusterStore cluster_store;
    SealKey key;
    bool is_known, is_requested, is_orphan;
    bool is_own; /* the store has no readable key, so this one must be written */
    Waiter *first, **last;
};

typedef struct KeyRecord {
    Str secret;
} KeyRecord;

static bool check_secret(Str digits, Error *err)
{
    return (digits.len == 2 * (size_t)SEAL_KEY && hex_is_valid(digits)) ||
           error_set(err, ERROR_INVALID, "must be a key in hexadecimal");
}

/* Written once, and replaced entirely if damaged. */
static const RecordField key_fields[] = {
    { "secret", RECORD_TEXT, RECORD_STR_AT(KeyRecord, secret), .is_required = true,
      .is_secret = true, .check_text = check_secret, .help = "key that seals page tokens" },
    { 0 },
};

static const RecordFormat key_format = {
    .format = "eden.cursor-key/1",
    .what = "the pagination key",
    .fields = key_fields,
    .size = sizeof(KeyRecord),
    .text_max = RECORD_MAX,
};

/* Returns false if the record is unreadable. */
static bool take_record(CursorKey *key, Arena *arena, Str text)
{
    KeyRecord record;
    Error damaged;
    if (!record_read(&key_format, arena, text, RECORD_STORED, &record, &damaged)) {
        return false;
    }
    hex_decode(record.secret.data, SEAL_KEY, key->key.bytes);
    return true;
}

static bool decide(void *context, Change *change, Error *err)
{
    CursorKey *key = context;
    Arena *arena = change_arena(change);
    KeyRecord record;
    key->is_own = false;
    if (change_has(change, 0) && take_record(key, arena, change_value(change, 0))) {
        return true;
    }
    if (!seal_key_make(&key->key, err)) {
        return false;
    }
    key->is_own = true;
    char digits[2 * SEAL_KEY + 1];
    Buf text = buf_make_in(arena, RECORD_MAX);
    hex_encode(key->key.bytes, SEAL_KEY, digits);
    record.secret = str_from_c(digits);
    record_print(&key_format, &record, &text);
    change_put(change, change_key(change, 0), buf_str(&text), 0);
    return true;
}

static void key_destroy(CursorKey *key)
{
    seal_key_clear(&key->key);
    free(key);
}

static void warn_unsaved(const char *why)
{
    log_warning("cannot save the pagination key; page tokens will not survive a restart",
                LOG_C("error", why));
}

static void on_key(void *context, Change *change, const Error *err)
{
    CursorKey *key = context;
    key->is_requested = false;
    key->is_known = err == NULL || key->is_own;
    if (err != NULL && key->is_own) {
        warn_unsaved(err->text);
    }
    Waiter *next = key->first;
    key->first = NULL;
    key->last = &key->first;
    /* The callback may free the key. */
    SealKey copy = key->key;
    bool is_known = key->is_known;
    if (key->is_orphan) {
        key_destroy(key);
    }
    while (next != NULL) {
        Waiter *waiter = next;
        next = waiter->next;
        waiter->done(waiter->context, is_known ? &copy : NULL, is_known ? NULL : err);
        free(waiter);
    }
    seal_key_clear(&copy);
}

CursorKey *cursor_key_new(const ClusterStore *cluster_store)
{
    CursorKey *key = memory_new(sizeof *key);
    key->cluster_store = *cluster_store;
    key->last = &key->first;
    return key;
}

void cursor_key_free(CursorKey *key)
{
    if (key == NULL) {
        return;
    }
    key->is_orphan = true;
    if (!key->is_requested) {
        key_destroy(key);
    }
}

static void add_waiter(CursorKey *key, CursorKeyReady *done, void *context)
{
    Waiter *waiter = memory_new(sizeof *waiter);
    *waiter = (Waiter){ done, context, NULL };
    *key->last = waiter;
    key->last = &waiter->next;
}

/* Uses only the state, because the store may hang. */
static void read_state(CursorKey *key)
{
    const State *state = key->cluster_store.state;
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (state == NULL) {
        return;
    }
    const StateEntry *entry =
        state_find(state, cluster_key_cursor_key(&arena, key->cluster_store.prefix));
    StateAge age = state_age(state);
    if (entry != NULL && take_record(key, &arena, entry->value)) {
        key->is_known = true;
    } else if (age.stale_since_ms != 0 && seal_key_make(&key->key, &err)) {
        key->is_known = true;
        warn_unsaved(age.why);
    }
}

void cursor_key_get(CursorKey *key, CursorKeyReady *done, void *context)
{
    if (!key->is_known) {
        read_state(key);
    }
    if (key->is_known) {
        done(context, &key->key, NULL);
        return;
    }
    add_waiter(key, done, context);
    if (key->is_requested) {
        return;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str store_key = cluster_key_cursor_key(&arena, key->cluster_store.prefix);
    Change *change;
    key->is_requested = true;
    key->is_own = false;
    change_start(&(ChangeSpec){ .cluster_store = key->cluster_store,
                                .keys = &store_key,
                                .key_count = 1,
                                .decide = decide,
                                .done = on_key,
                                .context = key },
                 &change);
}
