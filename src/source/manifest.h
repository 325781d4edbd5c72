/* The list of the files of a site version: "eden.manifest/1". Pure.
 *
 * Files are sorted by path and printed in one canonical form, so identical trees have the same
 * manifest and the same SHA-256. Directories are not listed: an empty one is not part of a version.
 * Paths and links cannot point outside the tree, on any machine. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "source/blob_store.h"

enum {
    MANIFEST_FILES_MAX = 100000,
    MANIFEST_PATH_MAX = 4095, /* maximum length of a path, and of the target of a link */
    MANIFEST_NAME_MAX = 255,  /* maximum length of a component */
    MANIFEST_DEPTH_MAX = 64,  /* maximum number of components */
    MANIFEST_FILE_BLOBS_MAX = 1024,
    MANIFEST_NAME_TEXT = 12, /* number of digits of its SHA-256 that form the name of a version */
};
#define MANIFEST_BYTES_MAX ((int64_t)1 << 30) /* maximum size of all files together */

typedef struct ManifestFile {
    Str path;         /* relative: "jobs/base.yaml" */
    char mode[4 + 1]; /* "0644" or "0755"; empty: a link */
    Str link;         /* target of a link */
    int64_t size;
    Str *blobs; /* content, in blobs of BLOB_MAX bytes, the last one shorter; none: empty file */
    uint32_t blob_count;
} ManifestFile;

typedef struct Manifest {
    ManifestFile *files;
    uint32_t file_count;
} Manifest;

/* Whether the path may be in a manifest: relative, without empty components, ".", "..", ".git" or
 * control characters. Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool manifest_path_check(Str path, Error *err);
/* Whether a link at `path` may have this target: relative, ".." only at its start, and not pointing
 * outside the tree. */
MUST_CHECK bool manifest_link_check(Str path, Str target, Error *err);

/* Checks a manifest that was created rather than read: order, paths, links, limits. */
MUST_CHECK bool manifest_check(const Manifest *manifest, Error *err);
/* Sets the overflow flag of a buffer that is too small. */
void manifest_print(const Manifest *manifest, Buf *out);
/* Strings are in the arena, or point into the text. Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool manifest_read(Arena *arena, Str text, Manifest *out, Error *err);

/* NULL if there is no such file. */
const ManifestFile *manifest_find(const Manifest *manifest, Str path);
int64_t manifest_bytes(const Manifest *manifest);
/* The size of one blob of a file. */
size_t manifest_blob_size(const ManifestFile *file, uint32_t blob);
/* Adds the IDs of all blobs as keys; their bytes are borrowed. The values are NULL. */
void manifest_add_blobs(const Manifest *manifest, StrMap *out);

typedef enum ManifestChangeKind {
    MANIFEST_ADDED,
    MANIFEST_REMOVED,
    MANIFEST_CHANGED, /* content, mode or target */
} ManifestChangeKind;

typedef struct ManifestChange {
    ManifestChangeKind kind;
    const ManifestFile *before, *after; /* NULL: the file does not exist */
} ManifestChange;

/* Returns the changes, sorted by path, and their number. */
uint32_t manifest_compare(Arena *arena, const Manifest *before, const Manifest *after,
                          ManifestChange **out);
