/* Owner, mode, directories and links. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/file_io.h"
#include "sys/host_inner.h"

static bool has_hard_links(int descriptor, struct stat *status)
{
    return fstat(descriptor, status) == 0 && S_ISREG(status->st_mode) && status->st_nlink > 1;
}

/* A user who can write to a directory can create a hard link to another user's file there, unless
 * fs.protected_hardlinks forbids it. Links to the user's own files are harmless. */
static bool may_be_malicious(const Host *host, uid_t owner, int directory)
{
    struct stat above;
    const Host *machine = host->parent != NULL ? host->parent : host;
    if (machine->follows_all_links) {
        return false;
    }
    return fstat(directory, &above) != 0 || (above.st_mode & S_IWOTH) != 0 ||
           (!host_trusts(machine, above.st_uid) && above.st_uid != owner);
}

static bool refuse_link(Str path, uid_t owner, Error *err)
{
    return error_set(err, ERROR_DENIED,
                     "%" STR_FMT
                     ": this file is owned by user %u and has other hard links, and another user "
                     "may have created this one; root does not change its owner or mode, or copy "
                     "its content. If the link is legitimate, replace it with a copy",
                     STR_ARG(path), (unsigned)owner);
}

static int open_hard_link(Host *host, Str path, Error *err)
{
    HostEntry entry;
    struct stat status;
    if (!host_open_entry(host, path, &entry, err)) {
        return -1;
    }
    int descriptor = openat(entry.directory, entry.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) {
        host_error(err, errno, path);
    } else if (has_hard_links(descriptor, &status) &&
               may_be_malicious(host, status.st_uid, entry.directory)) {
        refuse_link(path, status.st_uid, err);
        close(descriptor);
        descriptor = -1;
    }
    host_entry_close(&entry);
    return descriptor;
}

/* Opens `path` itself, without following a link, to change its attributes. */
static int open_itself(Host *host, Str path, Error *err)
{
    char name[PATH_MAX];
    struct stat status;
    if (!host_path(path, name, err)) {
        return -1;
    }
    int descriptor = host_open_path(host, name, O_PATH | O_NOFOLLOW);
    if (descriptor < 0) {
        host_open_error(host, err, errno, path);
    } else if (has_hard_links(descriptor, &status)) {
        close(descriptor);
        descriptor = open_hard_link(host, path, err);
    }
    return descriptor;
}

/* fchmod fails on O_PATH descriptors; the system call that accepts them exists since Linux 6.6. */
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

/* Attributes are part of the inode, which the next sync writes; if a change is lost, the next run
 * repeats it. */
static bool finish_change(Host *host, int descriptor, Str path, bool changed, Error *err)
{
    bool ok = changed || host_error(err, errno, path);
    if (ok && host->sync == SYNC_LATER) {
        ok = host_flush_directory(host, descriptor) || host_error(err, errno, path);
    }
    close(descriptor);
    return ok;
}

bool host_write_existing(Host *host, Str path, Str text, Error *err)
{
    char name[PATH_MAX];
    if (!host_path(path, name, err)) {
        return false;
    }
    int descriptor = host_open_path(host, name, O_WRONLY | O_NOFOLLOW);
    if (descriptor < 0) {
        return host_open_error(host, err, errno, path);
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
        return error_set(err, ERROR_INVALID, "%" STR_FMT ": a symbolic link has no mode",
                         STR_ARG(path));
    }
    return finish_change(host, descriptor, path, change_mode(descriptor, mode), err);
}

bool host_set_owner(Host *host, Str path, uid_t uid, gid_t gid, Error *err)
{
    int descriptor = open_itself(host, path, err);
    if (descriptor < 0) {
        return false;
    }
    bool changed = fchownat(descriptor, "", uid, gid, AT_EMPTY_PATH) == 0;
    return finish_change(host, descriptor, path, changed, err);
}

bool host_check_hard_links(Host *host, Str path, Error *err)
{
    int descriptor = open_itself(host, path, err);
    return descriptor >= 0 && close(descriptor) == 0;
}

bool host_check_content(Host *host, Str path, const FileInfo *info, Error *err)
{
    HostEntry entry;
    if (!info->has_hard_links || info->planned) {
        return true;
    }
    if (!host_open_entry(host, path, &entry, err)) {
        return false;
    }
    bool ok =
        !may_be_malicious(host, info->uid, entry.directory) || refuse_link(path, info->uid, err);
    host_entry_close(&entry);
    return ok;
}

bool host_check_owner(Host *host, Arena *arena, Str path, const FileInfo *info, Error *err)
{
    HostEntry entry;
    struct stat above;
    const Host *machine = host->parent != NULL ? host->parent : host;
    if (machine->follows_all_links || info->planned || host_trusts(machine, info->uid) ||
        (info->kind != FILE_REGULAR && info->kind != FILE_DIRECTORY)) {
        return true;
    }
    if (!host_open_entry(host, path, &entry, err)) {
        return false;
    }
    bool open = fstat(entry.directory, &above) != 0 || (above.st_mode & S_IWOTH) != 0;
    host_entry_close(&entry);
    const char *advice = info->kind == FILE_DIRECTORY ? "Remove it, or set 'owner' to that user"
                                                      : "Set 'owner', or remove it";
    return !open ||
           error_set(err, ERROR_DENIED,
                     "%" STR_FMT ": this %s is owned by user '%" STR_FMT
                     "', who could change it later, and its parent directory is writable by "
                     "everyone. %s",
                     STR_ARG(path), file_kind_name(info->kind),
                     STR_ARG(host_user_name(host, arena, info->uid)), advice);
}

