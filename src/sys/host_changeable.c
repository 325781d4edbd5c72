/* Detects paths that no user can create, replace or remove, regardless of permissions. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sys/host_inner.h"

/* Attributes that the file system does not support are reported as not set. */
static bool is_immutable(int descriptor)
{
    struct statx status;
    uint64_t attributes = STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND;
    return statx(descriptor, "", AT_EMPTY_PATH, 0, &status) == 0 &&
           (status.stx_attributes & attributes) != 0;
}

/* `entry`: the descriptor is an entry of the directory; otherwise it is the directory itself. */
static bool check_one(int descriptor, Str path, bool entry, Error *err)
{
    struct statfs system;
    if (fstatfs(descriptor, &system) == 0) {
        if (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC) {
            return error_set(err, ERROR_DENIED,
                             "%" STR_FMT ": kernel files cannot be created, replaced or removed",
                             STR_ARG(path));
        }
        if ((system.f_flags & ST_RDONLY) != 0) {
            return error_set(err, ERROR_DENIED, "%" STR_FMT ": the file system is read-only",
                             STR_ARG(path));
        }
    }
    return !is_immutable(descriptor) ||
           error_set(err, ERROR_DENIED,
                     "%" STR_FMT ": the %s is immutable (chattr -i changes that)", STR_ARG(path),
                     entry ? "file" : "directory");
}

bool host_check_changeable(Host *host, Str path, Error *err)
{
    HostEntry entry;
    Error ignored;
    if (!host_open_entry(host, path, &entry, &ignored)) {
        return true;
    }
    size_t slash = str_find_last(path, STR("/"));
    Str directory = slash == 0 ? STR("/") : str_slice(path, 0, slash);
    bool ok = check_one(entry.directory, directory, false, err);
    int descriptor = ok ? openat(entry.directory, entry.name, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (descriptor >= 0) {
        ok = check_one(descriptor, path, true, err);
        close(descriptor);
    }
    host_entry_close(&entry);
    return ok;
}
