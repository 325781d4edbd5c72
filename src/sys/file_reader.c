#include "sys/file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "sys/file_error.h"

struct FileReader {
    int descriptor;
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
    return lseek(reader->descriptor, offset, SEEK_SET) >= 0 || file_error(err, errno, reader->path);
}

bool file_reader_next(FileReader *reader, char *buffer, size_t size, size_t *got, Error *err)
{
    ssize_t count;
    do {
        count = read(reader->descriptor, buffer, size);
    } while (count < 0 && errno == EINTR);
    *got = count > 0 ? (size_t)count : 0;
    return count >= 0 || file_error(err, errno, reader->path);
}
