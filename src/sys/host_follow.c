/* Follows symbolic links in paths, and checks who could have created them.
 *
 * A user who can write to a directory can create a link there and redirect root: a file that a site
 * declares under /home/ann would end up in /etc. So root follows a link only if root owns it, or if
 * it points to a file with the same owner, who gains nothing by that. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/file_io.h"
#include "sys/host_inner.h"

enum {
    LINKS_MAX = 40,      /* as in the kernel */
    RACES_MAX = 64,      /* with other users who replace directories with links */
    OVERFLOW_UID = 65534 /* the kernel's ID for owners that are not mapped in a user namespace */
};

/* Whether OVERFLOW_UID represents users outside our user namespace, root of the machine among
 * them. */
static bool has_unmapped_users(void)
{
    FILE *file = fopen("/proc/self/uid_map", "re");
    unsigned long inside, outside, count;
    bool found = file == NULL;
    while (!found && fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3) {
        found = OVERFLOW_UID >= inside && OVERFLOW_UID - inside < count;
    }
    if (file != NULL) {
        fclose(file);
    }
    return !found;
}

void host_follow_init(Host *host, uid_t root_owner)
{
    host->root_owner = root_owner;
    host->follows_all_links = geteuid() != 0;
    host->trusts_overflow_uid = !host->follows_all_links && has_unmapped_users();
}

/* The owner of the root can do anything below it anyway. */
bool host_trusts(const Host *host, uid_t owner)
{
    return owner == 0 || owner == host->root_owner ||
           (owner == OVERFLOW_UID && host->trusts_overflow_uid);
}

static int open_without_links(const Host *host, const char *path, uint64_t flags)
{
    /* With O_PATH the kernel accepts few other flags. */
    uint64_t more = (flags & O_PATH) != 0 ? 0 : O_NOCTTY;
    uint64_t resolve = host->live ? RESOLVE_NO_SYMLINKS : RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS;
    return open_within(host->root_descriptor, path, flags | more, resolve);
}

static int open_with_links(const Host *host, const char *path, uint64_t flags)
{
    uint64_t more = (flags & O_PATH) != 0 ? 0 : O_NOCTTY;
    return open_within(host->root_descriptor, path, flags | more, host->live ? 0 : RESOLVE_IN_ROOT);
}

/* Opens the first `len` bytes of the path, without following links; false with errno if nothing is
 * there, or if a parent has become a link. */
static bool stat_start(const Host *host, const char *path, size_t len, struct stat *status,
                       char target[PATH_MAX])
{
    char start[PATH_MAX];
    memcpy(start, path, len);
    start[len] = '\0';
    int descriptor = open_without_links(host, start, O_PATH | O_NOFOLLOW);
    if (descriptor < 0) {
        return false;
    }
    bool ok = fstat(descriptor, status) == 0;
    if (ok && S_ISLNK(status->st_mode)) {
        ssize_t got = readlinkat(descriptor, "", target, PATH_MAX - 1);
        ok = got > 0;
        target[ok ? got : 0] = '\0';
    }
    int number = errno;
    close(descriptor);
    errno = number;
    return ok;
}

typedef struct PathWalk {
    char path[PATH_MAX];
    size_t target_len;   /* end of the part that comes from an untrusted link; 0: no such link */
    uid_t owner;         /* the owner of that link */
    char link[PATH_MAX]; /* the last untrusted link, and its owner */
    uid_t link_owner;
} PathWalk;

/* Replaces the first `len` bytes, a link, with its target. */
static bool replace_start(PathWalk *walk, size_t len, const char *target, uid_t owner,
                          bool is_trusted)
{
    char whole[PATH_MAX];
    const char *rest = walk->path + len;
    if (!is_trusted) {
        snprintf(walk->link, sizeof walk->link, "%.*s", (int)len, walk->path);
        walk->link_owner = owner;
    }
    size_t above = len;
    while (walk->path[above - 1] != '/') {
        above--;
    }
    int above_len = target[0] == '/' ? 0 : (int)above;
    int start = snprintf(whole, sizeof whole, "%.*s%s", above_len, walk->path, target);
    if ((size_t)start + strlen(rest) >= sizeof whole) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (walk->target_len > 0) {
        walk->target_len =
            walk->target_len > len ? walk->target_len - len + (size_t)start : (size_t)start;
    } else if (!is_trusted) {
        walk->target_len = (size_t)start;
        walk->owner = owner;
    }
    if (!is_trusted && walk->owner != owner) {
        errno = HOST_LINK_REFUSED;
        return false;
    }
    memcpy(whole + start, rest, strlen(rest) + 1);
    memcpy(walk->path, whole, strlen(whole) + 1);
    return true;
}

