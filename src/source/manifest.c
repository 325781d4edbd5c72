#include "source/manifest.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "base/vec.h"
#include "base/visible.h"
#include "lang/record.h"

enum {
    SHOWN_MAX = 200 /* maximum length of a path in an error */
};

/* --- Paths ------------------------------------------------------------------------------------ */

/* Reports a problem with a path, which is made safe to show. Always returns false. */
static bool fail_path(Error *err, ErrorKind kind, Str path, const char *text)
{
    AUTO_CLEAR(Buf) printed = buf_make(BUF_UNLIMITED);
    visible_put(&printed, str_slice(path, 0, SHOWN_MAX));
    return error_set(err, kind, "%" STR_FMT "%s: %s", STR_ARG(buf_str(&printed)),
                     path.len > SHOWN_MAX ? "..." : "", text);
}

static const char *component_problem(Str name)
{
    return name.len == 0                                       ? "has an empty component"
           : str_eq(name, STR(".")) || str_eq(name, STR("..")) ? "has '.' or '..' as a component"
           : str_eq(name, STR(".git"))                         ? "'.git' is not part of a site"
                                                               : NULL;
}

bool manifest_path_check(Str path, Error *err)
{
    Str rest = path, name;
    uint32_t depth = 0;
    if (path.len == 0) {
        return error_set(err, ERROR_INVALID, "an empty path");
    }
    if (path.len > MANIFEST_PATH_MAX) {
        return fail_path(err, ERROR_LIMIT, path, "longer than 4095 bytes");
    }
    if (!utf8_is_plain(path)) {
        return fail_path(err, ERROR_INVALID, path,
                         "names must be UTF-8 without control characters");
    }
    while (str_split_next(&rest, '/', &name)) {
        const char *problem = component_problem(name);
        if (problem != NULL) {
            return fail_path(err, ERROR_INVALID, path, problem);
        }
        if (name.len > MANIFEST_NAME_MAX || ++depth > MANIFEST_DEPTH_MAX) {
            return fail_path(err, ERROR_LIMIT, path,
                             depth > MANIFEST_DEPTH_MAX ? "nested more than 64 levels deep"
                                                        : "a name is longer than 255 bytes");
        }
    }
    return true;
}

/* ".." after another component could point outside the tree if that component is a link itself: the
 * target would depend on other links. At the start it only goes up from the link's own directory,
 * which is not a link. */
bool manifest_link_check(Str path, Str target, Error *err)
{
    Str rest = target, name;
    int64_t depth = 0; /* depth of the link's directory */
    bool has_component = false;
    for (size_t i = 0; i < path.len; i++) {
        depth += path.data[i] == '/';
    }
    if (target.len == 0 || target.len > MANIFEST_PATH_MAX || !utf8_is_plain(target)) {
        return fail_path(
            err, ERROR_INVALID, path,
            "the target of the link is empty, too long or contains control characters");
    }
    if (target.data[0] == '/') {
        return fail_path(err, ERROR_INVALID, path, "the link has an absolute target");
    }
    while (str_split_next(&rest, '/', &name)) {
        if (name.len == 0 || str_eq(name, STR("."))) {
            continue;
        }
        if (!str_eq(name, STR(".."))) {
            has_component = true;
        } else if (has_component) {
            return fail_path(err, ERROR_INVALID, path,
                             "the target of the link has '..' after a name");
        } else if (--depth < 0) {
            return fail_path(err, ERROR_INVALID, path, "the link points outside the site");
        }
    }
    return true;
}

/* --- Format ----------------------------------------------------------------------------------- */

static bool check_blob(Str id, Error *err)
{
    return blob_id_is_valid(id) || error_set(err, ERROR_INVALID, "not a SHA-256");
}

static bool check_mode(Str mode, Error *err)
{
    return mode.len == 0 || str_eq(mode, STR("0644")) || str_eq(mode, STR("0755")) ||
           error_set(err, ERROR_INVALID, "must be 0644 or 0755");
}

