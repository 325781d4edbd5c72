#include "sys/file_commit.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/file_error.h"

enum {
    PIECE = 64 << 10
};

static bool sync_path(const char *path, int flags, Error *err)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (descriptor < 0) {
        return file_error(err, errno, path);
    }
    bool done = fsync(descriptor) == 0 || file_error(err, errno, path);
    close(descriptor);
    return done;
}

bool file_commit(const char *draft, const char *path, Error *err)
{
    char directory[4096];
    if (snprintf(directory, sizeof directory, "%s", path) >= (int)sizeof directory) {
        return file_error(err, ENAMETOOLONG, path);
    }
    if (!sync_path(draft, 0, err)) {
        return false;
    }
    if (rename(draft, path) != 0) {
        return file_error(err, errno, path);
    }
    return sync_path(dirname(directory), O_DIRECTORY, err);
}

bool file_digest(const char *path, char digest[SHA256_HEX + 1], int64_t *bytes, Error *err)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return file_error(err, errno, path);
    }
    Sha256 sha;
    sha256_start(&sha);
    int64_t total = 0;
    ssize_t got;
    char piece[PIECE];
    while ((got = read(descriptor, piece, sizeof piece)) > 0 || (got < 0 && errno == EINTR)) {
        if (got > 0) {
            sha256_add(&sha, str_from(piece, (size_t)got));
            total += got;
        }
    }
    bool done = got == 0 || file_error(err, errno, path);
    close(descriptor);
    if (done) {
        sha256_finish(&sha, digest);
        *bytes = total;
    }
    return done;
}

void file_remove(const char *path)
{
    unlink(path);
}
