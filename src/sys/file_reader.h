/* Reads a file that is too large for memory in pieces. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/own.h"

typedef struct FileReader FileReader;

/* Fails with ERROR_NOT_FOUND, ERROR_DENIED, ERROR_OS, or ERROR_INVALID for anything but a regular
 * file. */
MUST_CHECK bool file_reader_open(const char *path, FileReader **out, Error *err);
void file_reader_close(FileReader *reader); /* NULL is fine */
DEFINE_AUTO(FileReader, file_reader_close)

/* The next read begins at this offset. */
MUST_CHECK bool file_reader_seek(FileReader *reader, int64_t offset, Error *err);
/* Reads up to `size` bytes from the current position; `*got` is 0 at the end. */
MUST_CHECK bool file_reader_next(FileReader *reader, char *buffer, size_t size, size_t *got,
                                 Error *err);
