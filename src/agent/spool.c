#include "agent/spool.h"

#include <inttypes.h>
#include <stdlib.h>

#include "agent/spool_frame.h"
#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "sys/append_file.h"

#define SPOOL_NAME "spool"
/* file with the unreadable part of the spool, saved when it was last damaged */
#define SPOOL_DAMAGED "spool.damaged"

struct Spool {
    SpoolOptions options;
    Outbox *outbox;
    AppendFile file;
    uint64_t epoch;
    Buf pending;           /* entries not written yet */
    uint64_t pending_last; /* highest sequence number not stored yet; 0: none */
    bool has_pending_last;
    Buf image; /* complete file that will replace the current one; may be empty */
    LoopTimer flush;
    bool is_flush_timer; /* the timer is for records, not for trims */
    bool failing;
    Error why;
};

/* --- Damage ---------------------------------------------------------------------------------- */

/* Saves the unreadable part for inspection; the remaining records are sent. */
static void save_damaged(const Spool *spool, Str bytes)
{
    Error err;
    if (directory_write(spool->options.directory, SPOOL_DAMAGED, bytes, true, &err)) {
        log_error("part of the spool is damaged; its records are lost, all others are preserved",
                  LOG_INT("bytes", (int64_t)bytes.len), LOG_C("saved_as", SPOOL_DAMAGED),
                  LOG_C("directory", spool->options.directory->path));
    } else {
        log_error("part of the spool is damaged and cannot be saved to a file",
                  LOG_INT("bytes", (int64_t)bytes.len), LOG_C("error", err.text));
    }
}

static void log_damage(const Spool *spool, Str text, const SpoolImage *image)
{
    AUTO_CLEAR(Buf) bytes = buf_make(BUF_UNLIMITED);
    for (uint32_t i = 0; i < image->damaged.len; i++) {
        const SpoolSpan *span = &image->damaged.items[i];
        buf_put(&bytes, str_slice(text, span->from, span->to));
    }
    if (bytes.len > 0) {
        save_damaged(spool, buf_str(&bytes));
    }
}

/* --- Writing --------------------------------------------------------------------------------- */

/* Replaces the file with the image atomically. */
static bool write_image(Spool *spool, Error *err)
{
    const Directory *directory = spool->options.directory;
    if (!directory_write(directory, SPOOL_NAME, buf_str(&spool->image), true, err)) {
        return false;
    }
    append_file_close(&spool->file);
    if (!append_file_open(directory, SPOOL_NAME, &spool->file, err)) {
        return false;
    }
    buf_clear(&spool->image);
    spool->image = buf_make(BUF_UNLIMITED);
    return true;
}

/* Appends pending entries as a frame and syncs it. On failure the file is unchanged. */
static bool write_pending(Spool *spool, Error *err)
{
    AUTO_CLEAR(Buf) frame = buf_make(BUF_UNLIMITED);
    spool_put_frame(&frame, spool->epoch, buf_str(&spool->pending));
    int64_t size = spool->file.size;
    if (!append_file_add(&spool->file, buf_str(&frame), err)) {
        return false;
    }
    if (!append_file_sync(&spool->file, err)) {
        /* It is unknown how much of the frame is on disk, so the file must be truncated before the
         * next one. */
        Error truncate_error;
        if (!append_file_truncate(&spool->file, size, &truncate_error)) {
            log_error("the spool may end in a damaged record", LOG_C("error", truncate_error.text));
        }
        return false;
    }
    buf_clear(&spool->pending);
    return true;
}

/* Combines the file, or the image that will replace it, with pending entries, and drops obsolete
 * ones. */
static bool make_image(Spool *spool, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text = buf_str(&spool->image);
    if (text.len == 0 && !append_file_read(&spool->file, &arena, SPOOL_FILE_MAX, &text, err)) {
        return false;
    }
    AUTO_CLEAR(Buf) all = buf_make(BUF_UNLIMITED);
    buf_put(&all, text);
    if (spool->pending.len > 0) {
        spool_put_frame(&all, spool->epoch, buf_str(&spool->pending));
    }
    SpoolImage image;
    if (!spool_read(&arena, buf_str(&all), &image, err)) {
        return error_wrap(err, "%s", spool->file.name);
    }
    log_damage(spool, buf_str(&all), &image);
    buf_clear(&spool->image);
    spool->image = buf_make(BUF_UNLIMITED);
    spool_print(&image, &spool->image);
    buf_clear(&spool->pending);
    return true;
}

