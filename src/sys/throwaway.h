/* A child process with an empty folder, both gone afterwards, and with it all that it started. */
#pragma once

#include "base/error.h"

/* Calls `function` in a child of this process, which must have no threads, and waits for it. Its
 * answer becomes `*code`; a child that was killed by signal N gives 128 + N. The child sees no other
 * processes than its own, and they end when it does: it takes the rights of root.
 *
 * Requests to end (SIGINT, SIGTERM, SIGHUP) reach the child, where they are blocked until it opens
 * them (sys/signals.h), and this process waits on. */
MUST_CHECK bool throwaway_run(int (*function)(void *context, const char *folder), void *context,
                              int *code, Error *err);
