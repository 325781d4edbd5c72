/* Which file a path names, to see later whether it still does: a file that was removed or replaced can
 * be written by who has it open, and nobody else ever finds it. */
#pragma once

#include <stdint.h>

#include "base/error.h"

typedef struct FileMark {
    uint64_t device, inode;
} FileMark;

/* Fails with ERROR_NOT_FOUND, ERROR_DENIED or ERROR_OS. */
MUST_CHECK bool file_mark_take(const char *path, FileMark *out, Error *err);
/* Also false when it cannot be told. */
bool file_mark_holds(const FileMark *mark, const char *path);
