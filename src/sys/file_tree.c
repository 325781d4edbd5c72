#include "sys/file_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/vec.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/file_io.h"

/* An error for a path in a root. Always false. */
static bool path_error(Error *err, int saved_errno, const char *root, Str path)
{
    char shown[2 * PATH_MAX];
    snprintf(shown, sizeof shown, "%s/%" STR_FMT, root, STR_ARG(path));
    return file_error(err, saved_errno, shown);
}

/* --- Listing ---------------------------------------------------------------------------------- */

typedef struct Listing {
    Arena *arena;
    const char *root;
    const FileTreeLimits *limits;
    FileTree *out;
    Error *err;
} Listing;

static bool list_error(const Listing *listing, int saved_errno, Str path)
{
    return path_error(listing->err, saved_errno, listing->root, path);
}

static bool read_link(const Listing *listing, int directory, const char *name, Str path, Str *out)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(directory, name, target, sizeof target);
    if (len < 0) {
        return list_error(listing, errno, path);
    }
    *out = arena_copy(listing->arena, str_from(target, (size_t)len));
    return true;
}

static bool is_wanted(const char *const *suffixes, const struct stat *status, Str path)
{
    if (suffixes == NULL) {
        return true;
    }
    for (; *suffixes != NULL; suffixes++) {
        if (str_ends(path, str_from_c(*suffixes))) {
            return S_ISREG(status->st_mode) || S_ISLNK(status->st_mode);
        }
    }
    return false;
}

static bool list_below(const Listing *listing, int directory, Str path, uint32_t depth);

static bool list_entry(const Listing *listing, int directory, const char *name, Str path,
                       uint32_t depth)
{
    FileTree *out = listing->out;
    struct stat status;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT || list_error(listing, errno, path);
    }
    if (S_ISDIR(status.st_mode)) {
        int child = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return child < 0 ? list_error(listing, errno, path)
                         : list_below(listing, child, path, depth + 1);
    }
    if (!is_wanted(listing->limits->suffixes, &status, path)) {
        return true;
    }
    FileTreeEntry entry = { .path = path, .kind = FILE_TREE_SPECIAL };
    if (S_ISREG(status.st_mode)) {
        entry.kind = FILE_TREE_FILE;
        entry.size = status.st_size;
        entry.is_executable = (status.st_mode & S_IXUSR) != 0;
    } else if (S_ISLNK(status.st_mode)) {
        entry.kind = FILE_TREE_LINK;
        if (!read_link(listing, directory, name, path, &entry.target)) {
            return false;
        }
    }
    if (out->count >= listing->limits->entries_max) {
        return error_set(listing->err, ERROR_LIMIT, "%s: more than %u files", listing->root,
                         listing->limits->entries_max);
    }
    if (out->count == out->cap) {
        out->items =
            vec_grow(listing->arena, out->items, &out->cap, sizeof *out->items, out->count + 1);
    }
    out->items[out->count++] = entry;
    return true;
}

/* Closes `directory`. */
static bool list_below(const Listing *listing, int directory, Str path, uint32_t depth)
{
    if (depth > listing->limits->depth_max) {
        close(directory);
        return error_set(listing->err, ERROR_LIMIT, "%s/%" STR_FMT ": nested too deeply",
                         listing->root, STR_ARG(path));
    }
    DIR *entries = entries_open(directory);
    if (entries == NULL) {
        return list_error(listing, errno, path);
    }
    bool ok = true;
    for (const char *name; ok && (name = entries_next(entries)) != NULL;) {
        if (listing->limits->is_ignored != NULL && listing->limits->is_ignored(str_from_c(name))) {
            continue;
        }
        Str below = path.len == 0
                        ? arena_format(listing->arena, "%s", name)
                        : arena_format(listing->arena, "%" STR_FMT "/%s", STR_ARG(path), name);
        ok = list_entry(listing, dirfd(entries), name, below, depth);
    }
    entries_close(entries);
    return ok;
}

static int compare_paths(const void *a, const void *b)
{
    return str_compare(((const FileTreeEntry *)a)->path, ((const FileTreeEntry *)b)->path);
}

bool file_tree_list(Arena *arena, const char *root, const FileTreeLimits *limits, FileTree *out,
                    Error *err)
{
    *out = (FileTree){ 0 };
    Listing listing = { arena, root, limits, out, err };
    int directory = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        return file_error(err, errno, root);
    }
    if (!list_below(&listing, directory, STR_EMPTY, 0)) {
        return false;
    }
    if (out->count > 1) {
        qsort(out->items, out->count, sizeof *out->items, compare_paths);
    }
    return true;
}

static bool is_hidden(Str name)
{
    return str_starts(name, STR("."));
}

