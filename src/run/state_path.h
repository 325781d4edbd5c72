/* Where a node keeps what it knows of runs. */
#pragma once

#include "base/arena.h"

/* `given` (--state-dir) when it is not NULL, else var/lib/eden below `root`. */
const char *state_path(Arena *arena, const char *given, const char *root);
