/* A file that only grows: records are added at its end, each with one write, so that a process
 * that is killed leaves every record it added, and nothing after them.
 *
 * Adding may be done by several threads. */
#pragma once

#include <pthread.h>

#include "sys/directory.h"

typedef struct AppendFile {
    int descriptor; /* -1: closed */
    int64_t size;
    pthread_mutex_t mutex;
    char name[320]; /* with its directory, for messages */
} AppendFile;

/* Made when it is not there. */
MUST_CHECK bool append_file_open(const Directory *directory, const char *name, AppendFile *out,
                                 Error *err);
void append_file_close(AppendFile *file);
DEFINE_AUTO_CLEAR(AppendFile, append_file_close)

/* All there is; `max` as for directory_read. */
MUST_CHECK bool append_file_read(const AppendFile *file, Arena *arena, size_t max, Str *out,
                                 Error *err);
/* When it fails (a full disk), the file is as before. */
MUST_CHECK bool append_file_add(AppendFile *file, Str record, Error *err);
/* Leaves only the first `size` bytes. */
MUST_CHECK bool append_file_cut(AppendFile *file, int64_t size, Error *err);
/* What was added survives a power failure from now on. */
MUST_CHECK bool append_file_sync(AppendFile *file, Error *err);
/* Takes disk space for so many bytes more, so that adding them cannot fail for want of it. Tries
 * only: a full disk, or a file system that cannot, is found out when adding. */
void append_file_reserve(AppendFile *file, int64_t bytes);