bool file_list(Arena *arena, const char *root, const char *const *suffixes, uint32_t max,
               FileList *out, Error *err)
{
    const FileTreeLimits limits = {
        .entries_max = max, .depth_max = 64, .is_ignored = is_hidden, .suffixes = suffixes
    };
    FileTree tree;
    if (!file_tree_list(arena, root, &limits, &tree, err)) {
        return false;
    }
    *out = (FileList){ ARENA_ARRAY(arena, Str, tree.count), tree.count };
    for (uint32_t i = 0; i < tree.count; i++) {
        out->paths[i] = arena_format(arena, "%s/%s", root, tree.items[i].path.data);
    }
    return true;
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Copies a path to a NUL-terminated buffer. */
static bool path_c(Str path, char out[PATH_MAX])
{
    if (path.len == 0 || path.len >= PATH_MAX || memchr(path.data, '\0', path.len) != NULL) {
        errno = path.len >= PATH_MAX ? ENAMETOOLONG : EINVAL;
        return false;
    }
    memcpy(out, path.data, path.len);
    out[path.len] = '\0';
    return true;
}

static int open_below(int root, const char *path, uint64_t flags)
{
    return open_within(root, path, flags | O_NOFOLLOW,
                       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

static int open_root(const char *root, uint64_t flags)
{
    return open(root, (int)flags | O_DIRECTORY | O_CLOEXEC);
}

bool file_tree_open(const char *root, Str path, FileTreeFile *out, Error *err)
{
    char name[PATH_MAX];
    struct stat status;
    out->descriptor = -1;
    int directory = open_root(root, O_PATH);
    if (directory < 0) {
        return file_error(err, errno, root);
    }
    /* O_NONBLOCK: opening a FIFO must not block. */
    int descriptor =
        path_c(path, name) ? open_below(directory, name, O_RDONLY | O_NONBLOCK | O_NOCTTY) : -1;
    int saved_errno = errno;
    close(directory);
    if (descriptor < 0 && (saved_errno == ELOOP || saved_errno == EXDEV)) {
        return error_set(err, ERROR_INVALID, "%s/%" STR_FMT ": reached through a link", root,
                         STR_ARG(path));
    }
    if (descriptor < 0) {
        return path_error(err, saved_errno, root, path);
    }
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(descriptor);
        return error_set(err, ERROR_INVALID, "%s/%" STR_FMT ": not a regular file", root,
                         STR_ARG(path));
    }
    out->descriptor = descriptor;
    return true;
}

void file_tree_close(FileTreeFile *file)
{
    if (file->descriptor >= 0) {
        close(file->descriptor);
    }
    file->descriptor = -1;
}

bool file_tree_read(const FileTreeFile *file, int64_t offset, char *buffer, size_t size,
                    size_t *got, Error *err)
{
    return read_at(file->descriptor, offset, buffer, size, got) ||
           error_set(err, ERROR_OS, "cannot be read: %s", strerror(errno));
}

bool file_tree_stat(const char *root, Str path, FileTreeEntry *out)
{
    char name[PATH_MAX];
    struct stat status;
    int directory = open_root(root, O_PATH);
    int descriptor =
        directory >= 0 && path_c(path, name) ? open_below(directory, name, O_PATH) : -1;
    bool ok = descriptor >= 0 && fstat(descriptor, &status) == 0;
    if (descriptor >= 0) {
        close(descriptor);
    }
    if (directory >= 0) {
        close(directory);
    }
    if (!ok || S_ISDIR(status.st_mode)) {
        return false;
    }
    *out = (FileTreeEntry){ .path = path,
                            .kind = S_ISREG(status.st_mode)   ? FILE_TREE_FILE
                                    : S_ISLNK(status.st_mode) ? FILE_TREE_LINK
                                                              : FILE_TREE_SPECIAL,
                            .is_executable = (status.st_mode & S_IXUSR) != 0,
                            .size = S_ISREG(status.st_mode) ? status.st_size : 0 };
    return true;
}

bool file_tree_link(Arena *arena, const char *root, Str path, Str *out)
{
    char name[PATH_MAX], target[PATH_MAX];
    int directory = open_root(root, O_PATH);
    int descriptor =
        directory >= 0 && path_c(path, name) ? open_below(directory, name, O_PATH) : -1;
    ssize_t len = descriptor >= 0 ? readlinkat(descriptor, "", target, sizeof target) : -1;
    if (descriptor >= 0) {
        close(descriptor);
    }
    if (directory >= 0) {
        close(directory);
    }
    if (len < 0) {
        return false;
    }
    *out = arena_copy(arena, str_from(target, (size_t)len));
    return true;
}

/* --- Creating --------------------------------------------------------------------------------- */

struct FileTreeWriter {
    int root;
    int file; /* the file that was started last; -1: none */
    char file_path[PATH_MAX];
    char made[PATH_MAX]; /* the directory that was created last */
    char shown[256];     /* path of the root, for messages */
};

bool file_tree_create(const char *root, FileTreeWriter **out, Error *err)
{
    if (mkdir(root, 0700) != 0) {
        return errno == EEXIST ? error_set(err, ERROR_CONFLICT, "%s exists", root)
                               : file_error(err, errno, root);
    }
    int directory = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0) {
        return file_error(err, errno, root);
    }
    FileTreeWriter *writer = memory_new(sizeof *writer);
    writer->root = directory;
    writer->file = -1;
    snprintf(writer->shown, sizeof writer->shown, "%s", root);
    *out = writer;
    return true;
}

static void close_file(FileTreeWriter *writer)
{
    if (writer->file >= 0) {
        close(writer->file);
    }
    writer->file = -1;
}

void file_tree_free(FileTreeWriter *writer)
{
    if (writer != NULL) {
        close_file(writer);
        close(writer->root);
        free(writer);
    }
}

static bool write_error(const FileTreeWriter *writer, int saved_errno, const char *path, Error *err)
{
    return path_error(err, saved_errno, writer->shown, str_from_c(path));
}

/* Opens the directory of `path`, which it creates if necessary; `*name` is the last component. */
static int open_parent(FileTreeWriter *writer, char *path, const char **name)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        *name = path;
        return fcntl(writer->root, F_DUPFD_CLOEXEC, 0);
    }
    *slash = '\0';
    *name = slash + 1;
    if (strcmp(path, writer->made) == 0) {
        return open_below(writer->root, path, O_PATH | O_DIRECTORY);
    }
    int parent = fcntl(writer->root, F_DUPFD_CLOEXEC, 0);
    for (char *start = path, *end; parent >= 0 && start != NULL; start = end) {
        end = strchr(start, '/');
        if (end != NULL) {
            *end = '\0';
        }
        int child = -1;
        if (mkdirat(parent, start, 0755) == 0 || errno == EEXIST) {
            child = open_below(parent, start, O_PATH | O_DIRECTORY);
        }
        int saved_errno = errno;
        close(parent);
        errno = saved_errno;
        parent = child;
        if (end != NULL) {
            *end++ = '/';
        }
    }
    if (parent >= 0) {
        strcpy(writer->made, path);
    }
    return parent;
}

