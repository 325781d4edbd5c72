#include "source/git_tree.h"

#include <stdlib.h>

#include "base/hex.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "base/visible.h"

GitTree *git_tree_new(void)
{
    GitTree *tree = memory_new(sizeof *tree);
    arena_init(&tree->arena, ARENA_UNLIMITED);
    tree->references = 1;
    str_map_init(&tree->by_object, &tree->arena);
    return tree;
}

GitTree *git_tree_ref(GitTree *tree)
{
    tree->references++;
    return tree;
}

void git_tree_unref(GitTree *tree)
{
    if (tree != NULL && --tree->references == 0) {
        arena_clear(&tree->arena);
        free(tree);
    }
}

/* --- Commit ----------------------------------------------------------------------------------- */

static bool is_object(Str id)
{
    return (id.len == 40 || id.len == GIT_ID_MAX) && hex_is_valid(id);
}

/* A line of a commit, which is untrusted, made safe to show. */
static Str one_line(Arena *arena, Str text)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t at = 0; at < text.len && out.len < GIT_TEXT_MAX - UTF8_BYTES_MAX;) {
        uint32_t code = utf8_next(text, &at);
        utf8_put(&out, code < ' ' || code == 127 || visible_is_deceptive(code) ? ' ' : code);
    }
    return str_trim(buf_str(&out));
}

bool git_tree_read_commit(GitTree *tree, Str text, Error *err)
{
    Str commit, author, rest = text;
    if (!str_split_next(&rest, '\0', &commit) || !is_object(commit) ||
        !str_split_next(&rest, '\0', &author)) {
        return error_set(err, ERROR_INVALID, "git printed no commit");
    }
    tree->commit = arena_copy(&tree->arena, commit);
    tree->author = one_line(&tree->arena, author);
    tree->subject = one_line(&tree->arena, rest);
    return true;
}

/* --- Listing ---------------------------------------------------------------------------------- */

/* "100644 blob 9daeafb9864cf43055ae93beb0afd6c7d144bfa4       5\tpath" */
typedef struct ListedFile {
    Str mode, type, object, size, path;
} ListedFile;

static bool split_entry(Str entry, ListedFile *out)
{
    size_t tab = str_find(entry, STR("\t"), 0);
    if (tab == STR_NOT_FOUND) {
        return false;
    }
    Str head = str_slice(entry, 0, tab);
    out->path = str_from_offset(entry, tab + 1);
    if (!str_split_next(&head, ' ', &out->mode) || !str_split_next(&head, ' ', &out->type) ||
        !str_split_next(&head, ' ', &out->object)) {
        return false;
    }
    out->size = str_trim(head);
    return is_object(out->object);
}

static bool reject(Str path, const char *why, Error *err)
{
    AUTO_CLEAR(Buf) shown = buf_make(BUF_UNLIMITED);
    visible_put(&shown, str_slice(path, 0, 200));
    return error_set(err, ERROR_INVALID, "%" STR_FMT ": %s", STR_ARG(buf_str(&shown)), why);
}

static bool read_size(const ListedFile *listed, int64_t *total, int64_t *out, Error *err)
{
    if (!str_to_i64(listed->size, out) || *out < 0) {
        return error_set(err, ERROR_INVALID, "git printed a size that is not a number");
    }
    if (*out > MANIFEST_BYTES_MAX || *total + *out > MANIFEST_BYTES_MAX) {
        AUTO_CLEAR(Buf) shown = buf_make(BUF_UNLIMITED);
        visible_put(&shown, str_slice(listed->path, 0, 200));
        return error_set(err, ERROR_LIMIT,
                         "%" STR_FMT ": with this file of %lld MiB the site is larger than 1 GiB",
                         STR_ARG(buf_str(&shown)), (long long)(*out >> 20));
    }
    *total += *out;
    return true;
}

static bool read_entry(GitTree *tree, const ListedFile *listed, int64_t *total, ManifestFile *out,
                       Str *object, Error *err)
{
    if (str_eq(listed->type, STR("commit"))) {
        return reject(listed->path,
                      "is a submodule: commit its files, or add its repository as another source",
                      err);
    }
    if (!str_eq(listed->type, STR("blob")) || !manifest_path_check(listed->path, err) ||
        !read_size(listed, total, &out->size, err)) {
        return str_eq(listed->type, STR("blob"))
                   ? false
                   : reject(listed->path, "is neither a file nor a link", err);
    }
    out->path = arena_copy(&tree->arena, listed->path);
    *object = arena_copy(&tree->arena, listed->object);
    if (str_eq(listed->mode, STR("120000"))) {
        return out->size <= MANIFEST_PATH_MAX ||
               reject(listed->path, "the target of the link is too long", err);
    }
    memcpy(out->mode, str_eq(listed->mode, STR("100755")) ? "0755" : "0644", sizeof out->mode);
    return true;
}

