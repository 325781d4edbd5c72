/* A child process with an empty directory; on exit the directory is removed and all its descendants
 * are killed. */
#pragma once

#include "base/error.h"

/* Calls `function` in a child process and waits for it. The caller must have no threads. The return
 * value becomes `*code`; a child killed by signal N gives 128 + N. The child is in a separate PID
 * namespace, so all its descendants are killed when it exits; this requires root.
 *
 * SIGINT, SIGTERM and SIGHUP are passed to the child, where they are blocked until it opens them
 * (sys/signals.h), while this process continues to wait. */
MUST_CHECK bool scratch_process_run(int (*function)(void *context, const char *directory),
                                    void *context, int *code, Error *err);
