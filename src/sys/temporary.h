/* Temporary directories with unpredictable names, accessible only to their owner. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* Creates "/tmp/PREFIXxxxxxx". */
MUST_CHECK bool temporary_make(Arena *arena, const char *prefix, const char **path, Error *err);
/* Paths of temporary directories with that prefix that belong to this user, at most `max`; 0 if
 * they cannot be listed. */
uint32_t temporary_list(Arena *arena, const char *prefix, const char **paths, uint32_t max);
/* Removes it recursively; best effort. */
void temporary_remove(const char *path);
