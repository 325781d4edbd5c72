#include "sys/open_trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file_io.h"

enum {
    LINKS_MAX = 40 /* same limit as in the kernel */
};

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

/* Without a durable entry in its parent, a new directory would be lost with everything synced in
 * it. */
static void sync_directory(int directory)
{
    int descriptor = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)!fsync(descriptor);
        close(descriptor);
    }
}

static int open_name(const PathWalk *walk, const char *name, bool is_last)
{
    int found = openat(walk->current, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (found >= 0 || errno != ENOENT || !walk->creates) {
        return found;
    }
    if (mkdirat(walk->current, name, is_last ? 0700 : 0755) == 0) {
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

bool open_trusted(int start, const char *path, const char *display_path, bool creates, int *out,
                  Error *err)
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
