#include "sys/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/file_error.h"
#include "sys/open_trusted.h"

enum {
    REMOVE_DEPTH = 128, /* nested directories */
    NAME_BYTES = 300,
    NAME_TRIES = 16,
    READ_PIECE = 16 << 10,
    DISK_RESERVE = 64 << 20,
    DISK_RESERVE_DIVISOR = 16,
    FILES_RESERVE = 1000,
};

bool directory_error(Error *err, int number, const Directory *directory, const char *name)
{
    char path[NAME_BYTES + sizeof directory->path];
    snprintf(path, sizeof path, "%s/%s", directory->path, name);
    return file_error(err, number, path);
}

bool directory_open(const char *path, Directory *out, Error *err)
{
    snprintf(out->path, sizeof out->path, "%s", path);
    return open_trusted(AT_FDCWD, path, path, false, &out->descriptor, err);
}

/* Parents get the usual mode: only the last directory is private. */
bool directory_make(const char *path, Directory *out, Error *err)
{
    snprintf(out->path, sizeof out->path, "%s", path);
    return open_trusted(AT_FDCWD, path, path, true, &out->descriptor, err);
}

static bool open_child(const Directory *directory, const char *name, bool makes, Directory *out,
                       Error *err)
{
    char path[NAME_BYTES + sizeof directory->path];
    snprintf(path, sizeof path, "%s/%s", directory->path, name);
    snprintf(out->path, sizeof out->path, "%.*s", (int)sizeof out->path - 1, path);
    return open_trusted(directory->descriptor, name, path, makes, &out->descriptor, err);
}

bool directory_open_child(const Directory *directory, const char *name, Directory *out, Error *err)
{
    return open_child(directory, name, false, out, err);
}

bool directory_make_child(const Directory *directory, const char *name, Directory *out, Error *err)
{
    return open_child(directory, name, true, out, err);
}

bool directory_set_mode(const Directory *directory, unsigned mode, Error *err)
{
    return fchmod(directory->descriptor, (mode_t)mode) == 0 ||
           file_error(err, errno, directory->path);
}

bool directory_give(const Directory *directory, uid_t user, gid_t group, Error *err)
{
    return fchown(directory->descriptor, user, group) == 0 ||
           file_error(err, errno, directory->path);
}

bool directory_mode(const Directory *directory, unsigned *mode, Error *err)
{
    struct stat status;
    if (fstat(directory->descriptor, &status) != 0) {
        return file_error(err, errno, directory->path);
    }
    *mode = status.st_mode & 07777;
    return true;
}

bool directory_owner(const Directory *directory, uid_t *user, gid_t *group, Error *err)
{
    struct stat status;
    if (fstat(directory->descriptor, &status) != 0) {
        return file_error(err, errno, directory->path);
    }
    *user = status.st_uid;
    *group = status.st_gid;
    return true;
}

void directory_close(Directory *directory)
{
    if (directory->descriptor >= 0) {
        close(directory->descriptor);
    }
    directory->descriptor = -1;
}

static bool read_whole(int descriptor, Arena *arena, size_t max, Str *out, int *number)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        *number = errno;
        return false;
    }
    if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > max) {
        *number = S_ISREG(status.st_mode) ? EFBIG : EINVAL;
        return false;
    }
    Buf text = buf_make_in(arena, max);
    for (;;) {
        size_t left = status.st_size > (off_t)text.len ? (size_t)status.st_size - text.len : 0;
        size_t piece = left > 0 ? left : READ_PIECE;
        piece = piece > max - text.len ? max - text.len : piece;
        if (piece == 0) {
            break;
        }
        if (!buf_reserve(&text, piece)) {
            *number = EFBIG;
            return false;
        }
        ssize_t got = read(descriptor, text.data + text.len, piece);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            *number = errno;
            return false;
        }
        if (got == 0) {
            break;
        }
        text.len += (size_t)got;
    }
    *out = buf_str(&text);
    return true;
}

bool directory_read(const Directory *directory, Arena *arena, const char *name, size_t max,
                    Str *out, Error *err)
{
    int descriptor =
        openat(directory->descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        return directory_error(err, errno, directory, name);
    }
    int number = 0;
    bool ok = read_whole(descriptor, arena, max, out, &number);
    close(descriptor);
    if (!ok && number == EFBIG) {
        return error_set(err, ERROR_LIMIT, "%s/%s: larger than %zu bytes", directory->path, name,
                         max);
    }
    return ok || directory_error(err, number, directory, name);
}

