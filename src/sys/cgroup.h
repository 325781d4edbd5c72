/* A cgroup in the unified hierarchy (cgroup2), for a systemd that runs in a container. Requires
 * root. */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

/* The directory for a group with this name below the group of this process. Fails with
 * ERROR_UNAVAILABLE if the unified hierarchy is not mounted. */
MUST_CHECK bool cgroup_path(Arena *arena, const char *name, const char **path, Error *err);
/* The same below the cgroup of this process's systemd unit: the group of this process, or its
 * parent if systemd has put the process into CGROUP_OWN (DelegateSubgroup=). Groups can have limits
 * only in the latter case, because their parent must not contain processes itself. */
#define CGROUP_OWN "agent"
MUST_CHECK bool cgroup_unit_path(Arena *arena, const char *name, const char **path, Error *err);
/* Creates a group. Its parent directory must be a cgroup too. */
MUST_CHECK bool cgroup_make(const char *path, Error *err);
/* `*descriptor` is for cgroup_enter, which works even where the directory is not visible. */
MUST_CHECK bool cgroup_open(Arena *arena, const char *path, int *descriptor, Error *err);
/* Moves this process into the group. */
MUST_CHECK bool cgroup_enter(int descriptor, Error *err);

typedef struct CgroupLimits {
    int64_t memory_bytes; /* 0: no limit */
    int64_t tasks;        /* processes and threads; 0: no limit */
} CgroupLimits;

/* Sets the limits, enabling the controllers in the parent group if it has no processes. Fails with
 * ERROR_UNAVAILABLE if a requested limit is not in effect. */
MUST_CHECK bool cgroup_limit(const char *path, const CgroupLimits *limits, Error *err);
/* Kills all processes of the group and of all groups below it, as far as the kernel supports
 * that. */
void cgroup_kill(const char *path);
/* Removes the groups in this group that `is_left` selects by their names and that contain no
 * processes. */
void cgroup_sweep(const char *path, bool (*is_left)(void *context, Str name), void *context);
/* Removes the group and all groups below it. They must contain no processes. */
void cgroup_remove(const char *path);