static bool check_file(const ManifestFile *file, Error *err)
{
    uint64_t size = (uint64_t)file->size;
    if (!manifest_path_check(file->path, err)) {
        return false;
    }
    if (file->link.len > 0) {
        return file->mode[0] == '\0' && size == 0 && file->blob_count == 0
                   ? manifest_link_check(file->path, file->link, err)
                   : fail_path(err, ERROR_INVALID, file->path, "a link has no mode and no content");
    }
    if (!check_mode(str_from_c(file->mode), err) || file->mode[0] == '\0') {
        return fail_path(err, ERROR_INVALID, file->path, "its mode must be 0644 or 0755");
    }
    if (file->size > MANIFEST_BYTES_MAX) {
        return fail_path(err, ERROR_LIMIT, file->path, "larger than 1 GiB");
    }
    if (file->blob_count != (size + BLOB_MAX - 1) / BLOB_MAX) {
        return fail_path(err, ERROR_INVALID, file->path,
                         "the number of its blobs does not match its size");
    }
    for (uint32_t i = 0; i < file->blob_count; i++) {
        if (!check_blob(file->blobs[i], err)) {
            return fail_path(err, ERROR_INVALID, file->path, "a blob is not a SHA-256");
        }
    }
    return true;
}

static int compare_path(const void *path, const void *file)
{
    return str_compare(*(const Str *)path, ((const ManifestFile *)file)->path);
}

const ManifestFile *manifest_find(const Manifest *manifest, Str path)
{
    return manifest->file_count == 0 ? NULL
                                     : bsearch(&path, manifest->files, manifest->file_count,
                                               sizeof *manifest->files, compare_path);
}

/* Checks that no file or link is used as a directory. */
static bool check_parents(const Manifest *manifest, Str path, Error *err)
{
    for (size_t i = 0; i < path.len; i++) {
        if (path.data[i] == '/' && manifest_find(manifest, str_slice(path, 0, i)) != NULL) {
            return fail_path(err, ERROR_INVALID, path, "its directory is also a file");
        }
    }
    return true;
}

static bool check_files(const void *record, Error *err)
{
    const Manifest *manifest = record;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < manifest->file_count; i++) {
        const ManifestFile *file = &manifest->files[i];
        if (!check_file(file, err)) {
            return false;
        }
        if (i > 0 && str_compare(manifest->files[i - 1].path, file->path) >= 0) {
            return fail_path(err, ERROR_INVALID, file->path, "not sorted by path");
        }
        bytes += file->size;
        if (bytes > MANIFEST_BYTES_MAX) {
            return error_set(err, ERROR_LIMIT, "the files are larger than 1 GiB in total");
        }
    }
    for (uint32_t i = 0; i < manifest->file_count; i++) {
        if (!check_parents(manifest, manifest->files[i].path, err)) {
            return false;
        }
    }
    return true;
}

static const RecordField file_fields[] = {
    { "path", RECORD_TEXT, RECORD_STR_AT(ManifestFile, path), .is_required = true,
      .max = MANIFEST_PATH_MAX, .help = "path in the site" },
    { "mode", RECORD_TEXT, RECORD_CHARS_AT(ManifestFile, mode), .check_text = check_mode,
      .help = "0644 or 0755" },
    { "link", RECORD_TEXT, RECORD_STR_AT(ManifestFile, link), .max = MANIFEST_PATH_MAX,
      .help = "target of a symbolic link" },
    { "size", RECORD_INT, RECORD_INT_AT(ManifestFile, size), .max = 1 << 30, .help = "in bytes" },
    { "blobs", RECORD_TEXT,
      RECORD_POINTER_AT(ManifestFile, blobs, blob_count, MANIFEST_FILE_BLOBS_MAX, Str, NULL),
      .check_text = check_blob, .help = "SHA-256 of each MiB of the content" },
    { 0 },
};

