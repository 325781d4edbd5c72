/* Scans directories and creates them from blobs. Paths are opened relative to directories, never
 * through links, because a site may be hostile. */
#include "source/site_tree.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/vec.h"
#include "base/visible.h"
#include "sys/file_tree.h"

/* --- Scanning --------------------------------------------------------------------------------- */

static bool is_ignored(Str name)
{
    return str_eq(name, STR(".git"));
}

typedef struct Scan {
    Arena *arena;
    const char *directory;
    BlobStore *blobs;
    char *buffer; /* BLOB_MAX bytes */
    Error *err;
} Scan;

static bool add_blob(const Scan *scan, Str data, ManifestFile *out)
{
    char *id = ARENA_ARRAY(scan->arena, char, BLOB_ID_TEXT + 1);
    blob_id_of(data, id);
    out->blobs[out->blob_count++] = str_from(id, BLOB_ID_TEXT);
    return scan->blobs == NULL ||
           blob_store_put(scan->blobs, str_from(id, BLOB_ID_TEXT), data, scan->err);
}

static bool scan_content(const Scan *scan, const FileTreeFile *file, uint32_t blob_max,
                         ManifestFile *out)
{
    for (;;) {
        size_t length;
        if (!file_tree_read(file, out->size, scan->buffer, BLOB_MAX, &length, scan->err)) {
            return false;
        }
        if (length > 0 && out->blob_count == blob_max) {
            return error_set(scan->err, ERROR_CONFLICT, "it grew while it was being read");
        }
        if (length > 0 && !add_blob(scan, str_from(scan->buffer, length), out)) {
            return false;
        }
        out->size += (int64_t)length;
        if (length < BLOB_MAX) {
            return true;
        }
    }
}

static bool scan_file(const Scan *scan, const FileTreeEntry *entry, ManifestFile *out)
{
    AUTO_CLEAR(FileTreeFile) file = { -1 };
    uint32_t blob_max = (uint32_t)(entry->size / BLOB_MAX) + 1;
    memcpy(out->mode, entry->is_executable ? "0755" : "0644", sizeof out->mode);
    out->blobs = ARENA_ARRAY(scan->arena, Str, blob_max);
    if (!file_tree_open(scan->directory, entry->path, &file, scan->err)) {
        return false;
    }
    return scan_content(scan, &file, blob_max, out) ||
           error_wrap(scan->err, "%s/%" STR_FMT, scan->directory, STR_ARG(entry->path));
}

/* Rejects files by their metadata, before anything is read. */
static bool check_entry(const FileTreeEntry *entry, int64_t *bytes, Error *err)
{
    if (!manifest_path_check(entry->path, err)) {
        return false;
    }
    *bytes += entry->size;
    switch (entry->kind) {
    case FILE_TREE_LINK: return manifest_link_check(entry->path, entry->target, err);
    case FILE_TREE_SPECIAL:
        return error_set(err, ERROR_INVALID,
                         "%" STR_FMT ": a site cannot contain devices, pipes or sockets",
                         STR_ARG(entry->path));
    case FILE_TREE_FILE: break;
    }
    return entry->size <= MANIFEST_BYTES_MAX && *bytes <= MANIFEST_BYTES_MAX
               ? true
               : error_set(err, ERROR_LIMIT,
                           "%" STR_FMT ": with this file the site is larger than 1 GiB",
                           STR_ARG(entry->path));
}

static bool check_entries(const FileTree *tree, Error *err)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < tree->count; i++) {
        if (!check_entry(&tree->items[i], &bytes, err)) {
            return false;
        }
    }
    return true;
}

static bool scan_entries(const Scan *scan, const FileTree *tree, Manifest *out)
{
    out->files = ARENA_ARRAY(scan->arena, ManifestFile, tree->count);
    for (uint32_t i = 0; i < tree->count; i++) {
        const FileTreeEntry *entry = &tree->items[i];
        ManifestFile *file = &out->files[out->file_count++];
        *file = (ManifestFile){ .path = entry->path, .link = entry->target };
        if (entry->kind == FILE_TREE_FILE && !scan_file(scan, entry, file)) {
            return false;
        }
    }
    return true;
}

bool site_tree_scan(Arena *arena, const char *directory, BlobStore *blobs, Manifest *out,
                    Error *err)
{
    static const FileTreeLimits limits = { MANIFEST_FILES_MAX, MANIFEST_DEPTH_MAX, is_ignored };
    Manifest manifest = { 0 };
    FileTree tree;
    if (!file_tree_list(arena, directory, &limits, &tree, err)) {
        return false;
    }
    if (!check_entries(&tree, err)) {
        return error_wrap(err, "%s", directory);
    }
    Scan scan = { arena, directory, blobs, memory_new(BLOB_MAX), err };
    bool ok = scan_entries(&scan, &tree, &manifest);
    free(scan.buffer);
    ok = ok && (manifest_check(&manifest, err) || error_wrap(err, "%s", directory));
    if (ok) {
        *out = manifest;
    }
    return ok;
}

