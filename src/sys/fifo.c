#include "sys/fifo.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file_io.h"

enum {
    READ_BYTES = 64 << 10,
};

/* Opened for reading and writing, so that it stays open when the other side closes it. */
bool fifo_make(const char *path, int *descriptor, Error *err)
{
    if ((unlink(path) != 0 && errno != ENOENT) || mkfifo(path, 0600) != 0) {
        return file_error(err, errno, path);
    }
    *descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (*descriptor < 0) {
        return file_error(err, errno, path);
    }
    /* otherwise a long text cannot be written */
    (void)fcntl(*descriptor, F_SETPIPE_SZ, FIFO_BYTES_MAX);
    return true;
}

bool fifo_open(const char *path, int *descriptor, Error *err)
{
    *descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    return *descriptor >= 0 ||
           (errno == ENXIO ? error_set(err, ERROR_NOT_FOUND, "nothing reads %s", path)
                           : file_error(err, errno, path));
}

bool fifo_write(int descriptor, Str text, Error *err)
{
    ssize_t done = write(descriptor, text.data, text.len);
    return done == (ssize_t)text.len ||
           file_error(err, done < 0 ? errno : ENOBUFS, "cannot write to the pipe");
}

void fifo_read(int descriptor, Buf *out)
{
    char bytes[READ_BYTES];
    ssize_t got;
    while ((got = read(descriptor, bytes, sizeof bytes)) > 0) {
        buf_put(out, str_from(bytes, (size_t)got));
    }
}

void fifo_close(int descriptor)
{
    if (descriptor >= 0) {
        close(descriptor);
    }
}
