/* Validates the files of a version, in a separate process: a site comes from outside, and may be
 * large or hostile. Blocks; any thread. */
#pragma once

#include "source/site_tree.h"
#include "source/version.h"

enum {
    VERSION_CHECK_MS = 60000,
    VERSION_PROBLEMS_MAX = BLOB_MAX, /* bytes of "eden.problems/1" */
};
#define VERSION_CHECK_MEMORY ((size_t)1 << 30) /* maximum address space in bytes */

typedef struct VersionCheck {
    BlobStore *blobs;
    const char *scratch; /* directory for the files during the validation */
    const char *program; /* path of eden; NULL: this program */
} VersionCheck;

/* Fills in state, problems, files and bytes of the version from its manifest. Fails with
 * ERROR_CONFLICT if blobs are missing, ERROR_INVALID if the manifest is not valid or not that of a
 * site, and with ERROR_OS or ERROR_UNAVAILABLE if it could not be validated. */
MUST_CHECK bool version_check(const VersionCheck *check, Version *version, Error *err);
/* Removes leftovers of a killed process. */
void version_check_clean(const char *scratch);
