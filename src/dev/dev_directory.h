/* The directory of a temporary cluster: /tmp/eden-dev-..., accessible only to its owner. The
 * running cluster holds its lock, and publishes its description there. */
#pragma once

#include "lang/value.h"
#include "sys/file_lock.h"

typedef struct DevDirectory {
    const char *path;  /* in the arena */
    const char *group; /* cgroup of its nodes' processes; NULL: none */
    FileLock lock;
} DevDirectory;

/* Creates a directory with subdirectories for this number of nodes. Unused directories of this user
 * are removed first. */
MUST_CHECK bool dev_directory_create(Arena *arena, uint32_t nodes, DevDirectory *out, Error *err);
/* Creates a cgroup for each node (sys/cgroup.h). */
MUST_CHECK bool dev_directory_add_groups(DevDirectory *location, Arena *arena, uint32_t nodes,
                                         Error *err);
/* Removes the directory and its contents. */
void dev_directory_remove(DevDirectory *location);
/* Writes the description (dev_describe) to the directory. */
MUST_CHECK bool dev_directory_publish(const DevDirectory *location, Arena *arena, Value description,
                                      Error *err);

/* Returns the description of the cluster in this directory, or of the only one if `path` is NULL.
 * ERROR_NOT_FOUND if none is ready; ERROR_CONFLICT if there are several, with `*description` a list
 * of their descriptions; ERROR_DENIED if it belongs to another user, even for root. */
MUST_CHECK bool dev_directory_find(Arena *arena, const char *path, Value *description, Error *err);
