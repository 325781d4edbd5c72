#include "cli/audit_file.h"

#include "sys/file_reader.h"

enum {
    PIECE = 64 << 10
};

static bool read_head(FileReader *file, AuditArchiveReader *reader, Error *err)
{
    char piece[AUDIT_ARCHIVE_LINE];
    size_t got;
    if (!file_reader_next(file, piece, sizeof piece, &got, err)) {
        return false;
    }
    size_t end = str_find(str_from(piece, got), STR("\n"), 0);
    if (!audit_archive_reader_take(reader, str_from(piece, end == STR_NOT_FOUND ? got : end + 1),
                                   err)) {
        return false;
    }
    return reader->line > 0 || error_set(err, ERROR_INVALID,
                                         "line 1: this is no archive of an "
                                         "audit log");
}

bool audit_file_head(const char *path, AuditArchive *out, Error *err)
{
    AUTO(FileReader) *file = NULL;
    AUTO_CLEAR(AuditArchiveReader) reader;
    audit_archive_reader_init(&reader);
    if (!file_reader_open(path, &file, err)) {
        return false;
    }
    if (!read_head(file, &reader, err)) {
        return error_wrap(err, "%s", path);
    }
    *out = reader.archive;
    return true;
}

static bool read_all(FileReader *file, AuditArchiveReader *reader, Error *err)
{
    char piece[PIECE];
    size_t got;
    do {
        if (!file_reader_next(file, piece, sizeof piece, &got, err) ||
            !audit_archive_reader_take(reader, str_from(piece, got), err)) {
            return false;
        }
    } while (got > 0);
    return audit_archive_reader_finish(reader, err);
}

bool audit_file_check(const char *path, AuditArchiveReader *reader, Error *err)
{
    AUTO(FileReader) *file = NULL;
    return file_reader_open(path, &file, err) &&
           (read_all(file, reader, err) || error_wrap(err, "%s", path));
}
