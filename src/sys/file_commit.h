/* Large files that other programs write (a database, an archive): making one durable, and its
 * digest. */
#pragma once

#include "base/error.h"
#include "sys/sha256.h"

/* Renames `draft` to `path` in the same directory; content and name are durable when it returns
 * true. On failure the old file, if any, is still at `path`, unless only the last step, the fsync
 * of the directory, failed: then the new one is. */
MUST_CHECK bool file_commit(const char *draft, const char *path, Error *err);
MUST_CHECK bool file_digest(const char *path, char digest[SHA256_HEX + 1], int64_t *bytes,
                            Error *err);
void file_remove(const char *path); /* best effort; the file need not exist */
