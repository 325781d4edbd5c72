/* Opening a directory of our own on a path that others may have a hand in; nobody outside of sys/ includes
 * this. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* The directory `path`, seen from `start` (AT_FDCWD: from where we are), as a descriptor in `*out`. With
 * `makes`, those that are missing are made: the last one for its owner alone (0700), its parents as
 * readable as usual. `shown` is what messages call it.
 *
 * Root follows a link only when root alone can have put it there: one that another user owns, or
 * that is in a directory of another user, is ERROR_DENIED. Whoever else asks is held back by the
 * kernel from what is not theirs, and follows links as usual. */
MUST_CHECK bool open_trusted(int start, const char *path, const char *shown, bool makes, int *out,
                             Error *err);