/* Reads up to `max` bytes, and one more to detect a file that is too large. */
static bool read_private(int descriptor, char *out, size_t max, size_t *len, int *number)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        *number = errno;
        return false;
    }
    if (!S_ISREG(status.st_mode) || (status.st_mode & 077) != 0) {
        *number = S_ISREG(status.st_mode) ? EPERM : EINVAL;
        return false;
    }
    size_t at = 0;
    for (;;) {
        char more;
        ssize_t got = at < max ? read(descriptor, out + at, max - at) : read(descriptor, &more, 1);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 || (got > 0 && at == max)) {
            *number = got < 0 ? errno : EFBIG;
            return false;
        }
        if (got == 0) {
            *len = at;
            return true;
        }
        at += (size_t)got;
    }
}

bool directory_read_private(const Directory *directory, const char *name, char *out, size_t max,
                            size_t *len, Error *err)
{
    int descriptor =
        openat(directory->descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        return directory_error(err, errno, directory, name);
    }
    int number = 0;
    bool ok = read_private(descriptor, out, max, len, &number);
    close(descriptor);
    if (!ok && number == EFBIG) {
        return error_set(err, ERROR_LIMIT, "%s/%s: larger than %zu bytes", directory->path, name,
                         max);
    }
    if (!ok && number == EPERM) {
        return error_set(err, ERROR_DENIED,
                         "%s/%s: readable by users other than its owner; create a new secret or, "
                         "if no one has read it, run 'chmod 600' on it",
                         directory->path, name);
    }
    return ok || directory_error(err, number, directory, name);
}

bool directory_is_exposed(const Directory *directory, const char *name)
{
    struct stat status;
    return fstatat(directory->descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode) && (status.st_mode & 077) != 0;
}

static int open_beside(const Directory *directory, const char *name, char *beside, size_t size)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        snprintf(beside, size, "%s.%016llx.new", name, (unsigned long long)random_seed());
        int descriptor = openat(directory->descriptor, beside,
                                O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (descriptor >= 0 || errno != EEXIST) {
            return descriptor;
        }
    }
    return -1;
}

bool directory_write(const Directory *directory, const char *name, Str text, bool sync, Error *err)
{
    char beside[NAME_BYTES];
    int descriptor = open_beside(directory, name, beside, sizeof beside);
    if (descriptor < 0) {
        return directory_error(err, errno, directory, name);
    }
    bool ok =
        file_write_all(descriptor, text, err) || error_wrap(err, "%s/%s", directory->path, name);
    if (ok && sync && fsync(descriptor) != 0) {
        ok = directory_error(err, errno, directory, name);
    }
    close(descriptor);
    if (ok && renameat(directory->descriptor, beside, directory->descriptor, name) != 0) {
        ok = directory_error(err, errno, directory, name);
    }
    if (!ok) {
        unlinkat(directory->descriptor, beside, 0);
        return false;
    }
    if (sync) {
        (void)!fsync(directory->descriptor);
    }
    return true;
}

bool directory_remove(const Directory *directory, const char *name, Error *err)
{
    return unlinkat(directory->descriptor, name, 0) == 0 ||
           directory_error(err, errno, directory, name);
}

static int64_t mtime_ns_of(const struct stat *status)
{
    return status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec;
}