bool file_tree_add_file(FileTreeWriter *writer, Str path, bool is_executable, Error *err)
{
    char buffer[PATH_MAX];
    const char *name;
    close_file(writer);
    if (!path_c(path, buffer)) {
        return write_error(writer, errno, "", err);
    }
    memcpy(writer->file_path, buffer, path.len + 1);
    mode_t mode = is_executable ? 0755 : 0644;
    int parent = open_parent(writer, buffer, &name);
    writer->file = parent < 0 ? -1
                              : openat(parent, name,
                                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    int saved_errno = errno;
    if (parent >= 0) {
        close(parent);
    }
    /* The umask does not apply to fchmod. */
    if (writer->file < 0 || fchmod(writer->file, mode) != 0) {
        return write_error(writer, writer->file < 0 ? saved_errno : errno, writer->file_path, err);
    }
    return true;
}

bool file_tree_append(FileTreeWriter *writer, Str data, Error *err)
{
    return file_write_all(writer->file, data, err) ||
           error_wrap(err, "%s/%s", writer->shown, writer->file_path);
}

bool file_tree_add_link(FileTreeWriter *writer, Str path, Str target, Error *err)
{
    char buffer[PATH_MAX], content[PATH_MAX];
    const char *name;
    close_file(writer);
    if (!path_c(path, buffer) || !path_c(target, content)) {
        return write_error(writer, errno, "", err);
    }
    memcpy(writer->file_path, buffer, path.len + 1);
    int parent = open_parent(writer, buffer, &name);
    bool ok = parent >= 0 && symlinkat(content, parent, name) == 0;
    int saved_errno = errno;
    if (parent >= 0) {
        close(parent);
    }
    return ok || write_error(writer, saved_errno, writer->file_path, err);
}

bool file_tree_sync(FileTreeWriter *writer, Error *err)
{
    close_file(writer);
    return syncfs(writer->root) == 0 || file_error(err, errno, writer->shown);
}

bool file_tree_rename(const char *from, const char *to, Error *err)
{
    if (rename_durably(from, to)) {
        return true;
    }
    return errno == EEXIST || errno == ENOTEMPTY ? error_set(err, ERROR_CONFLICT, "%s exists", to)
                                                 : file_error(err, errno, to);
}

void file_tree_remove(const char *root)
{
    directory_remove_child(&(Directory){ .descriptor = AT_FDCWD }, root);
}