/* Reads the content of a blob from a file in a tree. */
static bool read_blob(const FileTreeFile *from, const ManifestFile *file, uint32_t blob,
                      char *buffer, Str *out, Error *err)
{
    char id[BLOB_ID_TEXT + 1];
    size_t length;
    if (!file_tree_read(from, (int64_t)blob * BLOB_MAX, buffer, BLOB_MAX, &length, err)) {
        return false;
    }
    *out = str_from(buffer, length);
    blob_id_of(*out, id);
    return str_eq_c(file->blobs[blob], id) ||
           error_set(err, ERROR_CONFLICT, "its content has changed");
}

bool site_tree_read_blob(const char *directory, const ManifestFile *file, uint32_t blob,
                         char buffer[BLOB_MAX], Str *out, Error *err)
{
    AUTO_CLEAR(FileTreeFile) from = { -1 };
    return file_tree_open(directory, file->path, &from, err) &&
           (read_blob(&from, file, blob, buffer, out, err) ||
            error_wrap(err, "%s/%" STR_FMT, directory, STR_ARG(file->path)));
}

/* --- Creating --------------------------------------------------------------------------------- */

uint32_t site_tree_missing(Arena *arena, const Manifest *manifest, BlobStore *blobs, Str **out)
{
    VEC(Str) missing = { 0 };
    StrMap all;
    str_map_init(&all, arena);
    manifest_add_blobs(manifest, &all);
    uint32_t at = 0;
    for (const StrMapEntry *entry; (entry = str_map_next(&all, &at)) != NULL;) {
        if (!blob_store_touch(blobs, entry->key)) {
            VEC_PUSH(arena, &missing, entry->key);
        }
    }
    *out = missing.items;
    return missing.len;
}

static bool create_file(const ManifestFile *file, BlobStore *blobs, FileTreeWriter *writer,
                        Error *err)
{
    if (file->link.len > 0) {
        return file_tree_add_link(writer, file->path, file->link, err);
    }
    if (!file_tree_add_file(writer, file->path, strcmp(file->mode, "0755") == 0, err)) {
        return false;
    }
    for (uint32_t i = 0; i < file->blob_count; i++) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        Str data;
        if (!blob_store_read(blobs, &arena, file->blobs[i], &data, err) ||
            !file_tree_append(writer, data, err)) {
            return false;
        }
        if (data.len != manifest_blob_size(file, i)) {
            return error_set(err, ERROR_INVALID, "%" STR_FMT ": a blob has a different size",
                             STR_ARG(file->path));
        }
    }
    return true;
}

bool site_tree_create(const Manifest *manifest, BlobStore *blobs, const char *directory,
                      bool durable, Error *err)
{
    AUTO(FileTreeWriter) *writer = NULL;
    if (!file_tree_create(directory, &writer, err)) {
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < manifest->file_count; i++) {
        ok = create_file(&manifest->files[i], blobs, writer, err);
    }
    ok = ok && (!durable || file_tree_sync(writer, err));
    if (!ok) {
        file_tree_remove(directory);
    }
    return ok;
}

/* --- Verifying -------------------------------------------------------------------------------- */

static bool verify_content(const ManifestFile *file, const char *directory, char *buffer,
                           Error *err)
{
    AUTO_CLEAR(FileTreeFile) from = { -1 };
    Str data;
    if (!file_tree_open(directory, file->path, &from, err)) {
        return false;
    }
    for (uint32_t i = 0; i < file->blob_count; i++) {
        if (!read_blob(&from, file, i, buffer, &data, err)) {
            return false;
        }
    }
    return true;
}

static bool verify_file(const ManifestFile *file, const char *directory, char *buffer, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    FileTreeEntry entry;
    Str target;
    if (!file_tree_stat(directory, file->path, &entry)) {
        return error_set(err, ERROR_CONFLICT, "it is missing");
    }
    if (file->link.len > 0) {
        return (entry.kind == FILE_TREE_LINK &&
                file_tree_link(&arena, directory, file->path, &target) &&
                str_eq(target, file->link)) ||
               error_set(err, ERROR_CONFLICT, "the target of the link has changed");
    }
    if (entry.kind != FILE_TREE_FILE || entry.size != file->size ||
        entry.is_executable != (strcmp(file->mode, "0755") == 0)) {
        return error_set(err, ERROR_CONFLICT, "its size or mode has changed");
    }
    return verify_content(file, directory, buffer, err);
}

bool site_tree_verify(const Manifest *manifest, const char *directory, Error *err)
{
    char *buffer = memory_new(BLOB_MAX);
    bool ok = true;
    for (uint32_t i = 0; ok && i < manifest->file_count; i++) {
        const ManifestFile *file = &manifest->files[i];
        ok = verify_file(file, directory, buffer, err) ||
             error_wrap(err, "%s/%" STR_FMT, directory, STR_ARG(file->path));
    }
    free(buffer);
    return ok;
}
