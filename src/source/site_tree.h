/* Converts between a directory, a manifest and blobs: scans a site, and creates one from its blobs.
 * Blocks; any thread. */
#pragma once

#include "source/blob_store.h"
#include "source/manifest.h"

/* Reads every file under `directory` except ".git", and stores the blobs in `blobs` (NULL: only
 * computes the manifest). Fails with ERROR_NOT_FOUND, ERROR_OS, ERROR_LIMIT, or ERROR_INVALID with
 * the path of a file that a site cannot contain: special files, links that point outside it. */
MUST_CHECK bool site_tree_scan(Arena *arena, const char *directory, BlobStore *blobs, Manifest *out,
                               Error *err);
/* Reads one blob of a file under `directory` into the buffer. Fails with ERROR_CONFLICT if the file
 * was changed since it was scanned. */
MUST_CHECK bool site_tree_read_blob(const char *directory, const ManifestFile *file, uint32_t blob,
                                    char buffer[BLOB_MAX], Str *out, Error *err);

/* Returns the IDs of blobs of the manifest that the store does not have, each once. Updates the
 * last-used time of the others. */
uint32_t site_tree_missing(Arena *arena, const Manifest *manifest, BlobStore *blobs, Str **out);

/* Creates `directory`, which must not exist, with the files of the manifest; `durable`: synced to
 * disk when it returns. If it fails, nothing is left. Fails with ERROR_NOT_FOUND if a blob is
 * missing or was damaged, ERROR_CONFLICT if the directory exists, ERROR_OS. */
MUST_CHECK bool site_tree_create(const Manifest *manifest, BlobStore *blobs, const char *directory,
                                 bool durable, Error *err);
/* Whether the directory has every file of the manifest, with its mode and content; additional files
 * are ignored. Fails with ERROR_CONFLICT and the first difference. */
MUST_CHECK bool site_tree_verify(const Manifest *manifest, const char *directory, Error *err);
