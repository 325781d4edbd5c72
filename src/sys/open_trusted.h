/* Opens one of eden's own directories on a path that other users may be able to manipulate. Private
 * to sys/. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Opens the directory `path`, relative to `start` (AT_FDCWD: the working directory). With
 * `creates`, creates missing directories: the last one with mode 0700, its parents with the usual
 * mode. Messages call it `display_path`.
 *
 * Root follows a link only if no other user can have created it: a link that is owned by another
 * user, or in a directory of another user, fails with ERROR_DENIED. For other users the kernel
 * enforces permissions anyway, so links are followed as usual. */
MUST_CHECK bool open_trusted(int start, const char *path, const char *display_path, bool creates,
                             int *out, Error *err);