static bool is_mostly_obsolete(const Spool *spool)
{
    return (uint64_t)spool->file.size > SPOOL_SLACK + 2 * outbox_counts(spool->outbox).bytes;
}

static bool write_all(Spool *spool, Error *err)
{
    if (spool->image.len == 0 && spool->pending.len > SPOOL_CONTENT_MAX / 2 &&
        !make_image(spool, err)) {
        return false;
    }
    if ((spool->image.len > 0 && !write_image(spool, err)) ||
        (spool->pending.len > 0 && !write_pending(spool, err))) {
        return false;
    }
    return !is_mostly_obsolete(spool) || (make_image(spool, err) && write_image(spool, err));
}

static bool spool_flush(Spool *spool, Error *err)
{
    loop_timer_stop(&spool->flush);
    spool->is_flush_timer = false;
    bool ok = write_all(spool, err);
    if (!ok && spool->pending.len > SPOOL_PENDING) {
        /* Bounds memory while the disk fails: records are still added and dropped. */
        Error ignored;
        (void)!make_image(spool, &ignored);
    }
    if (!ok && !spool->failing) {
        log_warning("cannot write the spool; keeping records in memory", LOG_C("error", err->text));
    }
    spool->failing = !ok;
    if (!ok) {
        spool->why = *err;
        spool->is_flush_timer = true;
        loop_timer_start(&spool->flush, SPOOL_RETRY_MS);
        return false;
    }
    if (spool->has_pending_last) {
        spool->has_pending_last = false;
        outbox_stored(spool->outbox, spool->pending_last);
    }
    return true;
}

static void flush_runs(void *context)
{
    Spool *spool = context;
    bool records = spool->has_pending_last;
    Error err;
    if (spool_flush(spool, &err) && records) {
        spool->options.stored(spool->options.context);
    }
}

/* --- Outbox callbacks ------------------------------------------------------------------------ */

static void flush_soon(Spool *spool)
{
    if (!spool->is_flush_timer) {
        spool->is_flush_timer = true;
        loop_timer_start(&spool->flush, SPOOL_FLUSH_MS);
    }
}

static void storage_append(void *context, const Record *record)
{
    Spool *spool = context;
    spool_put_record(&spool->pending, record);
    spool->pending_last = record->sequence;
    spool->has_pending_last = true;
    flush_soon(spool);
}

static void storage_drop(void *context, uint64_t sequence)
{
    Spool *spool = context;
    spool_put_drop(&spool->pending, sequence);
    if (!loop_timer_started(&spool->flush)) {
        loop_timer_start(&spool->flush, SPOOL_TRIM_MS);
    }
}

static void storage_trim(void *context, uint64_t sequence)
{
    Spool *spool = context;
    spool_put_trim(&spool->pending, sequence);
    if (!loop_timer_started(&spool->flush)) {
        loop_timer_start(&spool->flush, SPOOL_TRIM_MS);
    }
}

static void storage_restart(void *context, uint64_t epoch, const Record *const *records,
                            uint32_t count)
{
    Spool *spool = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    SpoolImage image = { .epoch = epoch, .last_sequence = count };
    for (uint32_t i = 0; i < count; i++) {
        VEC_PUSH(&arena, &image.records, *records[i]);
    }
    spool->epoch = epoch;
    buf_clear(&spool->pending);
    buf_reset(&spool->image);
    spool_print(&image, &spool->image);
    spool->pending_last = count;
    spool->has_pending_last = true;
    flush_soon(spool);
}

/* --- Opening --------------------------------------------------------------------------------- */

static bool make_file(Spool *spool, Error *err)
{
    SpoolImage image = { .epoch = loop_random(spool->options.loop) };
    if (image.epoch == 0) {
        image.epoch = 1;
    }
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    spool_print(&image, &out);
    return directory_write(spool->options.directory, SPOOL_NAME, buf_str(&out), true, err);
}

