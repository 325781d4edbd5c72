#include "agent/watched.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/bug.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/vec.h"
#include "pki/json_fields.h"

#define FORMAT "eden.watched/1"

enum {
    NAME_MAX_BYTES = 64,
    KEYS_MAX = 100000
};

typedef struct Entry {
    Str key, value;
    bool deleted; /* of a change that is gathered */
} Entry;

typedef VEC(Entry) Entries;

/* What is known at one moment, in an arena of its own. */
typedef struct Image {
    Arena arena;
    Str store;
    int64_t revision;
    Entries entries;
} Image;

struct Watched {
    WatchedOptions options;
    char file[NAME_MAX_BYTES];
    Image image; /* as it is on the disk */
    Image next;  /* what was gathered; entries are changes */
    bool is_reset;
    bool is_due; /* `next` is whole and to be written */
    uint64_t ticket;
    LoopTimer retry;
};

static void image_init(Image *image)
{
    *image = (Image){ 0 };
    arena_init(&image->arena, ARENA_UNLIMITED);
}

static void image_clear(Image *image)
{
    arena_clear(&image->arena);
    image_init(image);
}

static Entry *image_find(const Image *image, Str key)
{
    for (uint32_t i = 0; i < image->entries.len; i++) {
        if (str_eq(image->entries.items[i].key, key)) {
            return &image->entries.items[i];
        }
    }
    return NULL;
}

static void image_add(Image *image, const Entry *entry)
{
    Entry copy = { .key = arena_copy(&image->arena, entry->key),
                   .value = arena_copy(&image->arena, entry->value),
                   .deleted = entry->deleted };
    VEC_PUSH(&image->arena, &image->entries, copy);
}

/* --- The file -------------------------------------------------------------------------------- */

static void put_base64(Buf *out, const char *before, Str bytes)
{
    buf_put_c(out, before);
    base64_put(out, bytes);
    buf_put_c(out, "\"");
}

static void image_print(const Image *image, Buf *out)
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

static bool read_entry(Arena *arena, Value object, Image *out, Error *err)
{
    Value key, value;
    const JsonField fields[] = { { "key", VALUE_STRING, false, &key },
                                 { "value", VALUE_STRING, false, &value } };
    Entry entry = { 0 };
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
    image_add(out, &entry);
    return true;
}

static bool image_read(Str text, Image *out, Error *err)
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

static void load(Watched *watched)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text;
    Error err;
    if (directory_read(watched->options.directory, &arena, watched->file, WATCHED_MAX, &text,
                       &err) &&
        image_read(text, &watched->image, &err)) {
        return;
    }
    image_clear(&watched->image);
    if (err.kind != ERROR_NOT_FOUND) {
        log_warning("what a watch had told is lost, and is asked for anew",
                    LOG_C("watch", watched->options.name), LOG_C("why", err.text));
    }
}

/* --- Changes --------------------------------------------------------------------------------- */

/* The image after the changes that were gathered. */
static void apply(const Watched *watched, Image *out)
{
    const Image *next = &watched->next;
    image_init(out);
    out->store = arena_copy(&out->arena, next->store);
    out->revision = next->revision;
    for (uint32_t i = 0; !watched->is_reset && i < watched->image.entries.len; i++) {
        image_add(out, &watched->image.entries.items[i]);
    }
    for (uint32_t i = 0; i < next->entries.len; i++) {
        const Entry *change = &next->entries.items[i];
        Entry *known = image_find(out, change->key);
        if (change->deleted && known != NULL) {
            *known = VEC_POP(&out->entries);
        } else if (!change->deleted && known != NULL) {
            known->value = arena_copy(&out->arena, change->value);
        } else if (!change->deleted) {
            image_add(out, change);
        }
    }
}

static bool save(const Watched *watched, const Image *image, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(WATCHED_MAX);
    image_print(image, &text);
    if (text.overflow) {
        return error_set(err, ERROR_LIMIT, "it takes more than %d bytes", WATCHED_MAX);
    }
    return directory_write(watched->options.directory, watched->file, buf_str(&text), true, err);
}

static void forget_gathered(Watched *watched)
{
    image_clear(&watched->next);
    watched->is_reset = watched->is_due = false;
    loop_timer_stop(&watched->retry);
}

static void write_due(void *context)
{
    Watched *watched = context;
    Image after;
    Error err;
    apply(watched, &after);
    if (!save(watched, &after, &err)) {
        image_clear(&after);
        log_error("what a watch tells cannot be kept, trying again",
                  LOG_C("watch", watched->options.name), LOG_C("why", err.text));
        loop_timer_start(&watched->retry, WATCHED_RETRY_MS);
        return;
    }
    arena_clear(&watched->image.arena);
    watched->image = after;
    forget_gathered(watched);
    watched->options.kept(watched->options.context, watched->ticket);
}

void watched_take(Watched *watched, const Changes *changes, Str store, uint64_t ticket)
{
    BUG_IF(watched->is_due);
    if (changes->reset) {
        forget_gathered(watched);
        watched->is_reset = true;
    }
    for (uint32_t i = 0; i < changes->change_count; i++) {
        const Change *change = &changes->changes[i];
        image_add(&watched->next, &(Entry){ change->key, change->value, change->deleted });
    }
    watched->ticket = ticket;
    if (!changes->complete) {
        watched->options.kept(watched->options.context, ticket);
        return;
    }
    watched->next.store = arena_copy(&watched->next.arena, store);
    watched->next.revision = changes->revision;
    watched->is_due = true;
    write_due(watched);
}

/* --- Life ------------------------------------------------------------------------------------ */

Watched *watched_open(const WatchedOptions *options)
{
    Watched *watched = memory_new(sizeof *watched);
    watched->options = *options;
    snprintf(watched->file, sizeof watched->file, "watched-%s.json", options->name);
    image_init(&watched->image);
    image_init(&watched->next);
    loop_timer_init(&watched->retry, options->loop, write_due, watched);
    load(watched);
    return watched;
}

void watched_free(Watched *watched)
{
    if (watched == NULL) {
        return;
    }
    loop_timer_stop(&watched->retry);
    arena_clear(&watched->image.arena);
    arena_clear(&watched->next.arena);
    free(watched);
}

WatchPosition watched_position(Watched *watched)
{
    forget_gathered(watched);
    return watched_kept(watched);
}

WatchPosition watched_kept(const Watched *watched)
{
    return (WatchPosition){ watched->image.store, watched->image.revision };
}

const Str *watched_value(const Watched *watched, Str key)
{
    const Image *image = &watched->image;
    if (key.len == 0) {
        return image->entries.len == 0 ? NULL : &image->entries.items[0].value;
    }
    const Entry *entry = image_find(image, key);
    return entry == NULL ? NULL : &entry->value;
}