typedef VEC(ManifestFile) Files;
typedef VEC(Str) Objects;

bool git_tree_read_listing(GitTree *tree, Str text, Error *err)
{
    Files files = { 0 };
    Objects objects = { 0 };
    int64_t total = 0;
    Str rest = text, entry;
    while (rest.len > 0 && str_split_next(&rest, '\0', &entry)) {
        ManifestFile file = { 0 };
        ListedFile listed;
        Str object;
        if (!split_entry(entry, &listed)) {
            return error_set(err, ERROR_INVALID, "git printed an unexpected line");
        }
        if (str_eq(listed.type, STR("tree"))) {
            continue;
        }
        if (files.len == MANIFEST_FILES_MAX) {
            return error_set(err, ERROR_LIMIT, "it has more than %d files", MANIFEST_FILES_MAX);
        }
        if (!read_entry(tree, &listed, &total, &file, &object, err)) {
            return false;
        }
        VEC_PUSH(&tree->arena, &files, file);
        VEC_PUSH(&tree->arena, &objects, object);
    }
    tree->files = (Manifest){ .files = files.items, .file_count = files.len };
    tree->objects = objects.items;
    return true;
}

/* --- Contents --------------------------------------------------------------------------------- */

static bool is_link(const ManifestFile *file)
{
    return file->mode[0] == '\0';
}

/* A requested file is counted once for all files with the same content. Links have a different key,
 * because their content is stored elsewhere. */
static Str content_key(Arena *arena, const GitTree *tree, uint32_t file)
{
    return is_link(&tree->files.files[file])
               ? arena_join(arena, STR("link "), tree->objects[file], STR_EMPTY)
               : tree->objects[file];
}

static void copy_content(Arena *arena, const ManifestFile *from, ManifestFile *to)
{
    to->link = arena_copy(arena, from->link);
    to->blob_count = from->blob_count;
    to->blobs = ARENA_ARRAY(arena, Str, from->blob_count);
    for (uint32_t i = 0; i < from->blob_count; i++) {
        to->blobs[i] = arena_copy(arena, from->blobs[i]);
    }
}

/* A blob is lost when its file is removed, or was damaged and is therefore removed. */
static bool has_blobs(const GitContents *contents, const ManifestFile *file)
{
    for (uint32_t i = 0; contents->has != NULL && i < file->blob_count; i++) {
        if (!contents->has(contents->context, file->blobs[i])) {
            return false;
        }
    }
    return true;
}

bool git_contents_exist(const GitContents *contents, const GitTree *tree)
{
    for (uint32_t i = 0; i < tree->files.file_count; i++) {
        if (!has_blobs(contents, &tree->files.files[i])) {
            return false;
        }
    }
    return true;
}

Str git_contents_start(Arena *arena, GitTree *tree, const GitTree *before, GitContents *contents)
{
    Buf request = buf_make_in(arena, BUF_UNLIMITED);
    VEC(uint32_t) requested = { 0 };
    for (uint32_t i = 0; i < tree->files.file_count; i++) {
        ManifestFile *file = &tree->files.files[i];
        Str key = content_key(&tree->arena, tree, i);
        const ManifestFile *known = before == NULL ? NULL : str_map_find(&before->by_object, key);
        if (str_map_has(&tree->by_object, key)) {
            continue;
        }
        str_map_put(&tree->by_object, key, file);
        if (known != NULL && (is_link(file) || known->size == file->size) &&
            has_blobs(contents, known)) {
            copy_content(&tree->arena, known, file);
            continue;
        }
        buf_put(&request, tree->objects[i]);
        buf_put_char(&request, '\n');
        VEC_PUSH(arena, &requested, i);
    }
    *contents = (GitContents){ .tree = tree,
                               .requested = requested.items,
                               .requested_count = requested.len,
                               .chunk = buf_make(BLOB_MAX),
                               .has = contents->has,
                               .put = contents->put,
                               .context = contents->context };
    return buf_str(&request);
}

void git_contents_clear(GitContents *contents)
{
    buf_clear(&contents->chunk);
}

/* Used instead of content that is not in git itself. */
#define LFS_POINTER STR("version https://git-lfs.github.com/spec/")

