/* A child process with an empty folder, both gone afterwards. */
#pragma once

#include "base/error.h"

/* Calls `function` in a child of this process, which must have no threads, and waits for it. Its
 * answer becomes `*code`; a child that was killed by signal N gives 128 + N. */
MUST_CHECK bool throwaway_run(int (*function)(void *context, const char *folder), void *context,
                              int *code, Error *err);
