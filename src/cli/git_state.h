/* The git state of a directory, which tells users where a version comes from. */
#pragma once

#include "source/version.h"

/* Commit, branch, author and subject, if the directory is in a git repository; a commit with local
 * changes ends in "-dirty". Best effort: otherwise everything is empty. Strings are in the
 * arena. */
void git_state_read(Arena *arena, const char *directory, VersionSource *out);
