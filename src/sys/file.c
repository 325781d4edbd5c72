#include "sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"

enum {
    READ_PIECE = 64 << 10,
    DEPTH_MAX = 64
};

static bool os_error(Error *err, int number, const char *path)
{
    ErrorKind kind = number == ENOENT || number == ENOTDIR ? ERROR_NOT_FOUND
                     : number == EACCES || number == EPERM ? ERROR_DENIED
                     : number == EXDEV || number == ELOOP  ? ERROR_DENIED
                                                           : ERROR_OS;
    return error_set(err, kind, "%s: %s", path, strerror(number));
}

/* Reads in pieces, because a size told beforehand can be wrong: pipes and /proc say 0. */
static bool read_all(Arena *arena, int descriptor, const char *path, size_t max, Str *out,
                     Error *err)
{
    struct stat status;
    if (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
        return os_error(err, EISDIR, path);
    }
    Buf text = buf_make_in(arena, max + 1);
    for (;;) {
        size_t room = max + 1 - text.len;
        size_t piece = room < READ_PIECE ? room : READ_PIECE;
        if (piece == 0 || !buf_reserve(&text, piece)) {
            return error_set(err, ERROR_LIMIT, "%s: larger than %zu bytes", path, max);
        }
        ssize_t got = read(descriptor, text.data + text.len, piece);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return os_error(err, errno, path);
        }
        if (got == 0) {
            break;
        }
        text.len += (size_t)got;
    }
    if (text.len > max) {
        return error_set(err, ERROR_LIMIT, "%s: larger than %zu bytes", path, max);
    }
    *out = buf_str(&text);
    return true;
}

bool file_read(Arena *arena, const char *path, size_t max, Str *out, Error *err)
{
    if (strcmp(path, "-") == 0) {
        return read_all(arena, STDIN_FILENO, "standard input", max, out, err);
    }
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        return os_error(err, errno, path);
    }
    bool ok = read_all(arena, descriptor, path, max, out, err);
    close(descriptor);
    return ok;
}

bool file_read_beneath(Arena *arena, const char *root, Str path, size_t max, Str *out, Error *err)
{
    if (path.len == 0 || memchr(path.data, '\0', path.len) != NULL) {
        return error_set(err, ERROR_NOT_FOUND, "'%" STR_FMT "' is no file name", STR_ARG(path));
    }
    const char *name = arena_copy_c(arena, path);
    int directory = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        return os_error(err, errno, root);
    }
    struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NOCTTY,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
    int descriptor = (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
    int number = errno;
    close(directory);
    if (descriptor < 0) {
        return os_error(err, number, name);
    }
    bool ok = read_all(arena, descriptor, name, max, out, err);
    close(descriptor);
    return ok;
}

bool file_write_all(int descriptor, Str text, Error *err)
{
    while (text.len > 0) {
        ssize_t put = write(descriptor, text.data, text.len);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return error_set(err, ERROR_OS, "cannot write: %s", strerror(errno));
        }
        text = str_from_offset(text, (size_t)put);
    }
    return true;
}

bool file_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

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
        return error_set(err, ERROR_LIMIT, "%s: directories are nested too deep", directory);
    }
    DIR *stream = opendir(directory);
    if (stream == NULL) {
        return os_error(err, errno, directory);
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
            continue; /* removed meanwhile */
        }
        if (S_ISDIR(status.st_mode)) {
            ok = list_below(arena, name, suffixes, max, depth + 1, out, err);
        } else if (has_suffix(path, suffixes)) {
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
