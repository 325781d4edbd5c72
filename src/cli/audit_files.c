#include "cli/audit_files.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/audit_archiver.h"
#include "cli/daemon_command.h"
#include "cli/output.h"
#include "sys/file_stream.h"

/* --- Single file ----------------------------------------------------------------------------- */

enum {
    CHUNK_SIZE = 64 << 10
};

static bool read_header(FileReader *file, AuditArchiveReader *reader, Error *err)
{
    char chunk[AUDIT_ARCHIVE_LINE];
    size_t length;
    if (!file_reader_next(file, chunk, sizeof chunk, &length, err)) {
        return false;
    }
    size_t end = str_find(str_from(chunk, length), STR("\n"), 0);
    if (!audit_archive_reader_feed(reader, str_from(chunk, end == STR_NOT_FOUND ? length : end + 1),
                                   err)) {
        return false;
    }
    return reader->line > 0 || error_set(err, ERROR_INVALID, "line 1: not an audit log archive");
}

bool audit_file_header(const char *path, AuditArchive *out, Error *err)
{
    AUTO(FileReader) *file = NULL;
    AUTO_CLEAR(AuditArchiveReader) reader;
    audit_archive_reader_init(&reader);
    if (!file_reader_open(path, &file, err)) {
        return false;
    }
    if (!read_header(file, &reader, err)) {
        return error_wrap(err, "%s", path);
    }
    *out = reader.archive;
    return true;
}

static bool read_all(FileReader *file, AuditArchiveReader *reader, Error *err)
{
    char chunk[CHUNK_SIZE];
    size_t length;
    do {
        if (!file_reader_next(file, chunk, sizeof chunk, &length, err) ||
            !audit_archive_reader_feed(reader, str_from(chunk, length), err)) {
            return false;
        }
    } while (length > 0);
    return audit_archive_reader_finish(reader, err);
}

bool audit_file_check(const char *path, AuditArchiveReader *reader, Error *err)
{
    AUTO(FileReader) *file = NULL;
    return file_reader_open(path, &file, err) &&
           (read_all(file, reader, err) || error_wrap(err, "%s", path));
}

/* --- Sequence of files ----------------------------------------------------------------------- */

typedef struct ArchiveFile {
    const char *path;
    AuditArchive archive;
} ArchiveFile;

typedef struct ArchiveFiles {
    ArchiveFile *items; /* ordered by sequence number */
    uint32_t count;
    bool has_anchor; /* `anchor` is from a server of the same cluster */
    AuditAnchor anchor;
    Str anchor_error; /* why `has_anchor` is false */
} ArchiveFiles;

static int compare_entries(const void *a, const void *b)
{
    const AuditArchive *first = &((const ArchiveFile *)a)->archive,
                       *second = &((const ArchiveFile *)b)->archive;
    if (first->first != second->first) {
        return first->first < second->first ? -1 : 1;
    }
    return (first->last > second->last) - (first->last < second->last);
}

static bool read_headers(Invocation *invocation, ArchiveFiles *files, Error *err)
{
    files->count = invocation->arg_count;
    files->items = ARENA_ARRAY(invocation->arena, ArchiveFile, files->count);
    for (uint32_t i = 0; i < files->count; i++) {
        ArchiveFile *file = &files->items[i];
        file->path = invocation->args[i];
        if (!audit_file_header(file->path, &file->archive, err)) {
            return false;
        }
    }
    qsort(files->items, files->count, sizeof *files->items, compare_entries);
    for (uint32_t i = 1; i < files->count; i++) {
        if (!audit_archive_follows(&files->items[i - 1].archive, &files->items[i].archive, err)) {
            return error_wrap(err, "%s", files->items[i].path);
        }
    }
    return true;
}

/* Archives can be verified offline, so failing to reach a server is not an error. */
static void query_server(Invocation *invocation, ArchiveFiles *files)
{
    Arena *arena = invocation->arena;
    Value response;
    Error err;
    bool responded;
    ClusterRequest request = { .method = "GET", .target = STR("/v1/audit-entries?limit=1") };
    if (!cluster_send(invocation, &request, &response, &responded, &err) ||
        !audit_anchor_read(response, &files->anchor, &err)) {
        files->anchor_error = arena_copy(arena, str_from_c(err.text));
    } else if (strcmp(files->anchor.cluster, files->items[0].archive.cluster) != 0) {
        files->anchor_error =
            arena_format(arena, "the server belongs to cluster '%s', the archives to '%s'",
                         files->anchor.cluster, files->items[0].archive.cluster);
    } else {
        files->has_anchor = true;
    }
}

/* Entries that are still in the log (not dropped yet, or restored from a backup) must match it. */
static bool check_not_dropped(const Invocation *invocation, const ArchiveFile *file, Error *err)
{
    Arena *arena = invocation->arena;
    Value response;
    AuditEntry entry;
    Error ignored;
    bool responded;
    Str target = arena_format(arena, "/v1/audit-entries?limit=1&from=%" PRIu64, file->archive.last);
    ClusterRequest request = { .method = "GET", .target = target };
    if (!cluster_send(invocation, &request, &response, &responded, err)) {
        return error_wrap(err, "the server's log");
    }
    const List *entries = value_get_list(response, "entries");
    bool is_same = entries->len > 0 && value_is_string(entries->items[0]) &&
                   audit_entry_read(arena, value_str(entries->items[0]), &entry, &ignored) &&
                   entry.sequence == file->archive.last && str_eq_c(entry.hash, file->archive.hash);
    return is_same ||
           error_set(err, ERROR_INVALID,
                     "%s: entry %" PRIu64 " does not match the server's log, or is missing from "
                     "it",
                     file->path, file->archive.last);
}

