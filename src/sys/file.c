#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/file_io.h"
#include "sys/file_stream.h"

/* A regular file that is known to be too large is not read at all. */
static bool read_all(Arena *arena, int descriptor, const char *path, size_t max, Str *out,
                     Error *err)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        return file_error(err, errno, path);
    }
    if (S_ISDIR(status.st_mode)) {
        return file_error(err, EISDIR, path);
    }
    return read_to_end(descriptor, arena, S_ISREG(status.st_mode) ? status.st_size : 0, max, out) ||
           file_read_error(err, errno, path, max);
}

bool file_read(Arena *arena, const char *path, size_t max, Str *out, Error *err)
{
    if (strcmp(path, "-") == 0) {
        return read_all(arena, STDIN_FILENO, "<stdin>", max, out, err);
    }
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        return file_error(err, errno, path);
    }
    bool ok = read_all(arena, descriptor, path, max, out, err);
    close(descriptor);
    return ok;
}

bool file_read_head(Arena *arena, const char *path, size_t max, Str *out, Error *err)
{
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        return file_error(err, errno, path);
    }
    char *text = arena_alloc(arena, max);
    ssize_t got;
    do {
        got = read(descriptor, text, max);
    } while (got < 0 && errno == EINTR);
    bool ok = got >= 0 || file_error(err, errno, path);
    close(descriptor);
    if (ok) {
        *out = str_from(text, (size_t)got);
    }
    return ok;
}

bool file_read_beneath(Arena *arena, const char *root, Str path, size_t max, Str *out, Error *err)
{
    if (path.len == 0 || memchr(path.data, '\0', path.len) != NULL) {
        return error_set(err, ERROR_NOT_FOUND, "'%" STR_FMT "' is not a valid file name",
                         STR_ARG(path));
    }
    const char *name = arena_copy_c(arena, path);
    int directory = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        return file_error(err, errno, root);
    }
    /* O_NONBLOCK: opening a FIFO must not block. */
    int descriptor = open_within(directory, name, O_RDONLY | O_NOCTTY | O_NONBLOCK,
                                 RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    int number = errno;
    close(directory);
    if (descriptor < 0 && number == EXDEV) {
        return error_set(err, ERROR_DENIED, "%s: points outside the directory '%s'", name, root);
    }
    if (descriptor < 0) {
        return file_error(err, number, name);
    }
    struct stat status;
    bool ok = fstat(descriptor, &status) == 0 || file_error(err, errno, name);
    if (ok && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
        ok = error_set(err, ERROR_INVALID, "%s: not a regular file", name);
    }
    ok = ok && read_all(arena, descriptor, name, max, out, err);
    close(descriptor);
    return ok;
}

static bool has_parent_component(Str path)
{
    for (size_t at = 0; (at = str_find(path, STR(".."), at)) != STR_NOT_FOUND; at += 2) {
        bool starts = at == 0 || path.data[at - 1] == '/';
        bool ends = at + 2 == path.len || path.data[at + 2] == '/';
        if (starts && ends) {
            return true;
        }
    }
    return false;
}

Str file_absolute(Arena *arena, const char *path)
{
    Str given = str_from_c(path);
    char *from = has_parent_component(given) ? realpath(path, NULL)
                 : path[0] != '/'            ? getcwd(NULL, 0)
                                             : NULL;
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    Str rest = given;
    if (from != NULL) {
        buf_put_c(&out, from);
        rest = has_parent_component(given) ? STR_EMPTY : given;
        free(from);
    } else if (path[0] != '/') {
        return arena_copy(arena, given);
    }
    while (rest.len > 0) {
        size_t slash = str_find(rest, STR("/"), 0);
        Str part = slash == STR_NOT_FOUND ? rest : str_slice(rest, 0, slash);
        rest = slash == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(rest, slash + 1);
        if (part.len > 0 && !str_eq_c(part, ".")) {
            buf_put_char(&out, '/');
            buf_put(&out, part);
        }
    }
    return out.len == 0 ? STR("/") : buf_str(&out);
}

bool file_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