/* Replaces the file atomically with its readable records. */
static bool rewrite(Spool *spool, const SpoolImage *image, Error *err)
{
    spool_print(image, &spool->image);
    return write_image(spool, err);
}

/* Nothing is readable, and it is not from a different version: starts with an empty spool. */
static bool start_empty(Spool *spool, Arena *arena, Str text, SpoolImage *image, Error *err)
{
    save_damaged(spool, text);
    append_file_close(&spool->file);
    return make_file(spool, err) &&
           append_file_open(spool->options.directory, SPOOL_NAME, &spool->file, err) &&
           append_file_read(&spool->file, arena, SPOOL_FILE_MAX, &text, err) &&
           spool_read(arena, text, image, err);
}

/* Reads the file; an incomplete tail and damaged parts are dropped. */
static bool load(Spool *spool, Arena *arena, SpoolImage *image, Error *err)
{
    const Directory *directory = spool->options.directory;
    directory_remove_temporaries(directory);
    if (!directory_has(directory, SPOOL_NAME) && !make_file(spool, err)) {
        return false;
    }
    Str text;
    if (!append_file_open(directory, SPOOL_NAME, &spool->file, err) ||
        !append_file_read(&spool->file, arena, SPOOL_FILE_MAX, &text, err)) {
        return false;
    }
    if (!spool_read(arena, text, image, err)) {
        bool is_other = str_starts(text, SPOOL_ANY) && !str_starts(text, SPOOL_MAGIC);
        return err->kind == ERROR_INVALID && !is_other ? start_empty(spool, arena, text, image, err)
                                                       : error_wrap(err, "%s", spool->file.name);
    }
    if (image->damaged.len > 0) {
        log_damage(spool, text, image);
        return rewrite(spool, image, err);
    }
    if (image->complete_bytes < text.len) {
        log_warning("spool ends with an incomplete record; truncating it",
                    LOG_C("file", spool->file.name),
                    LOG_INT("bytes", (int64_t)(text.len - image->complete_bytes)));
        return append_file_truncate(&spool->file, (int64_t)image->complete_bytes, err) &&
               append_file_sync(&spool->file, err);
    }
    return true;
}

bool spool_open(const SpoolOptions *options, Spool **out, Error *err)
{
    BUG_IF(options->bytes_max > SPOOL_LIVE_MAX / 2);
    Spool *spool = memory_new(sizeof *spool);
    spool->options = *options;
    spool->file.descriptor = -1;
    spool->pending = spool->image = buf_make(BUF_UNLIMITED);
    loop_timer_init(&spool->flush, options->loop, flush_runs, spool);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    SpoolImage image;
    if (!load(spool, &arena, &image, err)) {
        append_file_close(&spool->file);
        free(spool);
        return false;
    }
    spool->epoch = image.epoch;
    spool->outbox = outbox_new(&(OutboxOptions){
        .epoch = image.epoch,
        .last_sequence = image.last_sequence,
        .bytes_max = options->bytes_max,
        .storage = { storage_append, storage_drop, storage_trim, storage_restart, spool },
        .space_available = options->room,
        .space_context = options->context,
    });
    for (uint32_t i = 0; i < image.records.len; i++) {
        outbox_restore(spool->outbox, &image.records.items[i]);
    }
    *out = spool;
    return true;
}

void spool_close(Spool *spool)
{
    if (spool == NULL) {
        return;
    }
    Error err;
    if ((spool->pending.len > 0 || spool->image.len > 0) && !spool_flush(spool, &err)) {
        log_warning("records lost: cannot write the spool", LOG_C("error", err.text));
    }
    loop_timer_stop(&spool->flush);
    outbox_free(spool->outbox);
    append_file_close(&spool->file);
    buf_clear(&spool->pending);
    buf_clear(&spool->image);
    free(spool);
}

Outbox *spool_outbox(Spool *spool)
{
    return spool->outbox;
}

SpoolStatus spool_status(const Spool *spool)
{
    return (SpoolStatus){ spool->file.size, spool->failing ? &spool->why : NULL,
                          directory_has(spool->options.directory, SPOOL_DAMAGED) };
}
