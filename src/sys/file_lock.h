/* A lock on an open file. It ends with the process that holds it, even if that is killed. The
 * holder writes its description into the file. */
#pragma once

#include "sys/directory.h"

typedef struct FileLock {
    int descriptor; /* -1: not held */
} FileLock;

/* Acquires the lock and writes `holder` into the file. If it is held already, fails with
 * ERROR_CONFLICT and sets `*found` to the holder's description (empty if it is just being
 * written). */
MUST_CHECK bool file_lock_take(const Directory *directory, const char *name, Str holder,
                               Arena *arena, FileLock *out, Str *found, Error *err);
/* Whether it is held, without acquiring it. */
bool file_lock_is_held(const Directory *directory, const char *name);
void file_lock_release(FileLock *lock); /* does nothing if it is not held */
DEFINE_AUTO_CLEAR(FileLock, file_lock_release)