static bool end_chunk(GitContents *contents, ManifestFile *file, Error *err)
{
    Arena *arena = &contents->tree->arena;
    Str data = buf_str(&contents->chunk);
    if (is_link(file)) {
        file->link = arena_copy(arena, data);
    } else if (data.len > 0) {
        bool is_pointer = file->blob_count == 0 && str_starts(data, LFS_POINTER);
        contents->pointer = is_pointer ? file->path : contents->pointer;
        char *id = ARENA_ARRAY(arena, char, BLOB_ID_TEXT + 1);
        blob_id_of(data, id);
        file->blobs[file->blob_count++] = str_from(id, BLOB_ID_TEXT);
        if (!contents->put(contents->context, str_from(id, BLOB_ID_TEXT), data, err)) {
            return false;
        }
    }
    buf_reset(&contents->chunk);
    return true;
}

/* "<object> blob <size>" */
static bool start_object(GitContents *contents, Error *err)
{
    Str rest = str_from(contents->head, contents->head_len), object, type;
    int64_t size;
    if (contents->at == contents->requested_count) {
        return error_set(err, ERROR_INVALID, "git printed more objects than requested");
    }
    uint32_t index = contents->requested[contents->at];
    ManifestFile *file = &contents->tree->files.files[index];
    if (!str_split_next(&rest, ' ', &object) || !str_split_next(&rest, ' ', &type) ||
        !str_eq(object, contents->tree->objects[index]) || !str_eq(type, STR("blob")) ||
        !str_to_i64(rest, &size) || size != file->size) {
        return error_set(err, ERROR_INVALID, "git printed a different object than requested");
    }
    contents->head_len = 0;
    contents->in_content = true;
    contents->remaining = size;
    file->blob_count = 0;
    file->blobs = ARENA_ARRAY(&contents->tree->arena, Str, (size_t)(size / BLOB_MAX) + 1);
    return true;
}

static bool add_head(GitContents *contents, Str *piece, Error *err)
{
    size_t end = str_find(*piece, STR("\n"), 0);
    Str part = str_slice(*piece, 0, end);
    if (contents->head_len + part.len > sizeof contents->head) {
        return error_set(err, ERROR_INVALID, "git printed a line that is too long");
    }
    memcpy(contents->head + contents->head_len, part.data, part.len);
    contents->head_len += part.len;
    *piece = str_from_offset(*piece, part.len + (end != STR_NOT_FOUND));
    return end == STR_NOT_FOUND || start_object(contents, err);
}

static bool add_content(GitContents *contents, Str *piece, Error *err)
{
    ManifestFile *file = &contents->tree->files.files[contents->requested[contents->at]];
    if (contents->remaining > 0) {
        size_t room = BLOB_MAX - contents->chunk.len;
        size_t max = (uint64_t)contents->remaining < room ? (size_t)contents->remaining : room;
        Str part = str_slice(*piece, 0, max);
        buf_put(&contents->chunk, part);
        contents->remaining -= (int64_t)part.len;
        *piece = str_from_offset(*piece, part.len);
        return contents->chunk.len < BLOB_MAX || end_chunk(contents, file, err);
    }
    if (piece->data[0] != '\n') {
        return error_set(err, ERROR_INVALID, "git printed an object that is too long");
    }
    *piece = str_from_offset(*piece, 1);
    contents->in_content = false;
    contents->at++;
    return end_chunk(contents, file, err);
}

bool git_contents_add(GitContents *contents, Str piece, Error *err)
{
    while (piece.len > 0) {
        if (!(contents->in_content ? add_content(contents, &piece, err)
                                   : add_head(contents, &piece, err))) {
            return false;
        }
    }
    return true;
}

/* Copies the content to files with the same object. */
bool git_contents_end(GitContents *contents, bool *is_complete, Error *err)
{
    GitTree *tree = contents->tree;
    *is_complete = contents->at == contents->requested_count;
    if (!*is_complete) {
        return error_set(err, ERROR_INVALID, "git did not print all files");
    }
    for (uint32_t i = 0; i < tree->files.file_count; i++) {
        ManifestFile *file = &tree->files.files[i];
        const ManifestFile *first =
            str_map_find(&tree->by_object, content_key(&tree->arena, tree, i));
        if (first != file) {
            file->link = first->link;
            file->blobs = first->blobs;
            file->blob_count = first->blob_count;
        }
        if (is_link(file)) {
            file->size = 0;
            if (!manifest_link_check(file->path, file->link, err)) {
                return false;
            }
        }
    }
    return contents->pointer.len > 0
               ? reject(contents->pointer, "is stored in Git LFS, which is not supported", err)
               : manifest_check(&tree->files, err);
}
