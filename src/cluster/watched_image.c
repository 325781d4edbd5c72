#include "cluster/watched_image.h"

#include "base/base64.h"
#include "base/json_text.h"
#include "pki/json_fields.h"

#define FORMAT "eden.watched/1"

enum {
    KEYS_MAX = 100000
};

void watched_image_init(WatchedImage *image)
{
    *image = (WatchedImage){ 0 };
    arena_init(&image->arena, ARENA_UNLIMITED);
}

void watched_image_clear(WatchedImage *image)
{
    arena_clear(&image->arena);
    watched_image_init(image);
}

WatchedEntry *watched_image_find(const WatchedImage *image, Str key)
{
    for (uint32_t i = 0; i < image->entries.len; i++) {
        if (str_eq(image->entries.items[i].key, key)) {
            return &image->entries.items[i];
        }
    }
    return NULL;
}

void watched_image_add(WatchedImage *image, const WatchedEntry *entry)
{
    WatchedEntry copy = { .key = arena_copy(&image->arena, entry->key),
                          .value = arena_copy(&image->arena, entry->value),
                          .deleted = entry->deleted };
    VEC_PUSH(&image->arena, &image->entries, copy);
}

static void put_base64(Buf *out, const char *before, Str bytes)
{
    buf_put_c(out, before);
    base64_put(out, bytes);
    buf_put_c(out, "\"");
}

void watched_image_print(const WatchedImage *image, Buf *out)
{
    buf_put_c(out, "{\"format\":\"" FORMAT "\",\"store\":");
    json_text_put(out, image->store);
    buf_put_format(out, ",\"revision\":%lld,\"keys\":[", (long long)image->revision);
    for (uint32_t i = 0; i < image->entries.len; i++) {
        put_base64(out, i == 0 ? "\n{\"key\":\"" : ",\n{\"key\":\"", image->entries.items[i].key);
        put_base64(out, ",\"value\":\"", image->entries.items[i].value);
        buf_put_c(out, "}");
    }
    buf_put_c(out, "]}\n");
}

static bool read_entry(Arena *arena, Value object, WatchedImage *out, Error *err)
{
    Value key, value;
    const JsonField fields[] = { { "key", VALUE_STRING, false, &key },
                                 { "value", VALUE_STRING, false, &value } };
    WatchedEntry entry = { 0 };
    if (object.kind != VALUE_MAP) {
        return error_set(err, ERROR_INVALID, "a key is no object");
    }
    if (!json_fields_read(object, fields, COUNT_OF(fields), err)) {
        return false;
    }
    if (!base64_decode(arena, value_str(key), &entry.key) ||
        !base64_decode(arena, value_str(value), &entry.value)) {
        return error_set(err, ERROR_INVALID, "a key or value is no base64");
    }
    watched_image_add(out, &entry);
    return true;
}

bool watched_image_read(Str text, WatchedImage *out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value object, said, store, revision, keys;
    const JsonField fields[] = { { "format", VALUE_STRING, false, &said },
                                 { "store", VALUE_STRING, false, &store },
                                 { "revision", VALUE_INT, false, &revision },
                                 { "keys", VALUE_LIST, false, &keys } };
    if (!json_object_read(&arena, text, WATCHED_MAX, 16 + 4 * KEYS_MAX, &object, err) ||
        !json_format_check(object, FORMAT, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err)) {
        return false;
    }
    for (uint32_t i = 0; i < keys.list->len; i++) {
        if (!read_entry(&arena, keys.list->items[i], out, err)) {
            return false;
        }
    }
    out->store = arena_copy(&out->arena, value_str(store));
    out->revision = revision.integer;
    return true;
}
