/* Large files, read and written in pieces. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct FileReader FileReader;

/* Fails with ERROR_NOT_FOUND, ERROR_DENIED, ERROR_OS, or ERROR_INVALID for anything but a regular
 * file. */
MUST_CHECK bool file_reader_open(const char *path, FileReader **out, Error *err);
void file_reader_close(FileReader *reader); /* NULL is allowed */
DEFINE_AUTO(FileReader, file_reader_close)

/* The next read begins at this offset. */
MUST_CHECK bool file_reader_seek(FileReader *reader, int64_t offset, Error *err);
/* Reads up to `size` bytes from the current position; `*got` is 0 at the end. */
MUST_CHECK bool file_reader_next(FileReader *reader, char *buffer, size_t size, size_t *got,
                                 Error *err);

/* A file that is written in pieces and appears atomically: it has a temporary name in the same
 * directory until file_draft_keep. */
typedef struct FileDraft FileDraft;

/* With `fresh`, file_draft_keep fails if `path` exists. Fails with ERROR_NOT_FOUND (no such
 * directory), ERROR_DENIED or ERROR_OS. */
MUST_CHECK bool file_draft_open(const char *path, mode_t mode, bool fresh, FileDraft **out,
                                Error *err);
/* Removes the temporary file unless it was kept. NULL is allowed. */
void file_draft_close(FileDraft *draft);
DEFINE_AUTO(FileDraft, file_draft_close)

MUST_CHECK bool file_draft_put(FileDraft *draft, Str piece, Error *err);
/* Overwrites the first bytes, which must have been written already. */
MUST_CHECK bool file_draft_put_first(FileDraft *draft, Str piece, Error *err);
/* Flushes the file and renames it to `path`; the last call before closing. ERROR_CONFLICT if
 * `fresh` is set and the file exists. */
MUST_CHECK bool file_draft_keep(FileDraft *draft, Error *err);