static const RecordField manifest_fields[] = {
    { "files", RECORD_OBJECT,
      RECORD_POINTER_AT(Manifest, files, file_count, MANIFEST_FILES_MAX, ManifestFile, file_fields),
      .is_printed = true, .help = "files and links, sorted by path" },
    { 0 },
};

static const RecordFormat manifest_format = {
    .format = "eden.manifest/1",
    .what = "a manifest",
    .fields = manifest_fields,
    .size = sizeof(Manifest),
    .text_max = BLOB_MANIFEST_MAX,
    .values_max = 2 << 20,
    .check = check_files,
};

bool manifest_check(const Manifest *manifest, Error *err)
{
    return manifest->file_count <= MANIFEST_FILES_MAX
               ? check_files(manifest, err)
               : error_set(err, ERROR_LIMIT, "more than %d files", MANIFEST_FILES_MAX);
}

void manifest_print(const Manifest *manifest, Buf *out)
{
    record_print(&manifest_format, manifest, out);
}

bool manifest_read(Arena *arena, Str text, Manifest *out, Error *err)
{
    AUTO_CLEAR(Buf) printed = buf_make(BUF_UNLIMITED);
    Manifest read;
    if (!record_read(&manifest_format, arena, text, RECORD_EXTERNAL, &read, err)) {
        return false;
    }
    manifest_print(&read, &printed);
    if (!str_eq(buf_str(&printed), text)) {
        return error_set(err, ERROR_INVALID, "a manifest: not in canonical form");
    }
    *out = read;
    return true;
}

/* --- Content ---------------------------------------------------------------------------------- */

int64_t manifest_bytes(const Manifest *manifest)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < manifest->file_count; i++) {
        bytes += manifest->files[i].size;
    }
    return bytes;
}

size_t manifest_blob_size(const ManifestFile *file, uint32_t blob)
{
    return blob + 1 < file->blob_count ? BLOB_MAX : (size_t)file->size - (size_t)blob * BLOB_MAX;
}

void manifest_add_blobs(const Manifest *manifest, StrMap *out)
{
    for (uint32_t i = 0; i < manifest->file_count; i++) {
        for (uint32_t blob = 0; blob < manifest->files[i].blob_count; blob++) {
            str_map_put(out, manifest->files[i].blobs[blob], NULL);
        }
    }
}

static bool is_same_content(const ManifestFile *a, const ManifestFile *b)
{
    if (strcmp(a->mode, b->mode) != 0 || !str_eq(a->link, b->link) || a->size != b->size) {
        return false;
    }
    for (uint32_t i = 0; i < a->blob_count; i++) {
        if (!str_eq(a->blobs[i], b->blobs[i])) {
            return false;
        }
    }
    return true;
}

uint32_t manifest_compare(Arena *arena, const Manifest *before, const Manifest *after,
                          ManifestChange **out)
{
    VEC(ManifestChange) changes = { 0 };
    uint32_t old = 0, new = 0;
    while (old < before->file_count || new < after->file_count) {
        const ManifestFile *was = old < before->file_count ? &before->files[old] : NULL;
        const ManifestFile *is = new < after->file_count ? &after->files[new] : NULL;
        int order = was == NULL ? 1 : is == NULL ? -1 : str_compare(was->path, is->path);
        if (order < 0) {
            VEC_PUSH(arena, &changes, (ManifestChange){ MANIFEST_REMOVED, was, NULL });
        } else if (order > 0) {
            VEC_PUSH(arena, &changes, (ManifestChange){ MANIFEST_ADDED, NULL, is });
        } else if (!is_same_content(was, is)) {
            VEC_PUSH(arena, &changes, (ManifestChange){ MANIFEST_CHANGED, was, is });
        }
        old += order <= 0;
        new += order >= 0;
    }
    *out = changes.items;
    return changes.len;
}
