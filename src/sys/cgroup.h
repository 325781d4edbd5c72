/* A group of processes in the kernel's unified hierarchy (cgroup2), for a systemd that is not the
 * machine's to work in. Takes root. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

/* The directory that a group of this name has below the one of this process. Fails with
 * ERROR_UNAVAILABLE where no unified hierarchy is mounted. */
MUST_CHECK bool cgroup_path(Arena *arena, const char *name, const char **path, Error *err);
/* The directory above it is a group too. */
MUST_CHECK bool cgroup_make(const char *path, Error *err);
/* `*descriptor` is for cgroup_enter, also where the directory is not seen any more. */
MUST_CHECK bool cgroup_open(Arena *arena, const char *path, int *descriptor, Error *err);
/* This process goes into the group. */
MUST_CHECK bool cgroup_enter(int descriptor, Error *err);
/* With all groups below, in which no process may live any more. */
void cgroup_remove(const char *path);
