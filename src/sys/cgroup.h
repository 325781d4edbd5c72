/* A cgroup in the unified hierarchy (cgroup2), for a systemd that runs in a container. Requires
 * root. */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

/* The directory for a group with this name below the group of this process. Fails with
 * ERROR_UNAVAILABLE if the unified hierarchy is not mounted. */
MUST_CHECK bool cgroup_path(Arena *arena, const char *name, const char **path, Error *err);
/* Creates a group. Its parent directory must be a cgroup too. */
MUST_CHECK bool cgroup_make(const char *path, Error *err);
/* `*descriptor` is for cgroup_enter, which works even where the directory is not visible. */
MUST_CHECK bool cgroup_open(Arena *arena, const char *path, int *descriptor, Error *err);
/* Moves this process into the group. */
MUST_CHECK bool cgroup_enter(int descriptor, Error *err);
/* Kills all processes of the group and of all groups below it, as far as the kernel supports that. */
void cgroup_kill(const char *path);
/* Removes the group and all groups below it. They must contain no processes. */
void cgroup_remove(const char *path);