/* The first `len` bytes are not a link: if a link led here, both must have the same owner. */
static bool check_target_owner(PathWalk *walk, size_t len, uid_t owner)
{
    if (walk->target_len == 0 || len + strspn(walk->path + len, "/") < walk->target_len) {
        return true;
    }
    walk->target_len = 0;
    if (owner != walk->owner) {
        errno = HOST_LINK_REFUSED;
        return false;
    }
    return true;
}

/* Replaces the first link of the path with its target. `*found` is false if there is none except,
 * possibly, the last component, which is not followed. */
static bool follow_first(const Host *host, PathWalk *walk, bool with_last, bool *found)
{
    struct stat status;
    char target[PATH_MAX];
    const char *path = walk->path;
    *found = false;
    /* The root is not a component of any path, but a link may point to it. */
    if (walk->target_len > 0 && strspn(path, "/") >= walk->target_len &&
        (!stat_start(host, path, 1, &status, target) ||
         !check_target_owner(walk, 1, status.st_uid))) {
        return false;
    }
    for (size_t at = 1, len = strlen(path); at <= len; at++) {
        if ((at < len && path[at] != '/') || path[at - 1] == '/') {
            continue;
        }
        bool is_last = at == len;
        if (is_last && !with_last) {
            return true;
        }
        if (!stat_start(host, path, at, &status, target)) {
            return is_last && errno == ENOENT; /* it may be about to be created */
        }
        if (S_ISLNK(status.st_mode)) {
            *found = true;
            return replace_start(walk, at, target, status.st_uid, host_trusts(host, status.st_uid));
        }
        if (!check_target_owner(walk, at, status.st_uid)) {
            return false;
        }
    }
    return true;
}

/* The path that is finally opened has no links, so a link cannot be inserted in the meantime. */
static int open_followed(const Host *host, PathWalk *walk, const char *path, uint64_t flags)
{
    unsigned links = 0;
    *walk = (PathWalk){ 0 };
    snprintf(walk->path, sizeof walk->path, "%s", path);
    for (unsigned i = 0; links <= LINKS_MAX && i < LINKS_MAX + RACES_MAX; i++) {
        bool found;
        if (follow_first(host, walk, (flags & O_NOFOLLOW) == 0, &found)) {
            links += found;
            int descriptor = found ? -1 : open_without_links(host, walk->path, flags);
            if (!found && (descriptor >= 0 || errno != ELOOP || (flags & O_NOFOLLOW) != 0)) {
                return descriptor;
            }
        } else if (errno != ELOOP) {
            return -1;
        }
    }
    errno = ELOOP;
    return -1;
}

int host_open_path(const Host *host, const char *path, uint64_t flags)
{
    PathWalk walk;
    int descriptor = open_without_links(host, path, flags);
    if (descriptor >= 0 || errno != ELOOP || host->parent != NULL) {
        return descriptor;
    }
    return host->follows_all_links ? open_with_links(host, path, flags)
                                   : open_followed(host, &walk, path, flags);
}

/* Walks the path again to find the link; the last component may be one that is not followed, but
 * links before it are found first. */
bool host_open_error(const Host *host, Error *err, int number, Str path)
{
    PathWalk walk;
    char name[PATH_MAX];
    if (number != HOST_LINK_REFUSED || !host_path(path, name, err)) {
        return number != HOST_LINK_REFUSED && host_error(err, number, path);
    }
    int descriptor = open_followed(host, &walk, name, O_PATH);
    bool found = descriptor < 0 && errno == HOST_LINK_REFUSED;
    if (descriptor >= 0) {
        close(descriptor);
    }
    if (!found) {
        return error_set(err, ERROR_DENIED,
                         "%" STR_FMT ": another user's symbolic link was found on this path",
                         STR_ARG(path));
    }
    return error_set(
        err, ERROR_DENIED,
        "%" STR_FMT ": '%s' is a symbolic link owned by user %u to a file that this user does not "
        "own, and root does not follow it; to allow it, run 'chown -h root %s%s', or run the step "
        "as that user if it has 'user'",
        STR_ARG(path), walk.link, (unsigned)walk.link_owner, host->live ? "" : host->root,
        walk.link);
}

