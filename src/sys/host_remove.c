/* Recursive removal through open directories, so that a user who replaces a directory with a link
 * in the meantime cannot redirect it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "sys/file_io.h"
#include "sys/host_inner.h"

enum {
    DEPTH_MAX = 200 /* each level keeps a descriptor open */
};

/* Directories nested deeper are moved up into the top directory and removed from there. */
typedef struct Removal {
    int top; /* the top directory; -1: not a directory */
    uint64_t moved;
} Removal;

/* A mount point fails with EXDEV, including a bind mount of the same file system, which has the
 * same device number. */
static int open_unmounted(int directory, const char *name)
{
    return open_within(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK,
                       RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
}

static bool remove_at(Removal *removal, int directory, const char *name, unsigned depth,
                      Error *err);

static bool remove_inside(Removal *removal, int descriptor, unsigned depth, Error *err)
{
    DIR *entries = entries_open(descriptor);
    if (entries == NULL) {
        memory_exhausted(sizeof(void *));
    }
    bool ok = true;
    for (const char *name; ok && (name = entries_next(entries)) != NULL;) {
        ok = remove_at(removal, dirfd(entries), name, depth, err);
    }
    entries_close(entries);
    return ok;
}

static bool move_up(Removal *removal, int directory, const char *name, Error *err)
{
    char place[40];
    do {
        snprintf(place, sizeof place, ".eden-removed-%" PRIu64, removal->moved++);
        if (renameat2(directory, name, removal->top, place, RENAME_NOREPLACE) == 0) {
            return true;
        }
    } while (errno == EEXIST);
    return host_error(err, errno, str_from_c(name));
}

static bool remove_at(Removal *removal, int directory, const char *name, unsigned depth, Error *err)
{
    if (unlinkat(directory, name, 0) == 0 || errno == ENOENT) {
        return true;
    }
    if (errno != EISDIR && errno != EPERM) {
        return host_error(err, errno, str_from_c(name));
    }
    int number = errno;
    int descriptor = open_unmounted(directory, name);
    if (descriptor < 0 && errno == EXDEV) {
        return error_set(err, ERROR_CONFLICT, "%s is a mount point", name);
    }
    if (descriptor < 0) {
        return host_error(err, errno == ENOTDIR ? number : errno, str_from_c(name));
    }
    if (depth == DEPTH_MAX) {
        close(descriptor);
        return move_up(removal, directory, name, err);
    }
    if (!remove_inside(removal, descriptor, depth + 1, err)) {
        return error_wrap(err, "%s", name);
    }
    return unlinkat(directory, name, AT_REMOVEDIR) == 0 || errno == ENOENT ||
           host_error(err, errno, str_from_c(name));
}

bool host_remove(Host *host, Str path, Error *err)
{
    HostEntry entry;
    if (!host_open_entry(host, path, &entry, err)) {
        return err->kind == ERROR_NOT_FOUND;
    }
    Removal removal = { .top = open_unmounted(entry.directory, entry.name) };
    uint64_t before;
    bool ok;
    do {
        before = removal.moved;
        ok = remove_at(&removal, entry.directory, entry.name, 0, err);
    } while (!ok && removal.moved > before);
    if (!ok) {
        error_wrap(err, "cannot remove '%" STR_FMT "'", STR_ARG(path));
    }
    if (removal.top >= 0) {
        close(removal.top);
    }
    if (ok && !host_flush_directory(host, entry.directory)) {
        ok = host_error(err, errno, path);
    }
    host_entry_close(&entry);
    return ok;
}
