/* The directory of a temporary cluster: /tmp/eden-dev-..., accessible only to
 * its owner. The running cluster holds its lock, and describes itself in it. */
#pragma once

#include "lang/value.h"
#include "sys/file_lock.h"

typedef struct DevPlace {
    const char *folder; /* in the arena */
    const char *group;  /* of the processes of its nodes; NULL: they have none of their own */
    FileLock lock;
} DevPlace;

/* A new one, with the directories of so many nodes. Folders of this user in which nobody lives any
 * more, since they were killed, are removed before. */
MUST_CHECK bool dev_place_make(Arena *arena, uint32_t nodes, DevPlace *out, Error *err);
/* A group of processes for each node (sys/cgroup.h). */
MUST_CHECK bool dev_place_add_groups(DevPlace *place, Arena *arena, uint32_t nodes, Error *err);
/* It is gone with all that is in it. */
void dev_place_remove(DevPlace *place);
/* What there is to know of it (dev_describe). */
MUST_CHECK bool dev_place_describe(const DevPlace *place, Arena *arena, Value card, Error *err);

/* What is known of the cluster in this folder, or of the only one when `folder` is NULL.
 * ERROR_NOT_FOUND when there is none that is ready; ERROR_CONFLICT when there are several, and `*card`
 * is a list of what is known of each; ERROR_DENIED when it is another user's, also for root. */
MUST_CHECK bool dev_place_find(Arena *arena, const char *folder, Value *card, Error *err);
