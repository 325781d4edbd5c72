/* The copy of this machine for a process that is root only in a user namespace.
 *
 * The kernel does not allow such a process to cover a directory in which something is mounted, nor
 * to change files of users that are not mapped in the namespace, which are all files of the system.
 * So the root of the copy is a tmpfs in which directories are covered one by one, descending as far
 * as there are mounts below them. /etc is copied, so that its files are owned by the copy.
 * Elsewhere new directories are created over those that they hide, so that at least new files can
 * be created in them. Files that the user cannot read are empty. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file_io.h"
#include "sys/overlay_inner.h"

enum {
    ENTRIES_MAX = 20000, /* copied or created per subdirectory of the copied directory */
    DEPTH_MAX = 12,
    FILE_MAX = 1 << 20 /* bytes; larger files are left out */
};

typedef struct Copy {
    uint32_t entries;
    bool files; /* copy files too, not only directories */
} Copy;

static void copy_link(int from, int to, const char *name)
{
    char target[1024];
    ssize_t len = readlinkat(from, name, target, sizeof target - 1);
    if (len > 0) {
        target[len] = '\0';
        (void)!symlinkat(target, to, name);
    }
}

static void copy_file(int from, int to, const char *name, const struct stat *info)
{
    int source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (source < 0) {
        return; /* not readable by this user */
    }
    int made = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, info->st_mode & 0777);
    if (made >= 0) {
        while (sendfile(made, source, NULL, FILE_MAX) > 0) {
        }
        close(made);
    }
    close(source);
}

static void copy_directory(Copy *copy, int from, int to, uint32_t depth);

static void copy_entry(Copy *copy, int from, int to, const char *name, uint32_t depth)
{
    struct stat info;
    if (++copy->entries > ENTRIES_MAX || fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    if (S_ISDIR(info.st_mode)) {
        int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int next = depth < DEPTH_MAX ? openat(from, name, flags) : -1;
        if (next < 0) {
            return;
        }
        (void)!mkdirat(to, name, info.st_mode & 07777);
        int made = openat(to, name, flags);
        if (made >= 0) {
            copy_directory(copy, next, made, depth + 1);
            close(made);
        }
        close(next);
    } else if (copy->files && S_ISLNK(info.st_mode)) {
        copy_link(from, to, name);
    } else if (copy->files && S_ISREG(info.st_mode) && info.st_size <= FILE_MAX) {
        copy_file(from, to, name, &info);
    }
}

/* Best effort: what cannot be copied looks as if the user could not read it. */
static void copy_directory(Copy *copy, int from, int to, uint32_t depth)
{
    DIR *entries = entries_open_at(from);
    for (const char *name; entries != NULL && (name = entries_next(entries)) != NULL;) {
        copy->entries = depth == 0 ? 0 : copy->entries; /* each subdirectory has its own budget */
        copy_entry(copy, from, to, name, depth);
    }
    entries_close(entries);
}

static void copy_into(const char *from, int to, bool files)
{
    Copy copy = { .files = files };
    int source = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (source >= 0) {
        copy_directory(&copy, source, to, 0);
        close(source);
    }
}

static bool has_mount_below(const Overlay *overlay, Str point)
{
    for (uint32_t i = 0; i < overlay->mounts.len; i++) {
        Str other = overlay->mounts.items[i].point;
        if (overlay_is_below(other, point) && !str_eq(other, point) &&
            !str_eq_c(other, overlay->directory)) {
            return true;
        }
    }
    return false;
}

/* Mounts a new /etc with everything in it that can be read. */
static bool copy_settings(const Overlay *overlay, Error *err)
{
    const char *target = overlay_inside(overlay, STR("/etc"));
    int made = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (made < 0) {
        return file_error(err, errno, target);
    }
    copy_into("/etc", made, true);
    close(made);
    return true;
}

static bool cover_apart(Overlay *overlay, Str point, Error *err)
{
    if (!overlay_cover(overlay, point, err)) {
        return false;
    }
    /* /usr has many directories, and no one creates files there. */
    if (str_eq_c(point, "/var") || str_starts(point, STR("/var/"))) {
        copy_into(arena_copy_c(overlay->arena, point),
                  overlay->covers.items[overlay->covers.len - 1].upper, false);
    }
    return true;
}

static bool mount_entries(Overlay *overlay, Str point, Error *err);

/* Mounts one directory of the machine; the one in the copy exists already. */
static bool mount_directory(Overlay *overlay, Str point, Error *err)
{
    const char *path = arena_copy_c(overlay->arena, point);
    if (str_eq_c(point, "/proc")) {
        return overlay_mount_kernel(overlay, point, "proc", err) ||
               error_wrap(
                   err,
                   "cannot mount /proc for a separate PID namespace, which some containers forbid");
    }
    if (str_eq_c(point, "/sys")) {
        Error denied; /* if a part of it is hidden, as in some containers */
        return overlay_mount_kernel(overlay, point, "sysfs", &denied) ||
               overlay_bind_read_only(overlay, point, err);
    }
    if (str_eq_c(point, "/dev")) {
        return overlay_bind_read_only(overlay, point, err);
    }
    if (str_eq_c(point, "/etc")) {
        return copy_settings(overlay, err);
    }
    if (str_eq_c(point, "/run") || access(path, R_OK | X_OK) != 0) {
        return true;
    }
    return has_mount_below(overlay, point) ? mount_entries(overlay, point, err)
                                           : cover_apart(overlay, point, err);
}

/* Mounts all directories in it, and copies symlinks. Files are left out. */
static bool mount_entries(Overlay *overlay, Str point, Error *err)
{
    DIR *entries = opendir(arena_copy_c(overlay->arena, point));
    if (entries == NULL) {
        return true;
    }
    int target = open(overlay_inside(overlay, point), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = target >= 0 || file_error(err, errno, overlay_inside(overlay, point));
    for (const char *name; ok && (name = entries_next(entries)) != NULL;) {
        struct stat info;
        if (fstatat(dirfd(entries), name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (S_ISLNK(info.st_mode)) {
            copy_link(dirfd(entries), target, name);
        } else if (S_ISDIR(info.st_mode)) {
            Str next = arena_format(overlay->arena, "%" STR_FMT "/%s",
                                    STR_ARG(str_eq_c(point, "/") ? STR_EMPTY : point), name);
            ok = ((mkdirat(target, name, 0755) == 0 &&
                   fchmodat(target, name, info.st_mode & 07777, 0) == 0) ||
                  file_error(err, errno, next.data)) &&
                 mount_directory(overlay, next, err);
        }
    }
    if (target >= 0) {
        close(target);
    }
    entries_close(entries);
    return ok;
}

bool overlay_mount_as_user(Overlay *overlay, Error *err)
{
    /* pivot_root requires the new root to be a mount. */
    if (mount(overlay->inside, overlay->inside, NULL, MS_BIND, NULL) != 0) {
        return file_error(err, errno, overlay->inside);
    }
    return mount_entries(overlay, STR("/"), err);
}
