/* Folders of our own among the temporary ones, for what is not to stay: each with a name that nobody
 * can guess, for its owner alone. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* "/tmp/PREFIXxxxxxx". */
MUST_CHECK bool temporary_make(Arena *arena, const char *prefix, const char **path, Error *err);
/* The paths of those that this user has made with that prefix, at most `max`; none when they cannot
 * be listed. */
uint32_t temporary_list(Arena *arena, const char *prefix, const char **paths, uint32_t max);
/* With all that is in it, as well as can be. */
void temporary_remove(const char *path);
