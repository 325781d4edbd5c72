/* Writing: to a descriptor, and whole files that nobody sees half. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/file.h"
#include "sys/file_error.h"

bool file_write_all(int descriptor, Str text, Error *err)
{
    while (text.len > 0) {
        ssize_t put = write(descriptor, text.data, text.len);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return error_set(err, ERROR_OS, "cannot write: %s", strerror(errno));
        }
        text = str_from_offset(text, (size_t)put);
    }
    return true;
}

enum {
    NAME_TRIES = 16
};

/* A new file beside the one to replace. The mode is the one of an ordinary new file, which
 * mkstemp would not give. */
static int open_beside(const char *path, mode_t mode, char *name, size_t size, Error *err)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        if (snprintf(name, size, "%s.%016llx.new", path, (unsigned long long)random_seed()) >=
            (int)size) {
            file_error(err, ENAMETOOLONG, path);
            return -1;
        }
        int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (descriptor >= 0 || errno != EEXIST) {
            if (descriptor < 0) {
                file_error(err, errno, path);
            }
            return descriptor;
        }
    }
    file_error(err, EEXIST, path);
    return -1;
}

static bool fill(int descriptor, const char *path, Str text, Error *err)
{
    if (!file_write_all(descriptor, text, err)) {
        return error_wrap(err, "%s", path);
    }
    /* Before the name changes: else a crash could leave the new name with no content. */
    if (fsync(descriptor) != 0) {
        return file_error(err, errno, path);
    }
    return true;
}

/* Makes a rename last. Not all file systems can do this for a directory, and the file itself is
 * safe already, so this is done as well as it can be. */
static void sync_directory_of(const char *path)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    snprintf(directory, sizeof directory, "%.*s", length == 0 ? 1 : (int)length,
             length == 0 ? "." : path);
    int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)!fsync(descriptor);
        close(descriptor);
    }
}

/* Gives the draft its name. A link fails where the name is taken. */
static bool give_name(const char *draft, const char *path, bool fresh, Error *err)
{
    if (!fresh) {
        return rename(draft, path) == 0 || file_error(err, errno, path);
    }
    if (link(draft, path) != 0) {
        return errno == EEXIST ? error_set(err, ERROR_CONFLICT, "%s: is there already", path)
                               : file_error(err, errno, path);
    }
    unlink(draft);
    return true;
}

static bool write_as(const char *path, Str text, mode_t mode, bool fresh, Error *err)
{
    char name[PATH_MAX];
    int descriptor = open_beside(path, mode, name, sizeof name, err);
    if (descriptor < 0) {
        return false;
    }
    bool ok = fill(descriptor, path, text, err);
    if (close(descriptor) != 0 && ok) {
        ok = file_error(err, errno, path);
    }
    if (!ok || !give_name(name, path, fresh, err)) {
        unlink(name);
        return false;
    }
    sync_directory_of(path);
    return true;
}

bool file_write_atomic(const char *path, Str text, Error *err)
{
    return write_as(path, text, 0666, false, err);
}

bool file_write_private(const char *path, Str text, Error *err)
{
    return write_as(path, text, 0600, false, err);
}

bool file_write_new_private(const char *path, Str text, Error *err)
{
    return write_as(path, text, 0600, true, err);
}
