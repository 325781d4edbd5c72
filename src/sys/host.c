#include "sys/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/enum_names.h"
#include "base/memory.h"
#include "base/vec.h"
#include "sys/file_io.h"
#include "sys/host_inner.h"

static Host *new_host(int root_descriptor)
{
    Host *host = memory_new(sizeof *host);
    host->root_descriptor = root_descriptor;
    pthread_mutex_init(&host->lock, NULL);
    arena_init(&host->accounts.arena, ARENA_UNLIMITED);
    return host;
}

bool host_open(const char *root, Host **out, Error *err)
{
    struct stat root_status, own_status;
    int descriptor = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &root_status) != 0 || stat("/", &own_status) != 0) {
        bool failed = file_error(err, errno, root);
        if (descriptor >= 0) {
            close(descriptor);
        }
        return failed;
    }
    Host *host = new_host(descriptor);
    host->live = root_status.st_dev == own_status.st_dev && root_status.st_ino == own_status.st_ino;
    host->root = realpath(root, NULL);
    if (host->root == NULL) {
        file_error(err, errno, root);
        host_close(host);
        return false;
    }
    host->shared = shared_new();
    host_follow_init(host, root_status.st_uid);
    *out = host;
    return true;
}

bool host_open_below(Host *host, Str path, Host **out, Error *err)
{
    char name[PATH_MAX];
    if (!host_path(path, name, err)) {
        return false;
    }
    int descriptor = host_open_path(host, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (descriptor < 0) {
        return host_open_error(host, err, errno, path);
    }
    *out = new_host(descriptor);
    (*out)->parent = host->parent != NULL ? host->parent : host;
    (*out)->sync = host->sync;
    return true;
}

void host_close(Host *host)
{
    if (host == NULL) {
        return;
    }
    for (uint32_t i = 0; i < host->device_count; i++) {
        close(host->devices[i].descriptor);
    }
    close(host->root_descriptor);
    arena_clear(&host->accounts.arena);
    shared_free(host->shared);
    host_plan_clear(host);
    pthread_mutex_destroy(&host->lock);
    free(host->root);
    free(host);
}

Shared *host_shared(Host *host)
{
    return host->shared;
}

bool host_is_live(const Host *host)
{
    return host->live;
}

const char *host_root(const Host *host)
{
    return host->root;
}

const char *file_kind_name(FileKind kind)
{
    static const char *const names[] = {
        [FILE_ABSENT] = "absent", [FILE_REGULAR] = "file",       [FILE_DIRECTORY] = "directory",
        [FILE_LINK] = "link",     [FILE_OTHER] = "special file",
    };
    return enum_names_get(names, COUNT_OF(names), kind, "FileKind");
}

bool host_error(Error *err, int number, Str path)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%" STR_FMT, STR_ARG(path));
    return file_error(err, number, name);
}

bool host_path(Str path, char out[PATH_MAX], Error *err)
{
    if (path.len == 0 || path.data[0] != '/' || memchr(path.data, '\0', path.len) != NULL) {
        return error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not an absolute path",
                         STR_ARG(path));
    }
    if (path.len >=
        PATH_MAX) { /* the path is not shown: a truncated secret would not be redacted */
        return error_set(err, ERROR_INVALID, "the path is %zu bytes long; the maximum is %d",
                         path.len, PATH_MAX - 1);
    }
    memcpy(out, path.data, path.len);
    out[path.len] = '\0';
    return true;
}

static bool split(Str path, Str *directory, Str *name)
{
    while (path.len > 1 && path.data[path.len - 1] == '/') {
        path.len--;
    }
    size_t slash = str_find_last(path, STR("/"));
    if (slash == STR_NOT_FOUND) {
        return false;
    }
    *directory = slash == 0 ? STR("/") : str_slice(path, 0, slash);
    *name = str_from_offset(path, slash + 1);
    return name->len > 0 && !str_eq(*name, STR(".")) && !str_eq(*name, STR(".."));
}

