/* This program once more, with other arguments, for something that may outlast who starts it. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* It has no terminal, reads and writes nothing there, and no key pressed for its parent reaches it.
 * Waits at most `wait_ms` for its end, and tells whether that came; then it goes on by itself.
 * `argv` ends with NULL. Fails with ERROR_OS. */
MUST_CHECK bool detached_run(const char *const *argv, int64_t wait_ms, bool *ended, Error *err);
