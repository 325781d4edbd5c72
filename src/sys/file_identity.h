/* The identity of the file at a path, to check later that the path still names the same file: a
 * file that was removed or replaced can still be written through an open descriptor, but can no
 * longer be reached by its path. */
#pragma once

#include <stdint.h>

#include "base/error.h"

typedef struct FileIdentity {
    uint64_t device, inode;
} FileIdentity;

/* Fails with ERROR_NOT_FOUND, ERROR_DENIED or ERROR_OS. */
MUST_CHECK bool file_identity_get(const char *path, FileIdentity *out, Error *err);
/* Also false if it cannot be checked. */
bool file_identity_matches(const FileIdentity *mark, const char *path);
