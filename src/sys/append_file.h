/* A file that only grows. Each record is appended with one write(2), so a process that is killed
 * leaves every record that it added and no partial one.
 *
 * Several threads may append. */
#pragma once

#include <pthread.h>

#include "sys/directory.h"

typedef struct AppendFile {
    int descriptor; /* -1: closed */
    int64_t size;
    pthread_mutex_t mutex;
    char name[320]; /* full path, for messages */
} AppendFile;

/* Creates the file if it does not exist. */
MUST_CHECK bool append_file_open(const Directory *directory, const char *name, AppendFile *out,
                                 Error *err);
void append_file_close(AppendFile *file);
DEFINE_AUTO_CLEAR(AppendFile, append_file_close)

/* The whole content; `max` as in directory_read. */
MUST_CHECK bool append_file_read(const AppendFile *file, Arena *arena, size_t max, Str *out,
                                 Error *err);
/* At most `max` bytes from an offset, up to the current end of the file, which another process may
 * be writing. */
MUST_CHECK bool append_file_read_from(const AppendFile *file, int64_t offset, Arena *arena,
                                      size_t max, Str *out, Error *err);
/* On failure (disk full) the file is unchanged. */
MUST_CHECK bool append_file_add(AppendFile *file, Str record, Error *err);
/* Truncates the file to `size` bytes. */
MUST_CHECK bool append_file_truncate(AppendFile *file, int64_t size, Error *err);
/* Flushes the appended records to disk. */
MUST_CHECK bool append_file_sync(AppendFile *file, Error *err);
/* Preallocates `bytes` at the end, so that appending them cannot fail with a full disk. Best
 * effort: failures show up when appending. */
void append_file_reserve(AppendFile *file, int64_t bytes);
