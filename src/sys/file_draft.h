/* A file that is written piece by piece, and there as a whole or not at all: it stands beside its
 * place until it is kept. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct FileDraft FileDraft;

/* With `fresh` nothing may be at `path` when it is kept. Fails with ERROR_NOT_FOUND (no such
 * directory), ERROR_DENIED or ERROR_OS. */
MUST_CHECK bool file_draft_open(const char *path, mode_t mode, bool fresh, FileDraft **out,
                                Error *err);
/* One that was not kept is gone then. NULL is fine. */
void file_draft_close(FileDraft *draft);
DEFINE_AUTO(FileDraft, file_draft_close)

MUST_CHECK bool file_draft_put(FileDraft *draft, Str piece, Error *err);
/* In place of as many bytes at the beginning, which must have been put. */
MUST_CHECK bool file_draft_put_first(FileDraft *draft, Str piece, Error *err);
/* It is flushed to the disk and gets its name, at one moment; last. ERROR_CONFLICT when it should be
 * fresh and is not. */
MUST_CHECK bool file_draft_keep(FileDraft *draft, Error *err);
