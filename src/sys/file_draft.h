/* A file that is written in pieces and appears atomically: it has a temporary name in the same
 * directory until file_draft_keep. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct FileDraft FileDraft;

/* With `fresh`, file_draft_keep fails if `path` exists. Fails with ERROR_NOT_FOUND (no such
 * directory), ERROR_DENIED or ERROR_OS. */
MUST_CHECK bool file_draft_open(const char *path, mode_t mode, bool fresh, FileDraft **out,
                                Error *err);
/* Removes the temporary file unless it was kept. NULL is fine. */
void file_draft_close(FileDraft *draft);
DEFINE_AUTO(FileDraft, file_draft_close)

MUST_CHECK bool file_draft_put(FileDraft *draft, Str piece, Error *err);
/* Overwrites the first bytes, which must have been written already. */
MUST_CHECK bool file_draft_put_first(FileDraft *draft, Str piece, Error *err);
/* Flushes the file and renames it to `path`; the last call before closing. ERROR_CONFLICT if
 * `fresh` is set and the file exists. */
MUST_CHECK bool file_draft_keep(FileDraft *draft, Error *err);
