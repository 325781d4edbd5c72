/* Reads and writes archive files line by line; audit_archive.h has the format. */
#include "audit/audit_archive.h"

#include <stdio.h>

#include "base/bug.h"
#include "base/hex.h"
#include "lang/record.h"

static bool check_hash(Str text, Error *err)
{
    return (text.len == AUDIT_HASH_TEXT && hex_is_valid(text)) ||
           error_set(err, ERROR_INVALID, "must be a SHA-256 digest");
}

static bool check_archive(const void *record, Error *err)
{
    const AuditArchive *archive = record;
    return archive->last >= archive->first ||
           error_set(err, ERROR_INVALID, "'last': must not be less than 'first'");
}

static const RecordField archive_fields[] = {
    { "cluster", RECORD_TEXT, RECORD_CHARS_AT(AuditArchive, cluster), .is_required = true,
      .check_text = cluster_name_check, .help = "name of the cluster" },
    { "first", RECORD_INT, RECORD_INT_AT(AuditArchive, first), .is_required = true, .min = 1,
      .max = INT64_MAX, .help = "number of the first entry" },
    { "last", RECORD_INT, RECORD_INT_AT(AuditArchive, last), .is_required = true, .min = 1,
      .max = INT64_MAX, .help = "number of the last entry" },
    { "previous", RECORD_TEXT, RECORD_CHARS_AT(AuditArchive, previous), .is_required = true,
      .check_text = check_hash, .help = "hash of the entry before the first" },
    { "hash", RECORD_TEXT, RECORD_CHARS_AT(AuditArchive, hash), .is_required = true,
      .check_text = check_hash, .help = "hash of the last entry" },
    { 0 },
};

static const RecordFormat archive_format = {
    .format = AUDIT_ARCHIVE_FORMAT,
    .what = "not an audit log archive",
    .fields = archive_fields,
    .size = sizeof(AuditArchive),
    .text_max = AUDIT_ARCHIVE_LINE,
    .check = check_archive,
};

void audit_archive_print(const AuditArchive *archive, Buf *out)
{
    size_t before = out->len;
    record_print(&archive_format, archive, out);
    BUG_IF(out->len - before >= AUDIT_ARCHIVE_LINE);
    while (out->len - before < AUDIT_ARCHIVE_LINE - 1) {
        buf_put_char(out, ' ');
    }
    buf_put_char(out, '\n');
}

bool audit_archive_follows(const AuditArchive *archive, const AuditArchive *next, Error *err)
{
    if (strcmp(archive->cluster, next->cluster) != 0) {
        return error_set(err, ERROR_INVALID, "it is from cluster '%s', but others are from '%s'",
                         next->cluster, archive->cluster);
    }
    if (next->first > archive->last + 1) {
        return error_set(
            err, ERROR_INVALID, "entries %llu to %llu are missing from the archives before it",
            (unsigned long long)archive->last + 1, (unsigned long long)next->first - 1);
    }
    return next->last > archive->last ||
           error_set(err, ERROR_INVALID,
                     "the previous archive already contains all of its entries");
}

/* --- Reader ---------------------------------------------------------------------------------- */

void audit_archive_reader_init(AuditArchiveReader *reader)
{
    *reader = (AuditArchiveReader){ .rest = buf_make(BUF_UNLIMITED) };
}

void audit_archive_reader_clear(AuditArchiveReader *reader)
{
    buf_clear(&reader->rest);
}

void audit_archive_reader_mark(AuditArchiveReader *reader, uint64_t sequence, const char *hash)
{
    BUG_IF(reader->mark_count == AUDIT_MARKS_MAX);
    AuditMark *mark = &reader->marks[reader->mark_count++];
    mark->sequence = sequence;
    snprintf(mark->hash, sizeof mark->hash, "%s", hash);
}

static bool start_chain(AuditArchiveReader *reader, Str line, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AuditArchive *archive = &reader->archive;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!record_read(&archive_format, &arena, line, RECORD_STORED, archive, err)) {
        return false;
    }
    AuditHead head = { .sequence = archive->last, .floor_sequence = archive->first - 1 };
    memcpy(head.hash, archive->hash, sizeof head.hash);
    memcpy(head.floor_hash, archive->previous, sizeof head.floor_hash);
    audit_chain_start(&reader->chain, &head);
    return true;
}

static bool check_marks(const AuditArchiveReader *reader, Error *err)
{
    for (uint32_t i = 0; i < reader->mark_count; i++) {
        const AuditMark *mark = &reader->marks[i];
        if (mark->sequence == reader->chain.sequence &&
            strcmp(mark->hash, reader->chain.hash) != 0) {
            return error_set(
                err, ERROR_INVALID,
                "entry %llu has a different hash in the previous or next archive, or in the log",
                (unsigned long long)mark->sequence);
        }
    }
    return true;
}

static bool read_line(AuditArchiveReader *reader, Str line, Error *err)
{
    AuditChain *chain = &reader->chain;
    bool ok;
    reader->line++;
    if (reader->line == 1) {
        ok = start_chain(reader, line, err);
    } else {
        ok = audit_chain_add(chain, chain->sequence + 1, line) ||
             error_set(err, ERROR_INVALID, "%s", chain->what);
    }
    return (ok && check_marks(reader, err)) ||
           error_wrap(err, "line %llu", (unsigned long long)reader->line);
}

bool audit_archive_reader_feed(AuditArchiveReader *reader, Str bytes, Error *err)
{
    while (bytes.len > 0) {
        size_t end = str_find(bytes, STR("\n"), 0);
        Str piece = str_slice(bytes, 0, end == STR_NOT_FOUND ? bytes.len : end);
        if (reader->rest.len + piece.len > AUDIT_ENTRY_MAX) {
            return error_set(err, ERROR_LIMIT, "line %llu: longer than any entry",
                             (unsigned long long)reader->line + 1);
        }
        buf_put(&reader->rest, piece);
        if (end == STR_NOT_FOUND) {
            return true;
        }
        if (!read_line(reader, buf_str(&reader->rest), err)) {
            return false;
        }
        reader->rest.len = 0;
        bytes = str_slice(bytes, end + 1, bytes.len);
    }
    return true;
}

bool audit_archive_reader_finish(AuditArchiveReader *reader, Error *err)
{
    unsigned long long next = (unsigned long long)reader->line + 1;
    if (reader->rest.len > 0) {
        return error_set(err, ERROR_INVALID, "line %llu: truncated", next);
    }
    if (reader->line == 0) {
        return error_set(err, ERROR_INVALID, "line 1: the file is empty");
    }
    return audit_chain_end(&reader->chain) ||
           error_set(err, ERROR_INVALID, "line %llu: %s",
                     reader->chain.sequence < reader->archive.last ? next : next - 1,
                     reader->chain.what);
}
