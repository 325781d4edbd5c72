#include "sys/file_commit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "sys/file_io.h"
#include "sys/file_stream.h"

enum {
    PIECE = 64 << 10
};

bool file_commit(const char *draft, const char *path, Error *err)
{
    int descriptor = open(draft, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return file_error(err, errno, draft);
    }
    bool ok = fsync(descriptor) == 0 || file_error(err, errno, draft);
    close(descriptor);
    return ok && (rename_durably(draft, path) || file_error(err, errno, path));
}

bool file_digest(const char *path, char digest[SHA256_HEX + 1], int64_t *bytes, Error *err)
{
    AUTO(FileReader) *reader = NULL;
    char piece[PIECE];
    Sha256 sha;
    int64_t total = 0;
    if (!file_reader_open(path, &reader, err)) {
        return false;
    }
    sha256_start(&sha);
    for (size_t got = sizeof piece; got == sizeof piece; total += (int64_t)got) {
        if (!file_reader_next(reader, piece, sizeof piece, &got, err)) {
            return false;
        }
        sha256_add(&sha, str_from(piece, got));
    }
    sha256_finish(&sha, digest);
    *bytes = total;
    return true;
}

void file_remove(const char *path)
{
    unlink(path);
}
