/* Owner, mode, directories and links. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/host_inner.h"

/* What stands at `path` itself, also a link: good for changing its attributes. */
static int open_itself(Host *host, Str path, Error *err)
{
    char name[PATH_MAX];
    if (!host_path(path, name, err)) {
        return -1;
    }
    int descriptor = host_open_path(host, name, O_PATH | O_NOFOLLOW);
    if (descriptor < 0) {
        host_error(err, errno, path);
    }
    return descriptor;
}

/* fchmod refuses what was opened with O_PATH. Kernels before 6.6 lack the call that does not. */
static bool change_mode(int descriptor, mode_t mode)
{
#ifdef SYS_fchmodat2
    if (syscall(SYS_fchmodat2, descriptor, "", mode, AT_EMPTY_PATH) == 0) {
        return true;
    }
    if (errno != ENOSYS) {
        return false;
    }
#endif
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    return chmod(link, mode) == 0;
}

/* Attributes are part of the inode, which the next sync writes: a lost one is found and set again
 * by the next run. */
static bool settle(Host *host, int descriptor, Str path, bool changed, Error *err)
{
    bool ok = changed || host_error(err, errno, path);
    if (ok && host->sync == SYNC_LATER) {
        ok = host_flush_directory(host, descriptor) || host_error(err, errno, path);
    }
    close(descriptor);
    return ok;
}

bool host_put(Host *host, Str path, Str text, Error *err)
{
    char name[PATH_MAX];
    if (!host_path(path, name, err)) {
        return false;
    }
    int descriptor = host_open_path(host, name, O_WRONLY | O_NOFOLLOW);
    if (descriptor < 0) {
        return host_error(err, errno, path);
    }
    bool ok =
        write(descriptor, text.data, text.len) == (ssize_t)text.len || host_error(err, errno, path);
    close(descriptor);
    return ok;
}

bool host_set_mode(Host *host, Str path, mode_t mode, Error *err)
{
    int descriptor = open_itself(host, path, err);
    if (descriptor < 0) {
        return false;
    }
    struct stat status;
    if (fstat(descriptor, &status) == 0 && S_ISLNK(status.st_mode)) {
        close(descriptor);
        return error_set(err, ERROR_INVALID, "%" STR_FMT ": a link has no mode", STR_ARG(path));
    }
    return settle(host, descriptor, path, change_mode(descriptor, mode), err);
}

bool host_set_owner(Host *host, Str path, uid_t uid, gid_t gid, Error *err)
{
    int descriptor = open_itself(host, path, err);
    if (descriptor < 0) {
        return false;
    }
    bool changed = fchownat(descriptor, "", uid, gid, AT_EMPTY_PATH) == 0;
    return settle(host, descriptor, path, changed, err);
}

/* --- Directories --------------------------------------------------------------------------- */

/* The process's umask may have taken bits away. */
static bool settle_mode(const HostEntry *entry, mode_t mode)
{
    int descriptor =
        openat(entry->directory, entry->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) {
        return false;
    }
    struct stat status;
    bool ok = fstat(descriptor, &status) == 0 &&
              ((status.st_mode & 07777) == mode || change_mode(descriptor, mode));
    int number = errno;
    close(descriptor);
    errno = number;
    return ok;
}

static bool make_one(Host *host, Str path, mode_t mode, bool must_be_new, Error *err)
{
    HostEntry entry;
    struct stat status;
    if (!host_open_entry(host, path, &entry, err)) {
        return false;
    }
    bool made = mkdirat(entry.directory, entry.name, mode) == 0;
    bool exists = !made && errno == EEXIST && !must_be_new;
    bool ok = made ? settle_mode(&entry, mode) && host_flush_directory(host, entry.directory)
                   : exists &&
                         fstatat(entry.directory, entry.name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                         S_ISDIR(status.st_mode);
    if (!ok && exists) {
        error_set(err, ERROR_CONFLICT, "%" STR_FMT " is there and is not a directory",
                  STR_ARG(path));
    } else if (!ok) {
        host_error(err, errno, path);
    }
    host_entry_close(&entry);
    return ok;
}

enum {
    PARENT_MODE = 0755
};

/* Links on the way are followed, as everywhere; so each part is looked up from the root. */
static bool make_parents(Host *host, Str path, Error *err)
{
    for (size_t at = 1; at < path.len; at++) {
        if (path.data[at] != '/' || path.data[at - 1] == '/') {
            continue;
        }
        char name[PATH_MAX];
        Str parent = str_slice(path, 0, at);
        if (!host_path(parent, name, err)) {
            return false;
        }
        int descriptor = host_open_path(host, name, O_PATH | O_DIRECTORY);
        if (descriptor >= 0) {
            close(descriptor);
        } else if (errno == HOST_LINK_REFUSED) {
            return host_error(err, errno, path);
        } else if (!make_one(host, parent, PARENT_MODE, false, err)) {
            return false;
        }
    }
    return true;
}

bool host_make_directory(Host *host, Str path, mode_t mode, bool parents, Error *err)
{
    while (path.len > 1 && path.data[path.len - 1] == '/') {
        path.len--;
    }
    if (str_eq(path, STR("/"))) {
        return true;
    }
    if (make_one(host, path, mode, false, err)) {
        return true;
    }
    return err->kind == ERROR_NOT_FOUND && parents && make_parents(host, path, err) &&
           make_one(host, path, mode, false, err);
}

bool host_create_directory(Host *host, Str path, mode_t mode, Error *err)
{
    return make_one(host, path, mode, true, err);
}

/* --- Links --------------------------------------------------------------------------------- */

/* Over another link, at one moment. */
static bool replace_link(const HostEntry *entry, const char *target)
{
    char name[HOST_TEMP_NAME];
    host_temp_name(entry->name, name);
    unlinkat(entry->directory, name, 0); /* of one who was killed */
    if (symlinkat(target, entry->directory, name) != 0) {
        return false;
    }
    if (renameat(entry->directory, name, entry->directory, entry->name) != 0) {
        int number = errno;
        unlinkat(entry->directory, name, 0);
        errno = number;
        return false;
    }
    return true;
}

static bool make_link(const HostEntry *entry, Str path, const char *target, Error *err)
{
    if (symlinkat(target, entry->directory, entry->name) == 0) {
        return true;
    }
    struct stat status;
    if (errno == EEXIST &&
        fstatat(entry->directory, entry->name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!S_ISLNK(status.st_mode)) {
            return error_set(err, ERROR_CONFLICT, "%" STR_FMT ": there is something else already",
                             STR_ARG(path));
        }
        if (replace_link(entry, target)) {
            return true;
        }
    }
    return host_error(err, errno, path);
}

bool host_make_link(Host *host, Str path, Str target, Error *err)
{
    if (target.len == 0 || target.len >= PATH_MAX ||
        memchr(target.data, '\0', target.len) != NULL) {
        return error_set(err, ERROR_INVALID, "a link cannot lead to '%" STR_FMT "'",
                         STR_ARG(str_slice(target, 0, 100)));
    }
    char text[PATH_MAX];
    memcpy(text, target.data, target.len);
    text[target.len] = '\0';
    HostEntry entry;
    if (!host_open_entry(host, path, &entry, err)) {
        return false;
    }
    bool ok = make_link(&entry, path, text, err);
    if (ok && !host_flush_directory(host, entry.directory)) {
        ok = host_error(err, errno, path);
    }
    host_entry_close(&entry);
    return ok;
}
