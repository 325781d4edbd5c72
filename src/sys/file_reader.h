/* A file that is too large to be held in memory, read piece by piece. */
#pragma once

#include "base/error.h"
#include "base/own.h"

typedef struct FileReader FileReader;

/* Fails with ERROR_NOT_FOUND, ERROR_DENIED, ERROR_OS, and ERROR_INVALID for what is no file. */
MUST_CHECK bool file_reader_open(const char *path, FileReader **out, Error *err);
void file_reader_close(FileReader *reader); /* NULL is fine */
DEFINE_AUTO(FileReader, file_reader_close)

/* Up to `size` bytes from where the last ones ended; none (`*got` 0) at the end. */
MUST_CHECK bool file_reader_next(FileReader *reader, char *buffer, size_t size, size_t *got,
                                 Error *err);
