/* The git state of a directory, for people who read where a version is from. */
#pragma once

#include "source/version.h"

/* Commit, branch, author and subject, if the directory is in a git repository; a commit with local
 * changes ends in "-dirty". Best effort: otherwise everything is empty. Strings are in the arena. */
void git_state_read(Arena *arena, const char *directory, VersionSource *out);