/* --- Paths for programs ----------------------------------------------------------------------- */

bool host_path_of(const Host *host, Arena *arena, int descriptor, Str *out)
{
    char link[64], real[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t len = readlink(link, real, sizeof real);
    if (len <= 0) {
        return false;
    }
    *out = arena_copy(arena, str_from(real, (size_t)len));
    if (!host->live) {
        *out = str_from_offset(*out, strlen(host->root));
        *out = out->len == 0 ? STR("/") : *out;
    }
    return true;
}

/* Members of a group that may write to a directory of root are trusted. */
static bool check_protected(Host *host, Arena *arena, Str path, Str directory, uid_t owner,
                            mode_t mode, Error *err)
{
    if (!host_trusts(host, owner)) {
        Str name = host_user_name(host, arena, owner);
        return error_set(err, ERROR_DENIED,
                         "%" STR_FMT ": the directory '%" STR_FMT "' is owned by user '%" STR_FMT
                         "', who could replace it while root is using it",
                         STR_ARG(path), STR_ARG(directory), STR_ARG(name));
    }
    if ((mode & S_IWOTH) != 0 && (mode & S_ISVTX) == 0) {
        return error_set(
            err, ERROR_DENIED,
            "%" STR_FMT ": the directory '%" STR_FMT
            "' is writable by everyone, so any user could replace it while root is using it",
            STR_ARG(path), STR_ARG(directory));
    }
    return true;
}

/* From the directory up to the root. Closes the descriptor. */
static bool check_parents(Host *host, Arena *arena, Str path, int descriptor, Error *err)
{
    struct stat root, status;
    Str directory;
    bool ok = fstat(host->root_descriptor, &root) == 0 || host_error(err, errno, path);
    for (bool at_root = false; ok && !at_root;) {
        ok = (fstat(descriptor, &status) == 0 &&
              host_path_of(host, arena, descriptor, &directory)) ||
             host_error(err, errno, path);
        ok =
            ok && check_protected(host, arena, path, directory, status.st_uid, status.st_mode, err);
        at_root = status.st_dev == root.st_dev && status.st_ino == root.st_ino;
        if (ok && !at_root) {
            int above = openat(descriptor, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
            ok = above >= 0 || host_error(err, errno, path);
            close(descriptor);
            descriptor = above;
        }
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    return ok;
}

/* Opens the longest existing prefix of the path, and returns its length. */
static bool open_existing(Host *host, Arena *arena, Str path, size_t *len, int *out, Error *err)
{
    char name[PATH_MAX];
    PlannedFile planned;
    for (Str at = path;;) {
        bool is_planned = host_plan_find(host, at, &planned);
        if (is_planned && planned.info.kind == FILE_DIRECTORY &&
            !check_protected(host, arena, path, at, planned.info.uid, planned.info.mode, err)) {
            return false;
        }
        if (!host_path(at, name, err)) {
            return false;
        }
        *out = is_planned ? -1 : host_open_path(host, name, O_PATH | O_DIRECTORY);
        if (*out >= 0) {
            *len = at.len;
            return true;
        }
        if ((!is_planned && errno != ENOENT) || at.len == 1) {
            return host_open_error(host, err, errno, path);
        }
        size_t slash = str_find_last(at, STR("/"));
        at = slash == 0 ? STR("/") : str_slice(at, 0, slash);
    }
}

bool host_protected_path(Host *host, Arena *arena, Str path, Str *out, Error *err)
{
    int descriptor;
    size_t len;
    if (host->follows_all_links) {
        *out = path;
        return true;
    }
    while (path.len > 1 && path.data[path.len - 1] == '/') {
        path.len--;
    }
    if (!open_existing(host, arena, path, &len, &descriptor, err)) {
        return false;
    }
    Str real;
    if (!host_path_of(host, arena, descriptor, &real)) {
        bool failed = host_error(err, errno, path);
        close(descriptor);
        return failed;
    }
    Str rest = len > 1 ? str_from_offset(path, len) : path.len > 1 ? path : STR_EMPTY;
    *out = arena_join(arena, real.len == 1 && rest.len > 0 ? STR_EMPTY : real, rest, STR_EMPTY);
    return check_parents(host, arena, path, descriptor, err);
}
