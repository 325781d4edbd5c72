#include "cluster/cursor_key.h"

#include <stdlib.h>

#include "base/hex.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "pki/json_fields.h"

#define FORMAT "eden.cursor-key/1"

enum {
    RECORD_MAX = 512,
    RECORD_VALUES = 10
};

typedef struct Waiter {
    CursorKeyKnown *done;
    void *context;
    struct Waiter *next;
} Waiter;

struct CursorKey {
    ClusterStore at;
    SealKey key;
    bool is_known, is_asked, is_orphan;
    bool is_own; /* the store has none that can be read: it is to get this one */
    Waiter *first, **last;
};

static bool record_read(Arena *arena, Str text, SealKey *out)
{
    Value object, format, secret;
    Error err;
    const JsonField fields[] = { { "format", VALUE_STRING, false, &format },
                                 { "secret", VALUE_STRING, false, &secret } };
    if (!json_object_read(arena, text, RECORD_MAX, RECORD_VALUES, &object, &err) ||
        !json_format_check(object, FORMAT, &err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), &err)) {
        return false;
    }
    Str digits = value_str(secret);
    if (digits.len != 2 * (size_t)SEAL_KEY || !hex_is(digits)) {
        return false;
    }
    hex_get(digits.data, SEAL_KEY, out->bytes);
    return true;
}

static bool decide(void *context, Change *change, Error *err)
{
    CursorKey *key = context;
    char digits[2 * SEAL_KEY + 1];
    key->is_own = false;
    if (change_has(change, 0) &&
        record_read(change_arena(change), change_value(change, 0), &key->key)) {
        return true;
    }
    if (!seal_key_make(&key->key, err)) {
        return false;
    }
    key->is_own = true;
    hex_put(key->key.bytes, SEAL_KEY, digits);
    change_put(
        change, change_key(change, 0),
        arena_format(change_arena(change), "{\"format\":\"" FORMAT "\",\"secret\":\"%s\"}", digits),
        0);
    return true;
}

static void key_destroy(CursorKey *key)
{
    seal_key_clear(&key->key);
    free(key);
}

static void asked(void *context, Change *change, const Error *err)
{
    CursorKey *key = context;
    key->is_asked = false;
    key->is_known = err == NULL || key->is_own;
    if (err != NULL && key->is_own) {
        log_warning("the key of places in lists cannot be kept; they hold until the server ends",
                    LOG_C("error", err->text));
    }
    Waiter *next = key->first;
    key->first = NULL;
    key->last = &key->first;
    /* Who is called may free it. */
    SealKey known = key->key;
    bool is_known = key->is_known;
    if (key->is_orphan) {
        key_destroy(key);
    }
    while (next != NULL) {
        Waiter *waiter = next;
        next = waiter->next;
        waiter->done(waiter->context, is_known ? &known : NULL, is_known ? NULL : err);
        free(waiter);
    }
    seal_key_clear(&known);
}

CursorKey *cursor_key_new(const ClusterStore *at)
{
    CursorKey *key = memory_new(sizeof *key);
    key->at = *at;
    key->last = &key->first;
    return key;
}

void cursor_key_free(CursorKey *key)
{
    if (key == NULL) {
        return;
    }
    key->is_orphan = true;
    if (!key->is_asked) {
        key_destroy(key);
    }
}

static void add_waiter(CursorKey *key, CursorKeyKnown *done, void *context)
{
    Waiter *waiter = memory_new(sizeof *waiter);
    *waiter = (Waiter){ done, context, NULL };
    *key->last = waiter;
    key->last = &waiter->next;
}

void cursor_key_get(CursorKey *key, CursorKeyKnown *done, void *context)
{
    if (key->is_known) {
        done(context, &key->key, NULL);
        return;
    }
    add_waiter(key, done, context);
    if (key->is_asked) {
        return;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str place = cluster_key_cursor_key(&arena, key->at.prefix);
    Change *change;
    key->is_asked = true;
    key->is_own = false;
    change_start(&(ChangeSpec){ .store = key->at.store,
                                .keys = &place,
                                .key_count = 1,
                                .decide = decide,
                                .done = asked,
                                .context = key },
                 &change);
}
