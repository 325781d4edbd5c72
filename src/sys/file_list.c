#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "sys/file.h"
#include "sys/file_error.h"

enum {
    DEPTH_MAX = 64
};

static bool has_suffix(Str name, const char *const *suffixes)
{
    for (; *suffixes != NULL; suffixes++) {
        if (str_ends(name, str_from_c(*suffixes))) {
            return true;
        }
    }
    return false;
}

static bool list_below(Arena *arena, const char *directory, const char *const *suffixes,
                       uint32_t max, unsigned depth, FileList *out, Error *err)
{
    if (depth > DEPTH_MAX) {
        return error_set(err, ERROR_LIMIT, "%s: directories are nested too deeply", directory);
    }
    DIR *stream = opendir(directory);
    if (stream == NULL) {
        return file_error(err, errno, directory);
    }
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(stream)) != NULL;) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        Str path = arena_format(arena, "%s/%s", directory, entry->d_name);
        const char *name = arena_copy_c(arena, path);
        struct stat status;
        if (lstat(name, &status) != 0) {
            continue; /* removed since */
        }
        if (S_ISDIR(status.st_mode)) {
            ok = list_below(arena, name, suffixes, max, depth + 1, out, err);
        } else if ((S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) &&
                   has_suffix(path, suffixes)) {
            if (out->count >= max) {
                ok = error_set(err, ERROR_LIMIT, "%s: more than %u files", directory, max);
            } else {
                if (out->count == out->cap) {
                    out->paths =
                        vec_grow(arena, out->paths, &out->cap, sizeof(Str), out->count + 1);
                }
                out->paths[out->count++] = str_from_c(name);
            }
        }
    }
    closedir(stream);
    return ok;
}

static int compare_paths(const void *a, const void *b)
{
    return str_compare(*(const Str *)a, *(const Str *)b);
}

bool file_list(Arena *arena, const char *root, const char *const *suffixes, uint32_t max,
               FileList *out, Error *err)
{
    *out = (FileList){ 0 };
    if (!list_below(arena, root, suffixes, max, 0, out, err)) {
        return false;
    }
    if (out->count > 1) {
        qsort(out->paths, out->count, sizeof(Str), compare_paths);
    }
    return true;
}
