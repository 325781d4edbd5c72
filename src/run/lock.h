/* One apply at a time per node. The lock is released when the process that holds it exits, for
 * any reason, so it never has to be removed manually. */
#pragma once

#include "base/problems.h"
#include "sys/file_lock.h"

/* Acquires the lock of the state directory. `command` is shown to other processes. If it is held,
 * fails with ERROR_CONFLICT (exit code 5) and adds the problem E0701: "another run is in progress:
 * pid 4711 ('eden apply site') since 2026-01-31T08:15:30Z". */
MUST_CHECK bool run_lock_take(const Directory *state, Str command, FileLock *out,
                              Problems *problems, Error *err);
/* Who holds it: "'eden apply site' (pid 4711)", in the arena. False if it is not held, or
 * the holder has not written its data yet. */
bool run_lock_holder(const Directory *state, Arena *arena, Str *out);
/* Whether a run is in progress. */
bool run_lock_is_held(const Directory *state);
