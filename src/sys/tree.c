#include "sys/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file_io.h"

enum {
    LINK_MAX_BYTES = 4096,
};

bool tree_open(const char *root, Tree *out, Error *err)
{
    struct stat status, own;
    out->root = root;
    out->descriptor = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (out->descriptor < 0) {
        return file_error(err, errno, root);
    }
    out->live = fstat(out->descriptor, &status) == 0 && stat("/", &own) == 0 &&
                status.st_dev == own.st_dev && status.st_ino == own.st_ino;
    return true;
}

void tree_close(Tree *tree)
{
    if (tree->descriptor >= 0) {
        close(tree->descriptor);
    }
    tree->descriptor = -1;
}

/* Returns -1 and sets errno like open(2). Our own root cannot be escaped, so RESOLVE_IN_ROOT is not
 * used for it: the kernel then rejects paths with "..", such as most links in /sys, with EAGAIN
 * whenever something is renamed anywhere at the same time, which any user can do all the time. */
static int open_in(const Tree *tree, const char *path, int flags)
{
    uint64_t inside = tree->live ? 0 : RESOLVE_IN_ROOT;
    return open_within(tree->descriptor, path, (uint64_t)flags, inside | RESOLVE_NO_MAGICLINKS);
}

bool tree_read(const Tree *tree, Arena *arena, const char *path, size_t max, Str *out, Error *err)
{
    /* Opening a FIFO must not block. */
    int descriptor = open_in(tree, path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) {
        return file_error(err, errno, path);
    }
    bool ok = read_to_end(descriptor, arena, 0, max, out) || file_read_error(err, errno, path, max);
    close(descriptor);
    return ok;
}

bool tree_read_link(const Tree *tree, Arena *arena, const char *path, Str *out, Error *err)
{
    int descriptor = open_in(tree, path, O_PATH | O_NOFOLLOW);
    if (descriptor < 0) {
        return file_error(err, errno, path);
    }
    char target[LINK_MAX_BYTES];
    ssize_t len = readlinkat(descriptor, "", target, sizeof target);
    int number = errno;
    close(descriptor);
    if (len < 0) {
        /* With an empty path the kernel reports ENOENT if it is not a link. */
        return file_error(err, number == ENOENT ? EINVAL : number, path);
    }
    *out = arena_copy(arena, str_from(target, (size_t)len));
    return true;
}

bool tree_list(const Tree *tree, Arena *arena, const char *path, uint32_t max, Str **names,
               uint32_t *count, Error *err)
{
    return entries_names(open_in(tree, path, O_RDONLY | O_DIRECTORY), arena, max, names, count) ||
           (errno == EOVERFLOW ? error_set(err, ERROR_LIMIT, "%s: more than %u entries", path, max)
                               : file_error(err, errno, path));
}

bool tree_has(const Tree *tree, const char *path)
{
    int descriptor = open_in(tree, path, O_PATH);
    if (descriptor >= 0) {
        close(descriptor);
    }
    return descriptor >= 0;
}

/* The path that the kernel reports for an open file. */
static bool outside_path(Arena *arena, int descriptor, Str *out)
{
    char link[64], path[LINK_MAX_BYTES];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t len = readlink(link, path, sizeof path);
    if (len < 0 || len == (ssize_t)sizeof path) {
        errno = len < 0 ? errno : ENAMETOOLONG;
        return false;
    }
    /* Without the slash of the root, because a path is appended. */
    *out = arena_copy(arena, len == 1 ? STR_EMPTY : str_from(path, (size_t)len));
    return true;
}

bool tree_locate(const Tree *tree, Arena *arena, const char *path, const char **out, Error *err)
{
    Str whole = str_from_c(path), there = whole;
    int descriptor = open_in(tree, path, O_PATH);
    while (descriptor < 0 && errno == ENOENT && there.len > 0) {
        /* The target of a link may be missing, rather than the name itself. */
        const char *name = arena_copy_c(arena, there);
        int link = open_in(tree, name, O_PATH | O_NOFOLLOW);
        if (link >= 0) {
            close(link);
            return error_set(err, ERROR_CONFLICT, "%s in '%s' is a dangling symbolic link", name,
                             tree->root);
        }
        there = str_slice(there, 0, str_find_last(there, STR("/")));
        descriptor = open_in(tree, there.len == 0 ? "/" : arena_copy_c(arena, there), O_PATH);
    }
    Str found;
    if (descriptor < 0) {
        return file_error(err, errno, path);
    }
    bool ok = outside_path(arena, descriptor, &found) || file_error(err, errno, path);
    close(descriptor);
    if (ok) {
        Str rest = str_from_offset(whole, there.len);
        *out = arena_copy_c(
            arena, arena_format(arena, "%" STR_FMT "%" STR_FMT, STR_ARG(found), STR_ARG(rest)));
    }
    return ok;
}
