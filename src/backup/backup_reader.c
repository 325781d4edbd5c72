/* Reads the parts of a backup in order: first line, manifest, files, store. Bytes are passed to the
 * sink as they arrive; each digest is checked at the end of its part. */
#include "backup/backup_reader.h"

#include "base/bug.h"

enum {
    STATE_LINE,
    STATE_MANIFEST,
    STATE_PART,
    STATE_STORE,
    STATE_COMPLETE,
    STATE_FAILED,
};

/* Information that is stored twice must match. */
static bool read_head(void *context, const StoreDumpHead *head, Error *err)
{
    BackupReader *reader = context;
    const BackupManifest *manifest = &reader->manifest;
    if (head->revision != manifest->revision) {
        return error_set(err, ERROR_INVALID,
                         "its revision is %lld, but the manifest specifies %lld",
                         (long long)head->revision, (long long)manifest->revision);
    }
    return strcmp(head->store_id, manifest->store_id) == 0 ||
           error_set(err, ERROR_INVALID,
                     "it is from the store '%s', but the manifest specifies '%s'", head->store_id,
                     manifest->store_id);
}

void backup_reader_init(BackupReader *reader, const BackupSink *sink)
{
    *reader = (BackupReader){ .sink = *sink, .head = buf_make(BACKUP_MANIFEST_MAX) };
    arena_init(&reader->arena, ARENA_UNLIMITED);
    store_dump_reader_init(&reader->dump, &(StoreDumpSink){ .head = read_head, .context = reader });
}

void backup_reader_clear(BackupReader *reader)
{
    arena_clear(&reader->arena);
    buf_clear(&reader->head);
    store_dump_reader_clear(&reader->dump);
}

/* Collects up to `bytes_needed` bytes. Returns whether it has all of them. */
static bool gather(BackupReader *reader, Str *bytes, size_t bytes_needed)
{
    size_t missing = bytes_needed - reader->head.len;
    size_t count = bytes->len < missing ? bytes->len : missing;
    buf_put(&reader->head, str_slice(*bytes, 0, count));
    *bytes = str_from_offset(*bytes, count);
    reader->consumed += count;
    return count == missing;
}

static void begin_part(BackupReader *reader)
{
    while (reader->part < BACKUP_STORE && !reader->manifest.parts[reader->part].is_present) {
        reader->part++;
    }
    reader->part_start = reader->consumed;
    if (reader->part == BACKUP_STORE) {
        reader->state = reader->manifest.format == 1 ? STATE_COMPLETE : STATE_STORE;
        return;
    }
    reader->state = STATE_PART;
    reader->remaining = reader->manifest.parts[reader->part].size;
    sha256_start(&reader->sha);
}

static bool end_part(BackupReader *reader, Error *err)
{
    char digest[SHA256_HEX + 1];
    const BackupPart *part = &reader->manifest.parts[reader->part];
    sha256_finish(&reader->sha, digest);
    if (!str_eq_c(str_from_c(digest), part->digest)) {
        return error_set(
            err, ERROR_INVALID,
            "damaged: the part '%s', bytes %llu to %llu of the file, does not match its checksum",
            backup_part_name((BackupPartKind)reader->part), (unsigned long long)reader->part_start,
            (unsigned long long)(reader->consumed));
    }
    reader->part++;
    begin_part(reader);
    return true;
}

static bool read_manifest(BackupReader *reader, Error *err)
{
    char digest[SHA256_HEX + 1];
    Str text = buf_str(&reader->head);
    sha256_hex(text, digest);
    if (!str_eq_c(str_from_c(digest), reader->line.digest)) {
        return error_set(
            err, ERROR_INVALID,
            "damaged: the manifest, bytes %d to %llu of the file, does not match its checksum",
            BACKUP_LINE, (unsigned long long)reader->consumed);
    }
    if (!backup_manifest_read(&reader->arena, text, reader->line.format, &reader->manifest, err) ||
        !reader->sink.manifest(reader->sink.context, &reader->manifest, err)) {
        return false;
    }
    buf_clear(&reader->head);
    begin_part(reader);
    return true;
}

