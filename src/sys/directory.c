#include "sys/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/vec.h"
#include "sys/file.h"
#include "sys/file_io.h"

enum {
    LINKS_MAX = 40,     /* same limit as in the kernel */
    REMOVE_DEPTH = 128, /* nested directories */
    NAME_BYTES = 300,
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

/* --- Opening ---------------------------------------------------------------------------------- */

typedef struct PathWalk {
    int current;              /* the directory reached so far */
    char remaining[PATH_MAX]; /* the remaining path from there */
    unsigned links;
    bool creates;
    const char *path; /* the full path, for messages */
} PathWalk;

/* Removes the next component from the path; returns false if there is none. `*is_last` is set if
 * nothing follows it. */
static bool next_name(PathWalk *walk, char name[NAME_MAX + 1], bool *is_last, int *number)
{
    const char *start = walk->remaining;
    while (*start == '/') {
        start++;
    }
    size_t len = strcspn(start, "/");
    if (len == 0) {
        return false;
    }
    if (len > NAME_MAX) {
        *number = ENAMETOOLONG;
        return false;
    }
    memcpy(name, start, len);
    name[len] = '\0';
    const char *rest = start + len;
    *is_last = rest[strspn(rest, "/")] == '\0';
    memmove(walk->remaining, rest, strlen(rest) + 1);
    return true;
}

static int open_name(const PathWalk *walk, const char *name, bool is_last)
{
    int found = openat(walk->current, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (found >= 0 || errno != ENOENT || !walk->creates) {
        return found;
    }
    if (mkdirat(walk->current, name, is_last ? 0700 : 0755) == 0) {
        /* Otherwise a crash could lose it, with everything that was synced in it. */
        sync_directory(walk->current);
    } else if (errno != EEXIST) {
        return -1;
    }
    return openat(walk->current, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static bool refuse(const PathWalk *walk, const char *name, uid_t owner, Error *err)
{
    return error_set(err, ERROR_DENIED,
                     "%s: '%s' is a symbolic link that user %u controls; root does not follow it",
                     walk->path, name, (unsigned)owner);
}

/* Puts the target of the link in front of the remaining path. */
static bool follow(PathWalk *walk, int link, const char *name, const struct stat *status,
                   Error *err)
{
    struct stat above;
    char target[PATH_MAX], remaining[PATH_MAX];
    if (fstat(walk->current, &above) != 0) {
        return file_error(err, errno, walk->path);
    }
    if (geteuid() == 0 && (status->st_uid != 0 || above.st_uid != 0)) {
        return refuse(walk, name, status->st_uid != 0 ? status->st_uid : above.st_uid, err);
    }
    ssize_t len = readlinkat(link, "", target, sizeof target - 1);
    if (len <= 0 || ++walk->links > LINKS_MAX) {
        return file_error(err, len < 0 ? errno : ELOOP, walk->path);
    }
    target[len] = '\0';
    if (snprintf(remaining, sizeof remaining, "%s/%s", target, walk->remaining) >=
        (int)sizeof remaining) {
        return file_error(err, ENAMETOOLONG, walk->path);
    }
    memcpy(walk->remaining, remaining, strlen(remaining) + 1);
    if (target[0] == '/') {
        int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0) {
            return file_error(err, errno, walk->path);
        }
        close(walk->current);
        walk->current = root;
    }
    return true;
}

static bool walk_path(PathWalk *walk, Error *err)
{
    char name[NAME_MAX + 1];
    bool is_last = false;
    int number = 0;
    while (next_name(walk, name, &is_last, &number)) {
        struct stat status;
        int found = open_name(walk, name, is_last);
        if (found < 0 || fstat(found, &status) != 0) {
            number = errno;
            if (found >= 0) {
                close(found);
            }
            return file_error(err, number, walk->path);
        }
        if (S_ISLNK(status.st_mode)) {
            bool ok = follow(walk, found, name, &status, err);
            close(found);
            if (!ok) {
                return false;
            }
            continue;
        }
        close(walk->current);
        walk->current = found;
        if (!S_ISDIR(status.st_mode)) {
            return file_error(err, ENOTDIR, walk->path);
        }
    }
    return number == 0 || file_error(err, number, walk->path);
}

/* Opens the directory `path`, relative to `start` (AT_FDCWD: the working directory). With
 * `creates`, creates missing directories: the last one with mode 0700, its parents with the usual
 * mode. Messages call it `display_path`.
 *
 * Root follows a link only if no other user can have created it: a link that is owned by another
 * user, or in a directory of another user, fails with ERROR_DENIED. For other users the kernel
 * enforces permissions anyway, so links are followed as usual. */
static bool open_trusted(int start, const char *path, const char *display_path, bool creates,
                         int *out, Error *err)
{
    PathWalk walk = { .path = display_path, .creates = creates };
    *out = -1;
    if (path[0] == '\0' || strlen(path) >= sizeof walk.remaining) {
        return file_error(err, path[0] == '\0' ? ENOENT : ENAMETOOLONG, display_path);
    }
    memcpy(walk.remaining, path, strlen(path) + 1);
    walk.current = openat(path[0] == '/' ? AT_FDCWD : start, path[0] == '/' ? "/" : ".",
                          O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (walk.current < 0) {
        return file_error(err, errno, display_path);
    }
    bool ok = walk_path(&walk, err);
    if (ok) {
        *out = openat(walk.current, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ok = *out >= 0 || file_error(err, errno, display_path);
    }
    close(walk.current);
    return ok;
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

/* Opens a regular file for reading. */
static bool open_file(const Directory *directory, const char *name, int *out, struct stat *status,
                      Error *err)
{
    int descriptor =
        openat(directory->descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool ok = descriptor >= 0 && fstat(descriptor, status) == 0;
    int number = ok ? EINVAL : errno;
    if (ok && S_ISREG(status->st_mode)) {
        *out = descriptor;
        return true;
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    return directory_error(err, number, directory, name);
}

/* After reading a file. Always false. */
static bool read_error(Error *err, int number, const Directory *directory, const char *name,
                       size_t max)
{
    char path[NAME_BYTES + sizeof directory->path];
    snprintf(path, sizeof path, "%s/%s", directory->path, name);
    return file_read_error(err, number, path, max);
}

bool directory_read(const Directory *directory, Arena *arena, const char *name, size_t max,
                    Str *out, Error *err)
{
    struct stat status;
    int descriptor;
    if (!open_file(directory, name, &descriptor, &status, err)) {
        return false;
    }
    bool ok = read_to_end(descriptor, arena, status.st_size, max, out) ||
              read_error(err, errno, directory, name, max);
    close(descriptor);
    return ok;
}

bool directory_read_private(const Directory *directory, const char *name, char *out, size_t max,
                            size_t *len, Error *err)
{
    struct stat status;
    int descriptor;
    if (!open_file(directory, name, &descriptor, &status, err)) {
        return false;
    }
    if ((status.st_mode & 077) != 0) {
        close(descriptor);
        return error_set(err, ERROR_DENIED,
                         "%s/%s: readable by users other than its owner; create a new secret or, "
                         "if no one has read it, run 'chmod 600' on it",
                         directory->path, name);
    }
    char more;
    size_t extra;
    bool ok = read_at(descriptor, 0, out, max, len) &&
              read_at(descriptor, (int64_t)*len, &more, *len == max, &extra);
    int number = ok && extra > 0 ? EFBIG : errno;
    close(descriptor);
    return (ok && extra == 0) || read_error(err, number, directory, name, max);
}

bool directory_is_exposed(const Directory *directory, const char *name)
{
    struct stat status;
    return fstatat(directory->descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode) && (status.st_mode & 077) != 0;
}

bool directory_write(const Directory *directory, const char *name, Str text, bool sync, Error *err)
{
    NewFile file;
    if (!new_file_open(directory->descriptor, name, 0600, &file)) {
        return directory_error(err, errno, directory, name);
    }
    bool ok = file_write_all(file.descriptor, text, err) ||
              error_wrap(err, "%s/%s", directory->path, name);
    if (ok && !new_file_publish(&file, sync ? NEW_FILE_SYNC : 0)) {
        ok = directory_error(err, errno, directory, name);
    }
    new_file_discard(&file);
    return ok;
}

bool directory_remove(const Directory *directory, const char *name, Error *err)
{
    return unlinkat(directory->descriptor, name, 0) == 0 ||
           directory_error(err, errno, directory, name);
}

bool directory_share(const Directory *directory, const char *name, Error *err)
{
    int descriptor = openat(directory->descriptor, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    bool ok = descriptor >= 0 && fchmod(descriptor, 0644) == 0;
    int code = errno;
    if (descriptor >= 0) {
        close(descriptor);
    }
    return ok || directory_error(err, code, directory, name);
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
    DIR *entries =
        entries_open(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (entries == NULL) {
        return;
    }
    for (const char *entry; (entry = entries_next(entries)) != NULL;) {
        if (unlinkat(dirfd(entries), entry, 0) != 0 && depth > 0) {
            remove_below(dirfd(entries), entry, depth - 1);
        }
    }
    entries_close(entries);
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

/* Whether the reserve of inodes is in use. File systems without a limit report 0. */
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
    char beside[NAME_MAX + 1];
    int at = directory->descriptor;
    if (!new_file_name(second, beside) || linkat(at, name, at, beside, 0) != 0) {
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
    DIR *entries = entries_open_at(directory->descriptor);
    if (entries == NULL) {
        return file_error(err, errno, directory->path);
    }
    VEC(DirectoryEntry) found = { 0 };
    bool ok = true;
    for (const char *entry; ok && (entry = entries_next(entries)) != NULL;) {
        struct stat status;
        if (fstatat(directory->descriptor, entry, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode)) {
            continue;
        }
        if (found.len == max) {
            ok = error_set(err, ERROR_LIMIT, "%s: more than %u files", directory->path, max);
            break;
        }
        Str name = str_from_c(entry);
        name.data = arena_copy_c(arena, name);
        DirectoryEntry file = { name, status.st_size, mtime_ns_of(&status) };
        VEC_PUSH(arena, &found, file);
    }
    entries_close(entries);
    if (found.len > 1) {
        qsort(found.items, found.len, sizeof *found.items, compare_entries);
    }
    *out = found.items;
    *count = found.len;
    return ok;
}
