/* Collects the changes of a unit in a second image; a complete unit is written together with its
 * position. */
#include "agent/watched.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "membership/watched_image.h"

enum {
    NAME_MAX_BYTES = 64
};

struct Watched {
    WatchedOptions options;
    char file[NAME_MAX_BYTES];
    WatchedImage image; /* as stored on disk */
    WatchedImage next;  /* collected changes; entries are changes */
    bool is_reset;
    bool is_due; /* `next` is complete and must be written */
    uint64_t ticket;
    LoopTimer retry;
};

static void load(Watched *watched)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text;
    Error err;
    if (directory_read(watched->options.directory, &arena, watched->file, WATCHED_MAX, &text,
                       &err) &&
        watched_image_read(text, &watched->image, &err)) {
        return;
    }
    watched_image_clear(&watched->image);
    if (err.kind != ERROR_NOT_FOUND) {
        log_warning("cannot read the saved results of a watch; requesting them again",
                    LOG_C("watch", watched->options.name), LOG_C("error", err.text));
    }
}

/* --- Changes --------------------------------------------------------------------------------- */

/* Applies the collected changes. */
static void apply(const Watched *watched, WatchedImage *out)
{
    const WatchedImage *next = &watched->next;
    watched_image_init(out);
    out->store = arena_copy(&out->arena, next->store);
    out->revision = next->revision;
    out->unknown = value_copy(&out->arena, watched->image.unknown);
    for (uint32_t i = 0; !watched->is_reset && i < watched->image.entries.len; i++) {
        watched_image_add(out, &watched->image.entries.items[i]);
    }
    for (uint32_t i = 0; i < next->entries.len; i++) {
        const WatchedEntry *change = &next->entries.items[i];
        WatchedEntry *entry = watched_image_find(out, change->key);
        if (change->deleted && entry != NULL) {
            *entry = VEC_POP(&out->entries);
        } else if (!change->deleted && entry != NULL) {
            entry->value = arena_copy(&out->arena, change->value);
        } else if (!change->deleted) {
            watched_image_add(out, change);
        }
    }
}

static bool save(const Watched *watched, const WatchedImage *image, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(WATCHED_MAX);
    watched_image_print(image, &text);
    if (text.overflow) {
        return error_set(err, ERROR_LIMIT, "larger than %d bytes", WATCHED_MAX);
    }
    return directory_write(watched->options.directory, watched->file, buf_str(&text), true, err);
}

static void discard_collected(Watched *watched)
{
    watched_image_clear(&watched->next);
    watched->is_reset = watched->is_due = false;
    loop_timer_stop(&watched->retry);
}

static void write_due(void *context)
{
    Watched *watched = context;
    WatchedImage after;
    Error err;
    apply(watched, &after);
    if (!save(watched, &after, &err)) {
        watched_image_clear(&after);
        log_error("cannot save the results of a watch; will retry",
                  LOG_C("watch", watched->options.name), LOG_C("error", err.text));
        loop_timer_start(&watched->retry, WATCHED_RETRY_MS);
        return;
    }
    arena_clear(&watched->image.arena);
    watched->image = after;
    discard_collected(watched);
    watched->options.stored(watched->options.context, watched->ticket);
}

void watched_add(Watched *watched, const Changes *changes, Str store, uint64_t ticket)
{
    BUG_IF(watched->is_due);
    if (changes->reset) {
        discard_collected(watched);
        watched->is_reset = true;
    }
    for (uint32_t i = 0; i < changes->change_count; i++) {
        const Change *change = &changes->changes[i];
        watched_image_add(&watched->next,
                          &(WatchedEntry){ change->key, change->value, change->deleted });
    }
    watched->ticket = ticket;
    if (!changes->complete) {
        watched->options.stored(watched->options.context, ticket);
        return;
    }
    watched->next.store = arena_copy(&watched->next.arena, store);
    watched->next.revision = changes->revision;
    watched->is_due = true;
    write_due(watched);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

Watched *watched_open(const WatchedOptions *options)
{
    Watched *watched = memory_new(sizeof *watched);
    watched->options = *options;
    snprintf(watched->file, sizeof watched->file, "watched-%s.json", options->name);
    watched_image_init(&watched->image);
    watched_image_init(&watched->next);
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
    discard_collected(watched);
    return watched_saved_position(watched);
}

WatchPosition watched_saved_position(const Watched *watched)
{
    return (WatchPosition){ watched->image.store, watched->image.revision };
}

const WatchedImage *watched_image(const Watched *watched)
{
    return &watched->image;
}

const Str *watched_value(const Watched *watched, Str key)
{
    const WatchedImage *image = &watched->image;
    if (key.len == 0) {
        return image->entries.len == 0 ? NULL : &image->entries.items[0].value;
    }
    const WatchedEntry *entry = watched_image_find(image, key);
    return entry == NULL ? NULL : &entry->value;
}

Str watched_key_name(Str key)
{
    size_t from = key.len;
    while (from > 0 && key.data[from - 1] != '/') {
        from--;
    }
    return str_slice(key, from, key.len);
}
