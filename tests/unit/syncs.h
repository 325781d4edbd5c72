/* Replaces libc's fsync and fdatasync in a whole test program: calls are counted and recorded by
 * path, and can be made to fail. For programs that sync from one thread. */
#pragma once

#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit.h"

enum {
    SYNCS_RETAINED = 64
};

static int syncs;       /* since the start, or since syncs_forget() */
static bool syncs_fail; /* with EIO */
static char synced_paths[SYNCS_RETAINED][PATH_MAX];

static inline int sync_by(long call, int descriptor)
{
    char link[64], *path = synced_paths[syncs++ % SYNCS_RETAINED];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    path[len < 0 ? 0 : len] = '\0';
    if (syncs_fail) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(call, descriptor);
}

int fsync(int fd)
{
    return sync_by(SYS_fsync, fd);
}

int fdatasync(int fildes)
{
    return sync_by(SYS_fdatasync, fildes);
}

static inline void syncs_forget(void)
{
    memset(synced_paths, 0, sizeof synced_paths);
    syncs = 0;
}

/* Whether the file or directory was synced, possibly under the name of its draft. */
static inline bool is_synced(const char *path)
{
    size_t len = strlen(path);
    for (int i = 0; i < syncs && i < SYNCS_RETAINED; i++) {
        const char *one = synced_paths[i];
        if (strncmp(one, path, len) == 0 && (one[len] == '\0' || one[len] == '.')) {
            return true;
        }
    }
    return false;
}