/* The log must start within the archives or directly after them. */
static bool check_anchor(const Invocation *invocation, const ArchiveFiles *files, Error *err)
{
    const AuditArchive *first = &files->items[0].archive;
    const AuditArchive *last = &files->items[files->count - 1].archive;
    uint64_t anchor = files->anchor.sequence;
    if (!files->has_anchor) {
        return true;
    }
    if (anchor > last->last) {
        return error_set(err, ERROR_INVALID,
                         "%s: the server's log starts after entry %" PRIu64
                         ", so the archive of entries %" PRIu64 " to %" PRIu64 " is missing",
                         files->items[files->count - 1].path, anchor, last->last + 1, anchor);
    }
    if (anchor + 1 < first->first) {
        return error_set(err, ERROR_INVALID,
                         "%s: the server's log has all entries from %" PRIu64
                         " on, so this is not an archive of it",
                         files->items[0].path, anchor + 1);
    }
    return anchor == last->last ||
           check_not_dropped(invocation, &files->items[files->count - 1], err);
}

static bool check_file(const ArchiveFiles *files, uint32_t at, Error *err)
{
    AUTO_CLEAR(AuditArchiveReader) reader;
    audit_archive_reader_init(&reader);
    if (at > 0) {
        const AuditArchive *previous = &files->items[at - 1].archive;
        audit_archive_reader_mark(&reader, previous->last, previous->hash);
    }
    if (at + 1 < files->count) {
        const AuditArchive *next = &files->items[at + 1].archive;
        audit_archive_reader_mark(&reader, next->first - 1, next->previous);
    }
    if (files->has_anchor) {
        audit_archive_reader_mark(&reader, files->anchor.sequence, files->anchor.hash);
    }
    return audit_file_check(files->items[at].path, &reader, err);
}

/* --- Output ---------------------------------------------------------------------------------- */

static int print_value(const Invocation *invocation, const ArchiveFiles *files)
{
    Arena *arena = invocation->arena;
    Map *map = map_new(arena, 5);
    List *list = list_new(arena, files->count);
    map_set_str(arena, map, STR("format"), value_string(STR("eden.audit-archives/1")));
    map_set_str(arena, map, STR("whole"), value_bool(true));
    map_set_str(arena, map, STR("cluster"),
                value_string(str_from_c(files->items[0].archive.cluster)));
    for (uint32_t i = 0; i < files->count; i++) {
        const ArchiveFile *file = &files->items[i];
        Map *one = map_new(arena, 4);
        map_set_str(arena, one, STR("file"), value_string(str_from_c(file->path)));
        map_set_str(arena, one, STR("first"), value_int((int64_t)file->archive.first));
        map_set_str(arena, one, STR("last"), value_int((int64_t)file->archive.last));
        map_set_str(arena, one, STR("hash"), value_string(str_from_c(file->archive.hash)));
        list_push(arena, list, value_map(one));
    }
    map_set_str(arena, map, STR("archives"), value_list(list));
    map_set_str(arena, map, STR("joins"), files->has_anchor ? value_bool(true) : value_null());
    return output_response(invocation, value_map(map));
}

static void print_continuation(const Invocation *invocation, const ArchiveFiles *files)
{
    const AuditArchive *last = &files->items[files->count - 1].archive;
    uint64_t anchor = files->anchor.sequence;
    if (!files->has_anchor) {
        output_line(invocation->err, "not checked against a server's log: %" STR_FMT,
                    STR_ARG(files->anchor_error));
    } else if (anchor == last->last) {
        output_line(invocation->out, "the server's log continues after entry %" PRIu64, anchor);
    } else {
        output_line(invocation->out,
                    "the server's log still has entries %" PRIu64 " to %" PRIu64
                    "; run 'eden audit archive --to' with the same file to drop them",
                    anchor + 1, last->last);
    }
}

static int print_result(const Invocation *invocation, const ArchiveFiles *files)
{
    if (output_wants_value(invocation)) {
        return print_value(invocation, files);
    }
    for (uint32_t i = 0; i < files->count; i++) {
        const AuditArchive *archive = &files->items[i].archive;
        output_line(invocation->out,
                    "%s: entries %" PRIu64 " to %" PRIu64
                    " of '%s' are intact; the hash of the last one is %s",
                    files->items[i].path, archive->first, archive->last, archive->cluster,
                    archive->hash);
    }
    if (files->items[0].archive.first > 1) {
        output_line(invocation->out, "none of the files has entries 1 to %" PRIu64,
                    files->items[0].archive.first - 1);
    }
    print_continuation(invocation, files);
    return EXIT_OK;
}

int audit_files_verify(Invocation *invocation)
{
    ArchiveFiles files = { 0 };
    Error err;
    bool ok = read_headers(invocation, &files, &err);
    if (ok) {
        query_server(invocation, &files);
    }
    for (uint32_t i = 0; ok && i < files.count; i++) {
        ok = check_file(&files, i, &err);
    }
    /* Report damaged files before gaps in the sequence. */
    ok = ok && check_anchor(invocation, &files, &err);
    if (!ok) {
        /* All invalid archives have the same exit code, for scripts. */
        (void)daemon_command_fail(invocation, "E0875", &err);
        return EXIT_FAILED;
    }
    return print_result(invocation, &files);
}
