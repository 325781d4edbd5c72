/* Follows symbolic links in paths, and checks who could have created them.
 *
 * A user who can write to a directory can create a link there and redirect root: a file that a site
 * declares under /home/ann would end up in /etc. So root follows a link only if root owns it, or if
 * it leads to a file of the same owner, who gains nothing by that. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/host_inner.h"
#include "sys/open_within.h"

enum {
    LINKS_MAX = 40, /* as in the kernel */
    RACES_MAX = 64, /* with other users who replace directories with links */
    NO_USER = 65534 /* the kernel's ID for owners that are not mapped in a user namespace */
};

/* Whether NO_USER represents users outside our user namespace, root of the machine among them. */
static bool has_users_outside(void)
{
    FILE *file = fopen("/proc/self/uid_map", "re");
    unsigned long inside, outside, count;
    bool found = file == NULL;
    while (!found && fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3) {
        found = NO_USER >= inside && NO_USER - inside < count;
    }
    if (file != NULL) {
        fclose(file);
    }
    return !found;
}

void host_follow_begin(Host *host, uid_t root_owner)
{
    host->root_owner = root_owner;
    host->follows_all = geteuid() != 0;
    host->trusts_no_user = !host->follows_all && has_users_outside();
}

/* The owner of the root can do anything below it anyway. */
bool host_trusts(const Host *host, uid_t owner)
{
    return owner == 0 || owner == host->root_owner || (owner == NO_USER && host->trusts_no_user);
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

typedef struct Way {
    char path[PATH_MAX];
    size_t target_len;   /* end of the part that comes from an untrusted link; 0: no such link */
    uid_t owner;         /* the owner of that link */
    char link[PATH_MAX]; /* the last untrusted link, and its owner */
    uid_t link_owner;
} Way;

/* Replaces the first `len` bytes, a link, with its target. */
static bool replace_start(Way *way, size_t len, const char *target, uid_t owner, bool is_trusted)
{
    char whole[PATH_MAX];
    const char *rest = way->path + len;
    if (!is_trusted) {
        snprintf(way->link, sizeof way->link, "%.*s", (int)len, way->path);
        way->link_owner = owner;
    }
    size_t above = len;
    while (way->path[above - 1] != '/') {
        above--;
    }
    int above_len = target[0] == '/' ? 0 : (int)above;
    int start = snprintf(whole, sizeof whole, "%.*s%s", above_len, way->path, target);
    if ((size_t)start + strlen(rest) >= sizeof whole) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (way->target_len > 0) {
        way->target_len =
            way->target_len > len ? way->target_len - len + (size_t)start : (size_t)start;
    } else if (!is_trusted) {
        way->target_len = (size_t)start;
        way->owner = owner;
    }
    if (!is_trusted && way->owner != owner) {
        errno = HOST_LINK_REFUSED;
        return false;
    }
    memcpy(whole + start, rest, strlen(rest) + 1);
    memcpy(way->path, whole, strlen(whole) + 1);
    return true;
}

/* The first `len` bytes are not a link: if a link led here, both must have the same owner. */
static bool check_reached(Way *way, size_t len, uid_t owner)
{
    if (way->target_len == 0 || len + strspn(way->path + len, "/") < way->target_len) {
        return true;
    }
    way->target_len = 0;
    if (owner != way->owner) {
        errno = HOST_LINK_REFUSED;
        return false;
    }
    return true;
}

/* Replaces the first link of the path with its target. `*found` is false if there is none except,
 * possibly, the last component, which is not followed. */
static bool follow_first(const Host *host, Way *way, bool with_last, bool *found)
{
    struct stat status;
    char target[PATH_MAX];
    const char *path = way->path;
    *found = false;
    /* The root is not a component of any path, but a link may lead to it. */
    if (way->target_len > 0 && strspn(path, "/") >= way->target_len &&
        (!stat_start(host, path, 1, &status, target) || !check_reached(way, 1, status.st_uid))) {
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
            return replace_start(way, at, target, status.st_uid, host_trusts(host, status.st_uid));
        }
        if (!check_reached(way, at, status.st_uid)) {
            return false;
        }
    }
    return true;
}

/* The path that is finally opened has no links, so a link cannot be inserted in the meantime. */
static int open_followed(const Host *host, Way *way, const char *path, uint64_t flags)
{
    unsigned links = 0;
    *way = (Way){ 0 };
    snprintf(way->path, sizeof way->path, "%s", path);
    for (unsigned i = 0; links <= LINKS_MAX && i < LINKS_MAX + RACES_MAX; i++) {
        bool found;
        if (follow_first(host, way, (flags & O_NOFOLLOW) == 0, &found)) {
            links += found;
            int descriptor = found ? -1 : open_without_links(host, way->path, flags);
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
    Way way;
    int descriptor = open_without_links(host, path, flags);
    if (descriptor >= 0 || errno != ELOOP || host->outer != NULL) {
        return descriptor;
    }
    return host->follows_all ? open_with_links(host, path, flags)
                             : open_followed(host, &way, path, flags);
}

/* Walks the path again to find the link; the last component may be one that is not followed, but
 * links before it are found first. */
bool host_open_error(const Host *host, Error *err, int number, Str path)
{
    Way way;
    char name[PATH_MAX];
    if (number != HOST_LINK_REFUSED || !host_path(path, name, err)) {
        return number != HOST_LINK_REFUSED && host_error(err, number, path);
    }
    int descriptor = open_followed(host, &way, name, O_PATH);
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
        STR_ARG(path), way.link, (unsigned)way.link_owner, host->live ? "" : host->root, way.link);
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
static bool check_guarded(Host *host, Arena *arena, Str path, Str directory, uid_t owner,
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
static bool check_all_above(Host *host, Arena *arena, Str path, int descriptor, Error *err)
{
    struct stat root, status;
    Str directory;
    bool ok = fstat(host->root_descriptor, &root) == 0 || host_error(err, errno, path);
    for (bool at_root = false; ok && !at_root;) {
        ok = (fstat(descriptor, &status) == 0 &&
              host_path_of(host, arena, descriptor, &directory)) ||
             host_error(err, errno, path);
        ok = ok && check_guarded(host, arena, path, directory, status.st_uid, status.st_mode, err);
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
static bool open_present(Host *host, Arena *arena, Str path, size_t *len, int *out, Error *err)
{
    char name[PATH_MAX];
    PlannedFile planned;
    for (Str at = path;;) {
        bool is_planned = host_plan_find(host, at, &planned);
        if (is_planned && planned.info.kind == FILE_DIRECTORY &&
            !check_guarded(host, arena, path, at, planned.info.uid, planned.info.mode, err)) {
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

bool host_guarded_path(Host *host, Arena *arena, Str path, Str *out, Error *err)
{
    int descriptor;
    size_t len;
    if (host->follows_all) {
        *out = path;
        return true;
    }
    while (path.len > 1 && path.data[path.len - 1] == '/') {
        path.len--;
    }
    if (!open_present(host, arena, path, &len, &descriptor, err)) {
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
    return check_all_above(host, arena, path, descriptor, err);
}