bool host_open_entry(const Host *host, Str path, HostEntry *out, Error *err)
{
    Str directory, name;
    char directory_path[PATH_MAX];
    if (!split(path, &directory, &name)) {
        return error_set(err, ERROR_INVALID, "'%" STR_FMT "' does not name a file", STR_ARG(path));
    }
    if (!host_path(directory, directory_path, err)) {
        return false;
    }
    if (name.len > NAME_MAX || memchr(name.data, '\0', name.len) != NULL) {
        return host_error(err, ENAMETOOLONG, path);
    }
    /* fsync of a directory requires more than O_PATH, which requires read permission. */
    int kind = host->sync == SYNC_EACH ? O_RDONLY : O_PATH;
    out->directory = host_open_path(host, directory_path, (uint64_t)(kind | O_DIRECTORY));
    if (out->directory < 0 && errno == EACCES) {
        out->directory = host_open_path(host, directory_path, O_PATH | O_DIRECTORY);
    }
    if (out->directory < 0) {
        return host_open_error(host, err, errno,
                               errno == ENOENT || errno == ENOTDIR ? directory : path);
    }
    memcpy(out->name, name.data, name.len);
    out->name[name.len] = '\0';
    return true;
}

void host_entry_close(HostEntry *entry)
{
    close(entry->directory);
}

/* --- Reading ------------------------------------------------------------------------------- */

