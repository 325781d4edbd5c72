#include "sys/open_trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file_error.h"

enum {
    LINKS_MAX = 40 /* same limit as in the kernel */
};

typedef struct Way {
    int at;              /* the directory reached so far */
    char left[PATH_MAX]; /* the remaining path from there */
    unsigned links;
    bool makes;
    const char *path; /* the full path, for messages */
} Way;

/* Removes the next component from the path; returns false if there is none. `*is_last` is set if
 * nothing follows it. */
static bool next_name(Way *way, char name[NAME_MAX + 1], bool *is_last, int *number)
{
    const char *start = way->left;
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
    memmove(way->left, rest, strlen(rest) + 1);
    return true;
}

/* Without a durable entry in its parent, a new directory would be lost with everything synced in
 * it. */
static void sync_names(int directory)
{
    int descriptor = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)!fsync(descriptor);
        close(descriptor);
    }
}

static int open_name(const Way *way, const char *name, bool is_last)
{
    int found = openat(way->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (found >= 0 || errno != ENOENT || !way->makes) {
        return found;
    }
    if (mkdirat(way->at, name, is_last ? 0700 : 0755) == 0) {
        sync_names(way->at);
    } else if (errno != EEXIST) {
        return -1;
    }
    return openat(way->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static bool refuse(const Way *way, const char *name, uid_t owner, Error *err)
{
    return error_set(err, ERROR_DENIED,
                     "%s: '%s' is a symbolic link that user %u controls; root does not follow it",
                     way->path, name, (unsigned)owner);
}

/* Puts the target of the link in front of the remaining path. */
static bool follow(Way *way, int link, const char *name, const struct stat *status, Error *err)
{
    struct stat above;
    char target[PATH_MAX], left[PATH_MAX];
    if (fstat(way->at, &above) != 0) {
        return file_error(err, errno, way->path);
    }
    if (geteuid() == 0 && (status->st_uid != 0 || above.st_uid != 0)) {
        return refuse(way, name, status->st_uid != 0 ? status->st_uid : above.st_uid, err);
    }
    ssize_t len = readlinkat(link, "", target, sizeof target - 1);
    if (len <= 0 || ++way->links > LINKS_MAX) {
        return file_error(err, len < 0 ? errno : ELOOP, way->path);
    }
    target[len] = '\0';
    if (snprintf(left, sizeof left, "%s/%s", target, way->left) >= (int)sizeof left) {
        return file_error(err, ENAMETOOLONG, way->path);
    }
    memcpy(way->left, left, strlen(left) + 1);
    if (target[0] == '/') {
        int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0) {
            return file_error(err, errno, way->path);
        }
        close(way->at);
        way->at = root;
    }
    return true;
}

static bool walk(Way *way, Error *err)
{
    char name[NAME_MAX + 1];
    bool is_last = false;
    int number = 0;
    while (next_name(way, name, &is_last, &number)) {
        struct stat status;
        int found = open_name(way, name, is_last);
        if (found < 0 || fstat(found, &status) != 0) {
            number = errno;
            if (found >= 0) {
                close(found);
            }
            return file_error(err, number, way->path);
        }
        if (S_ISLNK(status.st_mode)) {
            bool ok = follow(way, found, name, &status, err);
            close(found);
            if (!ok) {
                return false;
            }
            continue;
        }
        close(way->at);
        way->at = found;
        if (!S_ISDIR(status.st_mode)) {
            return file_error(err, ENOTDIR, way->path);
        }
    }
    return number == 0 || file_error(err, number, way->path);
}

bool open_trusted(int start, const char *path, const char *shown, bool makes, int *out, Error *err)
{
    Way way = { .path = shown, .makes = makes };
    *out = -1;
    if (path[0] == '\0' || strlen(path) >= sizeof way.left) {
        return file_error(err, path[0] == '\0' ? ENOENT : ENAMETOOLONG, shown);
    }
    memcpy(way.left, path, strlen(path) + 1);
    way.at = openat(path[0] == '/' ? AT_FDCWD : start, path[0] == '/' ? "/" : ".",
                    O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (way.at < 0) {
        return file_error(err, errno, shown);
    }
    bool ok = walk(&way, err);
    if (ok) {
        *out = openat(way.at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ok = *out >= 0 || file_error(err, errno, shown);
    }
    close(way.at);
    return ok;
}