bool directory_remove_older(const Directory *directory, const char *name, int64_t before_ns,
                            bool *removed, Error *err)
{
    struct stat status;
    *removed = false;
    if (fstatat(directory->descriptor, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT || directory_error(err, errno, directory, name);
    }
    if (mtime_ns_of(&status) >= before_ns) {
        return true;
    }
    if (unlinkat(directory->descriptor, name, 0) != 0) {
        return errno == ENOENT || directory_error(err, errno, directory, name);
    }
    *removed = true;
    return true;
}

static void remove_below(int parent, const char *name, unsigned depth)
{
    int descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (stream == NULL) {
        if (descriptor >= 0) {
            close(descriptor);
        }
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (unlinkat(descriptor, entry->d_name, 0) != 0 && depth > 0) {
            remove_below(descriptor, entry->d_name, depth - 1);
        }
    }
    closedir(stream);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void directory_remove_child(const Directory *directory, const char *name)
{
    remove_below(directory->descriptor, name, REMOVE_DEPTH);
}

bool directory_move(const Directory *directory, const char *name, const Directory *to,
                    const char *new_name, Error *err)
{
    if (renameat(directory->descriptor, name, to->descriptor, new_name) != 0) {
        return directory_error(err, errno, directory, name);
    }
    (void)!fsync(to->descriptor);
    (void)!fsync(directory->descriptor);
    return true;
}

void directory_remove_temporaries(const Directory *directory)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    DirectoryEntry *entries;
    uint32_t count;
    Error err;
    if (!directory_list(directory, &arena, UINT32_MAX, &entries, &count, &err)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (str_ends(entries[i].name, STR(".new"))) {
            unlinkat(directory->descriptor, entries[i].name.data, 0);
        }
    }
}

int64_t directory_disk_size(const Directory *directory)
{
    struct statvfs status;
    return fstatvfs(directory->descriptor, &status) == 0 && status.f_blocks > 0
               ? (int64_t)(status.f_blocks * status.f_frsize)
               : INT64_MAX;
}

int64_t directory_disk_free(const Directory *directory)
{
    struct statvfs status;
    return fstatvfs(directory->descriptor, &status) == 0
               ? (int64_t)(status.f_bavail * status.f_frsize)
               : 0;
}

/* Whether the reserve of files is in use. Some file systems have no limit of files, and 0 here. */
static bool is_short_of_files(const struct statvfs *status)
{
    uint64_t part = status->f_files / DISK_RESERVE_DIVISOR;
    return status->f_favail < (part < FILES_RESERVE ? part : FILES_RESERVE);
}

int64_t directory_disk_unreserved(const Directory *directory)
{
    struct statvfs status;
    int64_t part = directory_disk_size(directory) / DISK_RESERVE_DIVISOR;
    if (fstatvfs(directory->descriptor, &status) == 0 && is_short_of_files(&status)) {
        return -1;
    }
    return directory_disk_free(directory) - (part < DISK_RESERVE ? part : DISK_RESERVE);
}

bool directory_reserve(const Directory *directory, const char *name, int64_t bytes)
{
    int descriptor = openat(directory->descriptor, name,
                            O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        return false;
    }
    bool ok = ftruncate(descriptor, bytes) == 0 && posix_fallocate(descriptor, 0, bytes) == 0;
    close(descriptor);
    if (!ok) {
        unlinkat(directory->descriptor, name, 0);
    }
    return ok;
}

bool directory_has(const Directory *directory, const char *name)
{
    return faccessat(directory->descriptor, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool directory_link(const Directory *directory, const char *name, const char *second)
{
    char beside[NAME_BYTES];
    snprintf(beside, sizeof beside, "%s.%016llx.new", second, (unsigned long long)random_seed());
    int at = directory->descriptor;
    if (linkat(at, name, at, beside, 0) != 0) {
        return false;
    }
    bool ok = renameat(at, beside, at, second) == 0;
    /* If both names are links to the same file, rename does nothing and keeps the first. */
    unlinkat(at, beside, 0);
    return ok;
}

void directory_sync(const Directory *directory)
{
    (void)!fsync(directory->descriptor);
}

bool directory_touch(const Directory *directory, const char *name)
{
    return utimensat(directory->descriptor, name, NULL, AT_SYMLINK_NOFOLLOW) == 0;
}

static int compare_entries(const void *a, const void *b)
{
    return str_compare(((const DirectoryEntry *)a)->name, ((const DirectoryEntry *)b)->name);
}

bool directory_list(const Directory *directory, Arena *arena, uint32_t max, DirectoryEntry **out,
                    uint32_t *count, Error *err)
{
    int descriptor = openat(directory->descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (stream == NULL) {
        int number = errno;
        if (descriptor >= 0) {
            close(descriptor);
        }
        return file_error(err, number, directory->path);
    }
    VEC(DirectoryEntry) found = { 0 };
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(stream)) != NULL;) {
        struct stat status;
        if (fstatat(directory->descriptor, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode)) {
            continue;
        }
        if (found.len == max) {
            ok = error_set(err, ERROR_LIMIT, "%s: more than %u files", directory->path, max);
            break;
        }
        Str name = str_from_c(entry->d_name);
        name.data = arena_copy_c(arena, name);
        DirectoryEntry file = { name, status.st_size, mtime_ns_of(&status) };
        VEC_PUSH(arena, &found, file);
    }
    closedir(stream);
    if (found.len > 1) {
        qsort(found.items, found.len, sizeof *found.items, compare_entries);
    }
    *out = found.items;
    *count = found.len;
    return ok;
}