static bool read_line(BackupReader *reader, Error *err)
{
    if (!backup_line_read(buf_str(&reader->head), &reader->line, err)) {
        return false;
    }
    buf_reset(&reader->head);
    reader->state = STATE_MANIFEST;
    return true;
}

static bool read_part(BackupReader *reader, Str *bytes, Error *err)
{
    size_t count =
        bytes->len < (uint64_t)reader->remaining ? bytes->len : (size_t)reader->remaining;
    Str piece = str_slice(*bytes, 0, count);
    *bytes = str_from_offset(*bytes, count);
    reader->consumed += count;
    reader->remaining -= (int64_t)count;
    if (count > 0) {
        sha256_add(&reader->sha, piece);
        if (!reader->sink.piece(reader->sink.context, (BackupPartKind)reader->part, piece, err)) {
            return false;
        }
    }
    return reader->remaining > 0 || end_part(reader, err);
}

static bool wrap_store_error(const BackupReader *reader, Error *err)
{
    return error_wrap(err, "the part '%s', starting at byte %llu of the file",
                      backup_part_name(BACKUP_STORE), (unsigned long long)reader->part_start);
}

static bool read_store(BackupReader *reader, Str *bytes, Error *err)
{
    Str rest = *bytes;
    if (!store_dump_reader_feed(&reader->dump, &rest, err)) {
        return wrap_store_error(reader, err);
    }
    Str piece = str_slice(*bytes, 0, bytes->len - rest.len);
    reader->consumed += piece.len;
    *bytes = rest;
    if (!reader->sink.piece(reader->sink.context, BACKUP_STORE, piece, err)) {
        return false;
    }
    if (store_dump_reader_is_complete(&reader->dump)) {
        BackupPart *part = &reader->manifest.parts[BACKUP_STORE];
        *part = (BackupPart){ .is_present = true, .size = reader->dump.end.bytes };
        memcpy(part->digest, reader->dump.end.digest, sizeof part->digest);
        reader->state = STATE_COMPLETE;
    }
    return true;
}

static bool read_some(BackupReader *reader, Str *bytes, Error *err)
{
    switch (reader->state) {
    case STATE_LINE: return !gather(reader, bytes, BACKUP_LINE) || read_line(reader, err);
    case STATE_MANIFEST:
        return !gather(reader, bytes, reader->line.length) || read_manifest(reader, err);
    case STATE_PART: return read_part(reader, bytes, err);
    case STATE_STORE: return read_store(reader, bytes, err);
    case STATE_COMPLETE:
        return error_set(err, ERROR_INVALID, "damaged: data after the end, byte %llu",
                         (unsigned long long)reader->consumed);
    default: BUG("reading after a failure");
    }
}

bool backup_reader_feed(BackupReader *reader, Str bytes, Error *err)
{
    while (bytes.len > 0) {
        if (!read_some(reader, &bytes, err)) {
            reader->state = STATE_FAILED;
            return false;
        }
    }
    /* An empty part is complete without input. */
    while (reader->state == STATE_PART && reader->remaining == 0) {
        if (!end_part(reader, err)) {
            reader->state = STATE_FAILED;
            return false;
        }
    }
    return true;
}

bool backup_reader_finish(BackupReader *reader, Error *err)
{
    BackupLine line;
    switch (reader->state) {
    case STATE_COMPLETE: return true;
    case STATE_LINE:
        /* Always fails, because the file is too short; the dump reader may return a more specific
         * error. */
        return backup_line_read(buf_str(&reader->head), &line, err);
    case STATE_MANIFEST:
        return error_set(err, ERROR_INVALID, "truncated: it ends at byte %llu, in the manifest",
                         (unsigned long long)reader->consumed);
    case STATE_PART:
        return error_set(
            err, ERROR_INVALID,
            "truncated: it ends at byte %llu, in the part '%s', of which %lld bytes are missing",
            (unsigned long long)reader->consumed, backup_part_name((BackupPartKind)reader->part),
            (long long)reader->remaining);
    case STATE_STORE:
        return store_dump_reader_finish(&reader->dump, err) || wrap_store_error(reader, err);
    default: BUG("finishing a backup that failed");
    }
}
