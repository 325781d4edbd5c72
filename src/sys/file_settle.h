/* Large files that others write (a database, an archive): making one final, and its digest. */
#pragma once

#include "base/error.h"
#include "sys/sha256.h"

/* `draft` takes the place of `path`, in the same directory, and both its content and its name are
 * on the disk when this returns true. When it fails, the old file, if any, is there under `path`,
 * unless only the last step failed, to keep the name: then the new one is. */
MUST_CHECK bool file_settle(const char *draft, const char *path, Error *err);
MUST_CHECK bool file_digest(const char *path, char digest[SHA256_HEX + 1], int64_t *bytes,
                            Error *err);
void file_remove(const char *path); /* as well as can be; fine when it is not there */
