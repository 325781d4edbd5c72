#include "run/site_files.h"

#include "base/str_map.h"
#include "base/vec.h"
#include "sys/file.h"

struct SiteFiles {
    Arena *arena;
    char *root;
    StrMap places; /* from path to index in `seen` + 1 */
    VEC(SiteFile) seen;
    size_t total;
};

/* "./jobs//base.yaml" and "jobs/base.yaml" are the same file; paths outside the site are rejected
 * when opened. */
static Str plain_path(Arena *arena, Str path)
{
    Buf plain = buf_make_in(arena, BUF_UNLIMITED);
    if (path.len > 0 && path.data[0] == '/') {
        buf_put_char(&plain, '/');
    }
    Str part;
    bool first = true;
    while (str_split_next(&path, '/', &part)) {
        if (part.len == 0 || str_eq(part, STR("."))) {
            continue;
        }
        if (!first) {
            buf_put_char(&plain, '/');
        }
        buf_put(&plain, part);
        first = false;
    }
    return buf_str(&plain);
}

static bool remember(SiteFiles *files, Str path, Str text, bool missing)
{
    VEC_PUSH(files->arena, &files->seen,
             ((SiteFile){ .path = path, .text = text, .missing = missing }));
    str_map_put(&files->places, path, (void *)(uintptr_t)files->seen.len);
    return true;
}

static bool missing(Str path, Error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "%" STR_FMT ": No such file or directory",
                     STR_ARG(path));
}

bool site_files_read(SiteFiles *files, Str path, Str *out, Error *err)
{
    path = plain_path(files->arena, path);
    uintptr_t place = (uintptr_t)str_map_find(&files->places, path);
    if (place != 0) {
        const SiteFile *known = &files->seen.items[place - 1];
        *out = known->text;
        return !known->missing || missing(path, err);
    }
    if (files->seen.len >= SITE_FILES_MAX || files->total >= SITE_TOTAL_MAX) {
        return error_set(err, ERROR_LIMIT,
                         "%" STR_FMT ": the site has more than %d files or %d MiB", STR_ARG(path),
                         SITE_FILES_MAX, SITE_TOTAL_MAX >> 20);
    }
    if (!file_read_beneath(files->arena, files->root, path, SITE_FILE_MAX, out, err)) {
        if (err->kind == ERROR_NOT_FOUND) {
            remember(files, path, STR_EMPTY, true);
        }
        return false;
    }
    files->total += out->len;
    return remember(files, path, *out, false);
}

/* Anything but a file, or a file that cannot be read beneath its directory, is left to its reader.
 * Otherwise the error names the path as given. */
static bool read_alone(SiteFiles *files, Str file, const char *path, Error *err)
{
    Str ignored;
    Error why;
    if (site_files_read(files, file, &ignored, &why) || why.kind == ERROR_INVALID) {
        return true;
    }
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    return file_read(&scratch, path, SITE_FILE_MAX, &ignored, err);
}

bool site_files_open(Arena *arena, const char *path, SiteFiles **out, Str *file, Error *err)
{
    Str root = str_from_c(path);
    bool alone = !file_is_directory(path);
    *file = STR_EMPTY;
    if (alone) {
        size_t slash = str_find_last(root, STR("/"));
        *file = slash == STR_NOT_FOUND ? root : str_from_offset(root, slash + 1);
        root = slash == STR_NOT_FOUND ? STR(".")
               : slash == 0           ? STR("/")
                                      : str_slice(root, 0, slash);
    }
    while (root.len > 1 && root.data[root.len - 1] == '/') {
        root.len--;
    }
    SiteFiles *files = ARENA_NEW(arena, SiteFiles);
    files->arena = arena;
    files->root = arena_copy_c(arena, root);
    str_map_init(&files->places, arena);
    if (alone && !read_alone(files, *file, path, err)) {
        return false;
    }
    *out = files;
    return true;
}

bool site_files_load_template(void *context, Str name, Arena *arena, Str *text)
{
    Error err;
    return site_files_read(context, arena_format(arena, "templates/%" STR_FMT, STR_ARG(name)), text,
                           &err);
}

static bool reader_read(void *context, Str path, Str *text, Error *err)
{
    return site_files_read(context, path, text, err);
}

static bool reader_exists(void *context, Str path)
{
    Error err;
    Str ignored;
    return site_files_read(context, path, &ignored, &err) || err.kind != ERROR_NOT_FOUND;
}

/* A directory that cannot be listed has no files. */
static void reader_list(void *context, Str directory, Arena *arena, List *paths)
{
    static const char *const suffixes[] = { "", NULL };
    const SiteFiles *files = context;
    Str root = arena_format(arena, "%s/%" STR_FMT, files->root, STR_ARG(directory));
    FileList list;
    Error err;
    if (!file_list(arena, arena_copy_c(arena, root), suffixes, SITE_FILES_MAX, &list, &err)) {
        return;
    }
    size_t prefix = strlen(files->root) + 1;
    for (uint32_t i = 0; i < list.count; i++) {
        list_push(arena, paths, value_string(str_from_offset(list.paths[i], prefix)));
    }
}

SiteReader site_files_reader(SiteFiles *files)
{
    bool here = strcmp(files->root, ".") == 0;
    return (SiteReader){ .context = files,
                         .root = here ? STR_EMPTY : str_from_c(files->root),
                         .read = reader_read,
                         .list = reader_list,
                         .exists = reader_exists };
}

const SiteFile *site_files_seen(const SiteFiles *files, uint32_t *count)
{
    *count = files->seen.len;
    return files->seen.items;
}