FileInfo host_info_from(const struct stat *status)
{
    FileKind kind = S_ISREG(status->st_mode)   ? FILE_REGULAR
                    : S_ISDIR(status->st_mode) ? FILE_DIRECTORY
                    : S_ISLNK(status->st_mode) ? FILE_LINK
                                               : FILE_OTHER;
    return (FileInfo){
        .kind = kind,
        .mode = status->st_mode & 07777,
        .uid = status->st_uid,
        .gid = status->st_gid,
        .size = status->st_size,
        .mtime_ns = (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec,
        .inode = status->st_ino,
        .has_hard_links = S_ISREG(status->st_mode) && status->st_nlink > 1,
    };
}

static bool is_absence(int number)
{
    return number == ENOENT || number == ENOTDIR;
}

static bool stat_path(Host *host, const char *path, struct stat *status)
{
    int descriptor = host_open_path(host, path, O_PATH | O_NOFOLLOW);
    if (descriptor < 0) {
        return false;
    }
    bool ok = fstat(descriptor, status) == 0;
    close(descriptor);
    return ok;
}

bool host_stat(Host *host, Str path, FileInfo *out, Error *err)
{
    char name[PATH_MAX];
    struct stat status;
    PlannedFile planned;
    if (!host_path(path, name, err)) {
        return false;
    }
    if (host_plan_find(host, path, &planned)) {
        *out = planned.info;
        return true;
    }
    if (stat_path(host, name, &status)) {
        *out = host_info_from(&status);
        return true;
    }
    if (!is_absence(errno)) {
        return host_open_error(host, err, errno, path);
    }
    *out = (FileInfo){ .kind = FILE_ABSENT };
    return true;
}

/* After reading a file. Always false. */
static bool read_error(Error *err, int number, Str path, size_t max)
{
    return number != EFBIG ? host_error(err, number, path)
                           : error_set(err, ERROR_LIMIT, "%" STR_FMT ": larger than %zu bytes",
                                       STR_ARG(path), max);
}

bool host_inspect(Host *host, Arena *arena, Str path, size_t max, FileInfo *out, Str *content,
                  Error *err)
{
    char name[PATH_MAX];
    if (!host_path(path, name, err)) {
        return false;
    }
    *content = STR_EMPTY;
    PlannedFile planned;
    if (host_plan_find(host, path, &planned)) {
        *out = planned.info;
        *content = planned.info.kind == FILE_REGULAR && planned.content.len <= max ? planned.content
                                                                                   : STR_EMPTY;
        return true;
    }
    /* O_NONBLOCK: opening a FIFO must not block. */
    int descriptor = host_open_path(host, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) {
        if (is_absence(errno)) {
            *out = (FileInfo){ .kind = FILE_ABSENT };
            return true;
        }
        /* Links fail with ELOOP, sockets and devices without a driver with ENXIO or ENODEV. */
        return errno == ELOOP || errno == ENXIO || errno == ENODEV
                   ? host_stat(host, path, out, err)
                   : host_open_error(host, err, errno, path);
    }
    struct stat status;
    bool ok = fstat(descriptor, &status) == 0 || host_error(err, errno, path);
    if (ok) {
        *out = host_info_from(&status);
        if (out->kind == FILE_REGULAR && (uint64_t)out->size <= max) {
            ok = read_to_end(descriptor, arena, out->size, max, content) ||
                 read_error(err, errno, path, max);
            out->size = ok ? (int64_t)content->len : out->size;
        }
    }
    close(descriptor);
    return ok;
}

bool host_read_info(Host *host, Arena *arena, Str path, size_t max, FileInfo *info, Str *out,
                    Error *err)
{
    char name[PATH_MAX];
    struct stat status;
    if (!host_path(path, name, err)) {
        return false;
    }
    PlannedFile planned;
    if (host_plan_find(host, path, &planned) &&
        (planned.info.kind == FILE_REGULAR || planned.info.kind == FILE_ABSENT)) {
        *info = planned.info;
        *out = planned.content;
        return planned.info.kind == FILE_ABSENT ? host_error(err, ENOENT, path)
               : planned.content.len > max      ? read_error(err, EFBIG, path, max)
                                                : true;
    }
    int descriptor = host_open_path(host, name, O_RDONLY | O_NONBLOCK);
    if (descriptor < 0) {
        return host_open_error(host, err, errno, path);
    }
    bool ok = fstat(descriptor, &status) == 0 || host_error(err, errno, path);
    if (ok && !S_ISREG(status.st_mode)) {
        ok = S_ISDIR(status.st_mode)
                 ? host_error(err, EISDIR, path)
                 : error_set(err, ERROR_INVALID, "%" STR_FMT ": not a regular file", STR_ARG(path));
    }
    ok = ok && (read_to_end(descriptor, arena, status.st_size, max, out) ||
                read_error(err, errno, path, max));
    close(descriptor);
    if (ok) {
        *info = host_info_from(&status);
    }
    return ok;
}

bool host_read(Host *host, Arena *arena, Str path, size_t max, Str *out, Error *err)
{
    FileInfo ignored;
    return host_read_info(host, arena, path, max, &ignored, out, err);
}

bool host_read_link(Host *host, Arena *arena, Str path, Str *out, Error *err)
{
    HostEntry entry;
    char target[PATH_MAX];
    PlannedFile planned;
    if (host_plan_find(host, path, &planned) && planned.info.kind == FILE_LINK) {
        *out = planned.content;
        return true;
    }
    if (!host_open_entry(host, path, &entry, err)) {
        return false;
    }
    ssize_t len = readlinkat(entry.directory, entry.name, target, sizeof target);
    int number = errno;
    host_entry_close(&entry);
    if (len < 0) {
        return number == EINVAL ? error_set(err, ERROR_INVALID, "%" STR_FMT ": not a symbolic link",
                                            STR_ARG(path))
                                : host_error(err, number, path);
    }
    *out = arena_copy(arena, str_from(target, (size_t)len));
    return true;
}

bool host_real_path(Host *host, Arena *arena, Str path, Str *out, Error *err)
{
    char name[PATH_MAX];
    if (!host_path(path, name, err)) {
        return false;
    }
    int descriptor = host_open_path(host, name, O_PATH);
    if (descriptor < 0) {
        return host_open_error(host, err, errno, path);
    }
    bool ok = host_path_of(host, arena, descriptor, out) || host_error(err, errno, path);
    close(descriptor);
    return ok;
}

bool host_open_directory(const Host *host, Str path, int *out, Error *err)
{
    char name[PATH_MAX];
    if (!host_path(path, name, err)) {
        return false;
    }
    int descriptor = host_open_path(host, name, O_PATH | O_DIRECTORY);
    if (descriptor < 0) {
        return host_open_error(host, err, errno, path);
    }
    *out = descriptor;
    return true;
}

bool host_list(Host *host, Arena *arena, Str path, uint32_t max, Str **names, uint32_t *count,
               Error *err)
{
    char name[PATH_MAX];
    if (!host_path(path, name, err)) {
        return false;
    }
    int descriptor = host_open_path(host, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (descriptor < 0) {
        return host_open_error(host, err, errno, path);
    }
    return entries_names(descriptor, arena, max, names, count) ||
           (errno == EOVERFLOW ? error_set(err, ERROR_LIMIT, "%" STR_FMT ": more than %u entries",
                                           STR_ARG(path), max)
                               : host_error(err, errno, path));
}