/* --- Directories --------------------------------------------------------------------------- */

void host_drop_inherited_acl(const Host *host, int directory, int made)
{
    struct stat status;
    char path[64];
    const Host *machine = host->parent != NULL ? host->parent : host;
    if (machine->follows_all_links || fstat(directory, &status) != 0 ||
        host_trusts(machine, status.st_uid)) {
        return;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", made);
    (void)removexattr(path, "system.posix_acl_access");
    (void)removexattr(path, "system.posix_acl_default");
}

/* The umask of the process may have cleared bits. */
static bool set_final_mode(const Host *host, const HostEntry *entry, mode_t mode)
{
    int descriptor =
        openat(entry->directory, entry->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) {
        return false;
    }
    struct stat status;
    host_drop_inherited_acl(host, entry->directory, descriptor);
    bool ok = fstat(descriptor, &status) == 0 &&
              ((status.st_mode & 07777) == mode || change_mode(descriptor, mode));
    int number = errno;
    close(descriptor);
    errno = number;
    return ok;
}

static bool make_one(Host *host, Str path, mode_t mode, Error *err)
{
    HostEntry entry;
    struct stat status;
    if (!host_open_entry(host, path, &entry, err)) {
        return false;
    }
    bool made = mkdirat(entry.directory, entry.name, mode) == 0;
    bool exists = !made && errno == EEXIST;
    bool ok =
        made ? set_final_mode(host, &entry, mode) && host_flush_directory(host, entry.directory)
             : exists && fstatat(entry.directory, entry.name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISDIR(status.st_mode);
    if (!ok && exists) {
        error_set(err, ERROR_CONFLICT, "%" STR_FMT " exists and is not a directory", STR_ARG(path));
    } else if (!ok) {
        host_error(err, errno, path);
    }
    host_entry_close(&entry);
    return ok;
}

enum {
    PARENT_MODE = 0755
};

/* Links in parent directories are followed as usual, so each component is looked up from the
 * root. */
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
            return host_open_error(host, err, errno, path);
        } else if (!make_one(host, parent, PARENT_MODE, err)) {
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
    if (make_one(host, path, mode, err)) {
        return true;
    }
    return err->kind == ERROR_NOT_FOUND && parents && make_parents(host, path, err) &&
           make_one(host, path, mode, err);
}

/* A directory that another user has put in its place has entries, or belongs to that user. */
static bool is_new_and_ours(int descriptor)
{
    struct stat status;
    DIR *entries = entries_open_at(descriptor);
    bool is_empty = entries != NULL && entries_next(entries) == NULL;
    entries_close(entries);
    return is_empty && fstat(descriptor, &status) == 0 && status.st_uid == geteuid();
}

bool host_create_directory(Host *host, Str path, mode_t mode, uid_t uid, gid_t gid, Error *err)
{
    HostEntry entry;
    if (!host_open_entry(host, path, &entry, err)) {
        return false;
    }
    int descriptor = -1;
    bool ok = mkdirat(entry.directory, entry.name, 0700) == 0 || host_error(err, errno, path);
    if (ok) {
        descriptor =
            openat(entry.directory, entry.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        ok = descriptor >= 0 || host_error(err, errno, path);
    }
    if (ok && !is_new_and_ours(descriptor)) {
        ok = error_set(err, ERROR_CONFLICT, "%" STR_FMT ": another user is modifying it",
                       STR_ARG(path));
    }
    if (ok) {
        host_drop_inherited_acl(host, entry.directory, descriptor);
        ok = (fchown(descriptor, uid, gid) == 0 && fchmod(descriptor, mode) == 0 &&
              host_flush_directory(host, entry.directory)) ||
             host_error(err, errno, path);
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    host_entry_close(&entry);
    return ok;
}

/* --- Links --------------------------------------------------------------------------------- */

/* Atomically replaces another link. */
static bool replace_link(const HostEntry *entry, const char *target)
{
    char name[HOST_TEMP_NAME];
    host_temp_name(entry->name, name);
    /* Left by a killed process, or a directory of another user. */
    if (unlinkat(entry->directory, name, 0) != 0 && errno != ENOENT) {
        snprintf(name, sizeof name, ".eden-%016llx", (unsigned long long)random_seed());
    }
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
            return error_set(err, ERROR_CONFLICT, "%" STR_FMT ": exists and is not a symbolic link",
                             STR_ARG(path));
        }
        if (replace_link(entry, target)) {
            return true;
        }
    }
    return host_error(err, errno, path);
}

bool host_check_link(Str path, Str target, Error *err)
{
    if (str_eq(path, STR("/"))) {
        return error_set(err, ERROR_INVALID, "'/' cannot be a symbolic link");
    }
    if (target.len >=
        PATH_MAX) { /* the target is not shown: a truncated secret would not be redacted */
        return error_set(err, ERROR_INVALID,
                         "the target of a symbolic link is %zu bytes long; the maximum is %d",
                         target.len, PATH_MAX - 1);
    }
    if (target.len == 0 || memchr(target.data, '\0', target.len) != NULL) {
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT "' is not a valid target of a symbolic link",
                         STR_ARG(target));
    }
    return true;
}

bool host_make_link(Host *host, Str path, Str target, Error *err)
{
    if (!host_check_link(path, target, err)) {
        return false;
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
