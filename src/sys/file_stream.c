#include "sys/file_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "sys/file.h"
#include "sys/file_io.h"

/* --- Reading --------------------------------------------------------------------------------- */

struct FileReader {
    int descriptor;
    int64_t offset;      /* of the next read */
    char path[PATH_MAX]; /* for messages */
};

bool file_reader_open(const char *path, FileReader **out, Error *err)
{
    struct stat status;
    /* O_NONBLOCK: opening a FIFO must not block. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return file_error(err, errno, path);
    }
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(descriptor);
        return error_set(err, ERROR_INVALID, "%s: not a regular file", path);
    }
    FileReader *reader = memory_new(sizeof *reader);
    reader->descriptor = descriptor;
    snprintf(reader->path, sizeof reader->path, "%s", path);
    *out = reader;
    return true;
}

void file_reader_close(FileReader *reader)
{
    if (reader != NULL) {
        close(reader->descriptor);
        free(reader);
    }
}

bool file_reader_seek(FileReader *reader, int64_t offset, Error *err)
{
    reader->offset = offset;
    return offset >= 0 || file_error(err, EINVAL, reader->path);
}

bool file_reader_next(FileReader *reader, char *buffer, size_t size, size_t *got, Error *err)
{
    if (!read_at(reader->descriptor, reader->offset, buffer, size, got)) {
        return file_error(err, errno, reader->path);
    }
    reader->offset += (int64_t)*got;
    return true;
}

/* --- Writing --------------------------------------------------------------------------------- */

struct FileDraft {
    char path[PATH_MAX]; /* final path */
    NewFile file;
    bool fresh;
};

/* The directory of a path and the name in it; -1 with errno. */
static int open_directory_of(const char *path, const char **name)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    *name = slash == NULL ? path : slash + 1;
    if (**name == '\0') {
        errno = path[0] == '\0' ? ENOENT : EISDIR;
        return -1;
    }
    snprintf(directory, sizeof directory, "%.*s", length == 0 ? 1 : (int)length,
             length == 0 ? "." : path);
    return open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool file_draft_open(const char *path, mode_t mode, bool fresh, FileDraft **out, Error *err)
{
    FileDraft *draft = memory_new(sizeof *draft);
    const char *name;
    int directory = -1;
    draft->fresh = fresh;
    if (snprintf(draft->path, sizeof draft->path, "%s", path) >= (int)sizeof draft->path) {
        errno = ENAMETOOLONG;
    } else {
        directory = open_directory_of(draft->path, &name);
    }
    if (directory < 0 || !new_file_open(directory, name, mode, &draft->file)) {
        int number = errno;
        if (directory >= 0) {
            close(directory);
        }
        free(draft);
        return file_error(err, number, path);
    }
    *out = draft;
    return true;
}

void file_draft_close(FileDraft *draft)
{
    if (draft != NULL) {
        new_file_discard(&draft->file);
        close(draft->file.directory);
        free(draft);
    }
}

bool file_draft_put(FileDraft *draft, Str piece, Error *err)
{
    return file_write_all(draft->file.descriptor, piece, err) || error_wrap(err, "%s", draft->path);
}

bool file_draft_put_first(FileDraft *draft, Str piece, Error *err)
{
    if (lseek(draft->file.descriptor, 0, SEEK_SET) != 0) {
        return file_error(err, errno, draft->path);
    }
    if (!file_draft_put(draft, piece, err)) {
        return false;
    }
    return lseek(draft->file.descriptor, 0, SEEK_END) >= 0 || file_error(err, errno, draft->path);
}

bool file_draft_keep(FileDraft *draft, Error *err)
{
    if (new_file_publish(&draft->file, NEW_FILE_SYNC | (draft->fresh ? NEW_FILE_EXCLUSIVE : 0))) {
        return true;
    }
    return errno == EEXIST && draft->fresh
               ? error_set(err, ERROR_CONFLICT, "%s: already exists", draft->path)
               : file_error(err, errno, draft->path);
}
