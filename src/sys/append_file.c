#include "sys/append_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/file_io.h"

bool append_file_open(const Directory *directory, const char *name, AppendFile *out, Error *err)
{
    *out = (AppendFile){ .mutex = PTHREAD_MUTEX_INITIALIZER };
    snprintf(out->name, sizeof out->name, "%s/%s", directory->path, name);
    out->descriptor = openat(directory->descriptor, name,
                             O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat status;
    if (out->descriptor < 0 || fstat(out->descriptor, &status) != 0) {
        int number = errno;
        append_file_close(out);
        return directory_error(err, number, directory, name);
    }
    if (!S_ISREG(status.st_mode)) {
        append_file_close(out);
        return error_set(err, ERROR_INVALID, "%s/%s: not a regular file", directory->path, name);
    }
    out->size = status.st_size;
    return true;
}

void append_file_close(AppendFile *file)
{
    if (file->descriptor >= 0) {
        close(file->descriptor);
    }
    file->descriptor = -1;
}

bool append_file_read_from(const AppendFile *file, int64_t offset, Arena *arena, size_t max,
                           Str *out, Error *err)
{
    char *data = arena_alloc(arena, max + 1);
    size_t len;
    if (!read_at(file->descriptor, offset, data, max, &len)) {
        return file_error(err, errno, file->name);
    }
    *out = str_from(data, len);
    return true;
}

bool append_file_read(const AppendFile *file, Arena *arena, size_t max, Str *out, Error *err)
{
    if ((uint64_t)file->size > max) {
        return error_set(err, ERROR_LIMIT, "%s: larger than %zu bytes", file->name, max);
    }
    return append_file_read_from(file, 0, arena, (size_t)file->size, out, err);
}

/* A short write is undone: half a record in the middle of the file would be worse than none. */
static bool add_locked(AppendFile *file, Str record, Error *err)
{
    ssize_t put;
    do {
        put = write(file->descriptor, record.data, record.len);
    } while (put < 0 && errno == EINTR);
    if (put == (ssize_t)record.len) {
        file->size += put;
        return true;
    }
    int number = put < 0 ? errno : ENOSPC;
    if (put > 0 && ftruncate(file->descriptor, file->size) != 0) {
        return error_set(err, ERROR_OS, "%s: an incomplete record could not be removed",
                         file->name);
    }
    return file_error(err, number, file->name);
}

bool append_file_add(AppendFile *file, Str record, Error *err)
{
    pthread_mutex_lock(&file->mutex);
    bool ok = add_locked(file, record, err);
    pthread_mutex_unlock(&file->mutex);
    return ok;
}

bool append_file_truncate(AppendFile *file, int64_t size, Error *err)
{
    if (ftruncate(file->descriptor, size) != 0) {
        return file_error(err, errno, file->name);
    }
    file->size = size;
    return true;
}

bool append_file_sync(AppendFile *file, Error *err)
{
    return fdatasync(file->descriptor) == 0 || file_error(err, errno, file->name);
}

void append_file_reserve(AppendFile *file, int64_t bytes)
{
    (void)!fallocate(file->descriptor, FALLOC_FL_KEEP_SIZE, file->size, bytes);
}