bool file_is_on_tmpfs(const char *path)
{
    struct statfs system;
    return statfs(path, &system) == 0 &&
           (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

static bool check_parent(const char *path, const char *directory, uid_t owner, Error *err)
{
    struct stat status;
    if (stat(directory, &status) != 0) {
        return errno == ENOENT || file_error(err, errno, directory);
    }
    if (status.st_uid != 0 && status.st_uid != owner) {
        return error_set(err, ERROR_DENIED,
                         "%s: the directory '%s' is owned by user %u, who could replace it", path,
                         directory, (unsigned)status.st_uid);
    }
    return (status.st_mode & S_IWOTH) == 0 ||
           error_set(err, ERROR_DENIED,
                     "%s: the directory '%s' is writable by everyone, so any user could replace it",
                     path, directory);
}

/* All parent directories; modifies `parents`. */
static bool check_parents(const char *path, char *parents, uid_t owner, Error *err)
{
    for (char *slash; parents[1] != '\0' && (slash = strrchr(parents, '/')) != NULL;) {
        slash[slash == parents ? 1 : 0] = '\0';
        if (!check_parent(path, parents, owner, err)) {
            return false;
        }
    }
    return true;
}

/* Checks the path as given and its real path. */
bool file_check_path_protected(Arena *arena, const char *path, Error *err)
{
    char real[PATH_MAX];
    struct stat status;
    uid_t owner = stat(path, &status) == 0 ? status.st_uid : 0;
    return check_parents(path, arena_copy_c(arena, file_absolute(arena, path)), owner, err) &&
           (realpath(path, real) == NULL || check_parents(path, real, owner, err));
}

bool file_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool file_is_executable(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

bool file_is_rereadable(const char *path)
{
    struct stat status;
    return strcmp(path, "-") != 0 && (stat(path, &status) != 0 || S_ISREG(status.st_mode));
}

bool file_read_secret(Arena *arena, const char *path, size_t max, Str *out, Error *err)
{
    struct stat info;
    if (strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
        (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return error_set(err, ERROR_DENIED,
                         "%s is readable by users other than its owner; run: chmod 600 %s", path,
                         path);
    }
    return file_read(arena, path, max, out, err);
}

static bool has_other_owner(const struct stat *status)
{
    return status->st_uid != 0 && status->st_uid != geteuid();
}

static bool is_writable_by_others(const struct stat *status)
{
    return (status->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

bool file_is_writable_by_others(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && (is_writable_by_others(&status) || has_other_owner(&status));
}

bool file_read_trusted(Arena *arena, const char *path, size_t max, Str *out, Error *err)
{
    struct stat status;
    if (strcmp(path, "-") == 0) {
        return file_read(arena, path, max, out, err);
    }
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        return file_error(err, errno, path);
    }
    bool ok = fstat(descriptor, &status) == 0 || file_error(err, errno, path);
    if (ok && has_other_owner(&status)) {
        ok = error_set(err, ERROR_DENIED, "%s is owned by user %u", path, (unsigned)status.st_uid);
    } else if (ok && S_ISREG(status.st_mode) && is_writable_by_others(&status)) {
        ok = error_set(err, ERROR_DENIED, "%s is writable by users other than its owner", path);
    }
    ok = ok && read_all(arena, descriptor, path, max, out, err);
    close(descriptor);
    return ok;
}

/* --- Writing --------------------------------------------------------------------------------- */

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

static bool write_as(const char *path, Str text, mode_t mode, bool fresh, Error *err)
{
    AUTO(FileDraft) *draft = NULL;
    return file_draft_open(path, mode, fresh, &draft, err) && file_draft_put(draft, text, err) &&
           file_draft_keep(draft, err);
}

bool file_write_atomic(const char *path, Str text, Error *err)
{
    return write_as(path, text, 0666, false, err);
}

bool file_write_private(const char *path, Str text, Error *err)
{
    return write_as(path, text, 0600, false, err);
}

bool file_write_new_private(const char *path, Str text, Error *err)
{
    return write_as(path, text, 0600, true, err);
}
