/* Reads and writes images. Entries are sorted by key, so that equal images produce identical
 * files. */
#include "membership/watched_image.h"

#include "base/base64.h"
#include "lang/record.h"

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

static bool bytes_decode(Arena *arena, Value value, void *member, Error *err)
{
    return base64_decode(arena, value_str(value), member) ||
           error_set(err, ERROR_INVALID, "must be base64");
}

static void bytes_encode(const void *member, Buf *out)
{
    buf_put_char(out, '"');
    base64_encode(out, *(const Str *)member);
    buf_put_char(out, '"');
}

static const RecordCodec bytes_codec = { bytes_decode, bytes_encode, NULL };

typedef struct ImageRecord {
    Str store;
    int64_t revision;
    WatchedEntry *keys;
    uint32_t key_count;
    Value unknown;
} ImageRecord;

static const RecordField key_fields[] = {
    { "key", RECORD_TEXT, RECORD_CODED_AT(WatchedEntry, key, Str, bytes_codec), .is_required = true,
      .help = "key, in base64" },
    { "value", RECORD_TEXT, RECORD_CODED_AT(WatchedEntry, value, Str, bytes_codec),
      .is_required = true, .help = "its value, in base64" },
    { 0 },
};

static const RecordField image_fields[] = {
    { "store", RECORD_TEXT, RECORD_STR_AT(ImageRecord, store), .is_required = true,
      .help = "ID of the store" },
    { "revision", RECORD_INT, RECORD_INT_AT(ImageRecord, revision), .is_required = true,
      .help = "revision of the store" },
    { "keys", RECORD_OBJECT,
      RECORD_POINTER_AT(ImageRecord, keys, key_count, KEYS_MAX, WatchedEntry, key_fields),
      .is_required = true, .help = "what is stored" },
    { RECORD_UNKNOWN_AT(ImageRecord, unknown) },
    { 0 },
};

static const RecordFormat image_format = {
    .format = "eden.watched/1",
    .what = "the last known state of the cluster",
    .fields = image_fields,
    .size = sizeof(ImageRecord),
    .text_max = WATCHED_MAX,
};

void watched_image_print(const WatchedImage *image, Buf *out)
{
    ImageRecord record = { image->store, image->revision, image->entries.items, image->entries.len,
                           image->unknown };
    record_print(&image_format, &record, out);
    buf_put_char(out, '\n');
}

bool watched_image_read(Str text, WatchedImage *out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    ImageRecord record;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!record_read(&image_format, &arena, text, RECORD_STORED, &record, err)) {
        return false;
    }
    for (uint32_t i = 0; i < record.key_count; i++) {
        watched_image_add(out, &record.keys[i]);
    }
    out->store = arena_copy(&out->arena, record.store);
    out->revision = record.revision;
    out->unknown = value_copy(&out->arena, record.unknown);
    return true;
}
