/* Starts this program again with other arguments, for work that may outlive the caller. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* The process has no terminal, no standard input or output, and does not receive keys pressed for
 * its parent. Waits at most `wait_ms` for it to exit and returns whether it did; afterwards it
 * continues on its own. `argv` ends with NULL. Fails with ERROR_OS. */
MUST_CHECK bool detached_run(const char *const *argv, int64_t wait_ms, bool *ended, Error *err);
