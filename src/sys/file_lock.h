/* A lock that ends with the process that holds it, however it ends: of an open file, in which
 * the holder writes who it is. */
#pragma once

#include "sys/directory.h"

typedef struct FileLock {
    int descriptor; /* -1: not held */
} FileLock;

/* Takes the lock and writes `holder` into the file. When somebody has it, it fails with
 * ERROR_CONFLICT and `*found` is what they wrote (empty while they are at it). */
MUST_CHECK bool file_lock_take(const Directory *directory, const char *name, Str holder,
                               Arena *arena, FileLock *out, Str *found, Error *err);
/* Whether somebody holds it now, without taking it. */
bool file_lock_is_held(const Directory *directory, const char *name);
void file_lock_release(FileLock *lock); /* one that is not held is fine */
DEFINE_AUTO_CLEAR(FileLock, file_lock_release)
