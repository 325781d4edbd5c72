#include "sys/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/enum_names.h"
#include "sys/file_io.h"
#include "sys/kernel_guard.h"
#include "sys/overlay_inner.h"
#include "sys/signals.h"

enum {
    MOUNTS_MAX = 512,
    DEPTH_MAX = 256
};

const char *overlay_change_name(OverlayChangeKind kind)
{
    static const char *const names[] = {
        [OVERLAY_CREATED] = "created",
        [OVERLAY_CHANGED] = "changed",
        [OVERLAY_REMOVED] = "removed",
    };
    return names[kind];
}

/* --- Existing mounts ------------------------------------------------------------------------- */

/* Decodes "\040" and the like in mountinfo. */
static Str unescape(Arena *arena, Str text)
{
    char *made = arena_alloc(arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\\' && i + 3 < text.len) {
            made[len++] = (char)((text.data[i + 1] - '0') << 6 | (text.data[i + 2] - '0') << 3 |
                                 (text.data[i + 3] - '0'));
            i += 3;
        } else {
            made[len++] = text.data[i];
        }
    }
    made[len] = '\0';
    return str_from(made, len);
}

static bool read_mounts(Arena *arena, OverlayMounts *out, Error *err)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    if (file == NULL) {
        return file_error(err, errno, "/proc/self/mountinfo");
    }
    char *line = NULL;
    size_t room = 0;
    /* 36 35 98:0 /root /point options - type source options */
    for (ssize_t len; out->len < MOUNTS_MAX && (len = getline(&line, &room, file)) > 0;) {
        Str rest = str_from(line, (size_t)len), part, fields[64];
        uint32_t count = 0, dash = 0;
        while (count < COUNT_OF(fields) && str_split_next(&rest, ' ', &part)) {
            dash = str_eq_c(part, "-") ? count : dash;
            fields[count++] = part;
        }
        if (count > 5 && dash > 0 && dash + 1 < count) {
            VEC_PUSH(
                arena, out,
                (OverlayMount){ unescape(arena, fields[4]), arena_copy(arena, fields[dash + 1]) });
        }
    }
    free(line);
    fclose(file);
    return true;
}

typedef enum MountAction {
    ACTION_COVER, /* covered with an overlay */
    ACTION_BIND,  /* a file system of the kernel: unchanged and read-only */
    ACTION_MOUNT, /* processes and network interfaces: mounted again, for this namespace */
    ACTION_HIDE,  /* not visible inside */
} MountAction;

static MountAction mount_action(const OverlayMount *mount)
{
    static const char *const disks[] = { "ext4", "ext3", "ext2", "xfs",   "btrfs",   "overlay",
                                         "f2fs", "zfs",  "vfat", "tmpfs", "squashfs" };
    static const char *const kernel[] = { "devtmpfs", "devpts",     "cgroup", "cgroup2",
                                          "mqueue",   "hugetlbfs",  "bpf",    "tracefs",
                                          "debugfs",  "securityfs", "pstore", "efivarfs",
                                          "configfs", "binfmt_misc" };
    if (str_eq_c(mount->point, "/dev") || str_starts(mount->point, STR("/dev/")) ||
        str_starts(mount->point, STR("/sys/"))) {
        return ACTION_BIND;
    }
    if (str_eq_c(mount->type, "proc") || str_eq_c(mount->type, "sysfs")) {
        return ACTION_MOUNT;
    }
    for (uint32_t i = 0; i < COUNT_OF(disks); i++) {
        if (str_eq_c(mount->type, disks[i])) {
            return ACTION_COVER;
        }
    }
    for (uint32_t i = 0; i < COUNT_OF(kernel); i++) {
        if (str_eq_c(mount->type, kernel[i])) {
            return ACTION_BIND;
        }
    }
    return ACTION_HIDE; /* settings of the network, which a try must not change */
}

/* --- Entering the overlay -------------------------------------------------------------------- */

static bool make_directory(const char *path, Error *err)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST || file_error(err, errno, path);
}

const char *overlay_inside(const Overlay *overlay, Str point)
{
    return arena_format(overlay->arena, "%s%" STR_FMT, overlay->inside,
                        STR_ARG(str_eq_c(point, "/") ? STR_EMPTY : point))
        .data;
}

bool overlay_is_below(Str path, Str directory)
{
    return str_eq(path, directory) || (str_starts(path, directory) && path.len > directory.len &&
                                       path.data[directory.len] == '/');
}

/* Gives the root of an overlay the owner and mode of the directory it covers. */
static bool copy_owner_and_mode(const Overlay *overlay, const char *upper, const struct stat *info,
                                Error *err)
{
    return (chmod(upper, info->st_mode & 07777) == 0 &&
            (overlay->is_user || chown(upper, info->st_uid, info->st_gid) == 0)) ||
           file_error(err, errno, upper);
}

static bool report_refusal(const Overlay *overlay, int number, const char *lower, Error *err)
{
    switch (number) {
    case ENODEV:
        return error_set(err, ERROR_UNAVAILABLE,
                         "this kernel does not support overlayfs; try 'modprobe overlay'");
    case EINVAL:
        return error_set(err, ERROR_UNAVAILABLE,
                         "cannot mount an overlay on %s (%s): the kernel allows only two nested "
                         "overlays, and does not support some file systems as a lower layer",
                         lower, strerror(number));
    default:
        return error_set(err, number == EPERM || number == EACCES ? ERROR_DENIED : ERROR_OS,
                         "cannot mount an overlay on %s: %s%s", lower, strerror(number),
                         overlay->is_user ? "; unprivileged users need Linux 5.11 or later" : "");
    }
}

/* The upper directory is in the tmpfs on `directory`. */
bool overlay_cover(Overlay *overlay, Str point, Error *err)
{
    Arena *arena = overlay->arena;
    const char *home = arena_format(arena, "%s/%u", overlay->directory, overlay->covers.len).data;
    const char *upper = arena_format(arena, "%s/upper", home).data;
    const char *work = arena_format(arena, "%s/work", home).data;
    const char *lower = arena_copy_c(arena, point);
    struct stat info;
    if (stat(lower, &info) != 0) {
        return true; /* hidden by another mount */
    }
    if (!make_directory(home, err) || !make_directory(upper, err) || !make_directory(work, err) ||
        !copy_owner_and_mode(overlay, upper, &info, err)) {
        return false;
    }
    const char *options = arena_format(arena, "lowerdir=%s,upperdir=%s,workdir=%s%s", lower, upper,
                                       work, overlay->is_user ? ",userxattr" : "")
                              .data;
    if (mount("overlay", overlay_inside(overlay, point), "overlay", 0, options) != 0) {
        return report_refusal(overlay, errno, lower, err);
    }
    OverlayCover made = { .point = point,
                          .upper = open(upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                          .outside = open(lower, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
    if (made.upper < 0 || made.outside < 0) {
        return file_error(err, errno, lower);
    }
    VEC_PUSH(arena, &overlay->covers, made);
    return true;
}

static bool make_read_only(const char *target, Error *err)
{
    struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
    return mount_setattr(AT_FDCWD, target, AT_RECURSIVE, &read_only, sizeof read_only) == 0 ||
           file_error(err, errno, target);
}

/* Devices remain writable; creating a file among them, or changing a kernel setting, would
 * persist. */
bool overlay_bind_read_only(Overlay *overlay, Str point, Error *err)
{
    const char *target = overlay_inside(overlay, point);
    struct stat info;
    if (stat(target, &info) != 0) {
        return true;
    }
    if (mount(arena_copy_c(overlay->arena, point), target, NULL, MS_BIND | MS_REC, NULL) != 0) {
        return file_error(err, errno, target);
    }
    return make_read_only(target, err);
}

bool overlay_mount_kernel(Overlay *overlay, Str point, const char *type, Error *err)
{
    const char *target = overlay_inside(overlay, point);
    struct stat info;
    if (stat(target, &info) != 0) {
        return true;
    }
    if (mount(type, target, type, MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) {
        return file_error(err, errno, target);
    }
    return make_read_only(target, err);
}

/* POSIX shared memory is in a directory under /dev. */
static bool replace_shared_memory(const Overlay *overlay, Error *err)
{
    const char *target = overlay_inside(overlay, STR("/dev/shm"));
    struct stat info;
    return stat(target, &info) != 0 || mount("eden-try", target, "tmpfs", 0, "mode=1777") == 0 ||
           file_error(err, errno, target);
}

static bool mount_one(Overlay *overlay, const OverlayMount *entry, Str *shared, Error *err)
{
    struct stat info;
    switch (mount_action(entry)) {
    case ACTION_BIND:
        *shared = entry->point;
        return overlay_bind_read_only(overlay, entry->point, err);
    case ACTION_MOUNT:
        *shared = str_eq_c(entry->type, "proc") ? entry->point : *shared;
        return overlay_mount_kernel(overlay, entry->point,
                                    arena_copy_c(overlay->arena, entry->type), err);
    case ACTION_COVER:
        return stat(arena_copy_c(overlay->arena, entry->point), &info) != 0 ||
               !S_ISDIR(info.st_mode) || overlay_cover(overlay, entry->point, err);
    case ACTION_HIDE: break;
    }
    return true;
}

static bool mount_all(Overlay *overlay, Error *err)
{
    if (!overlay_cover(overlay, STR("/"), err)) {
        return false;
    }
    Str shared = STR_EMPTY; /* mounts below it are included */
    for (uint32_t i = 0; i < overlay->mounts.len; i++) {
        const OverlayMount *entry = &overlay->mounts.items[i];
        if (str_eq_c(entry->point, "/") ||
            overlay_is_below(entry->point, str_from_c(overlay->directory)) ||
            (shared.len > 0 && overlay_is_below(entry->point, shared))) {
            continue;
        }
        if (!mount_one(overlay, entry, &shared, err)) {
            return false;
        }
    }
    return replace_shared_memory(overlay, err);
}

/* Creates missing parent directories too. */
static bool make_path(const Overlay *overlay, const char *path, Error *err)
{
    for (size_t end = strlen(overlay->inside) + 1, len = strlen(path); end <= len; end++) {
        if (end == len || path[end] == '/') {
            const char *part = arena_copy_c(overlay->arena, str_from(path, end));
            if (mkdir(part, 0755) != 0 && errno != EEXIST) {
                return file_error(err, errno, part);
            }
        }
    }
    return true;
}

static bool mount_bind(const Overlay *overlay, const OverlayBind *bind, Error *err)
{
    const char *target = overlay_inside(overlay, str_from_c(bind->path));
    if (!make_path(overlay, target, err)) {
        return false;
    }
    int result = bind->outside == NULL ? mount("eden-try", target, "tmpfs", 0, "mode=0755")
                                       : mount(bind->outside, target, NULL, MS_BIND, NULL);
    return result == 0 ? !bind->is_read_only || make_read_only(target, err)
                       : file_error(err, errno, target);
}

static void raise_loopback(void)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    int socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_fd >= 0) {
        (void)ioctl(socket_fd, SIOCSIFFLAGS, &request);
        close(socket_fd);
    }
}

/* Afterwards the original file systems are not mounted anymore. The working directory stays the
 * same path. */
static bool enter_root(const Overlay *overlay, Error *err)
{
    char *here = getcwd(NULL, 0);
    bool moved = chdir(overlay->inside) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
                 umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
    int number = errno;
    if (moved && here != NULL) {
        (void)!chdir(here);
    }
    free(here);
    return moved || file_error(err, number, overlay->inside);
}

/* Root outside of any user namespace has all users mapped. */
static bool has_all_users(void)
{
    FILE *file = fopen("/proc/self/uid_map", "re");
    unsigned long inside = 1, outside = 1, count = 0;
    bool ok = file == NULL || (fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3 &&
                               inside == 0 && outside == 0 && count >= UINT32_MAX);
    if (file != NULL) {
        fclose(file);
    }
    return ok;
}

bool overlay_enter(Arena *arena, const OverlaySettings *settings, Overlay **out, Error *err)
{
    if (!settings->has_namespaces && unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS |
                                             (settings->network ? 0 : CLONE_NEWNET)) != 0) {
        return file_error(err, errno, "cannot create a mount namespace");
    }
    Overlay *overlay = ARENA_NEW(arena, Overlay);
    overlay->arena = arena;
    overlay->directory = settings->directory;
    overlay->inside = arena_format(arena, "%s/inside", settings->directory).data;
    overlay->is_user = !has_all_users();
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("eden-try", settings->directory, "tmpfs", 0, "mode=0755") != 0 ||
        mkdir(overlay->inside, 0755) != 0) {
        return file_error(err, errno, settings->directory);
    }
    if (!read_mounts(arena, &overlay->mounts, err) ||
        !(overlay->is_user ? overlay_mount_as_user(overlay, err) : mount_all(overlay, err))) {
        return false;
    }
    for (uint32_t i = 0; i < settings->bind_count; i++) {
        if (!mount_bind(overlay, &settings->binds[i], err)) {
            return false;
        }
    }
    if (!enter_root(overlay, err)) {
        return false;
    }
    if (settings->has_namespaces || !settings->network) {
        raise_loopback();
    }
    *out = overlay;
    return kernel_guard_raise(settings->network && !settings->has_namespaces, err);
}

/* Reconfiguring a file system drops its unused cached names; unlike a remount it does not change
 * the flags of the mount. */
static void forget_names(const char *point)
{
    int picked = fspick(AT_FDCWD, point, FSPICK_CLOEXEC | FSPICK_NO_AUTOMOUNT);
    if (picked >= 0) {
        (void)fsconfig(picked, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0);
        close(picked);
    }
}

static void forget_all_names(void)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    OverlayMounts mounts = { 0 };
    Error unheard;
    if (!read_mounts(&arena, &mounts, &unheard)) {
        return;
    }
    for (uint32_t i = 0; i < mounts.len; i++) {
        if (str_eq_c(mounts.items[i].type, "overlay")) {
            forget_names(arena_copy_c(&arena, mounts.items[i].point));
        }
    }
}

void overlay_refresh(const Overlay *overlay)
{
    if (overlay == NULL) {
        forget_all_names();
        return;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (uint32_t i = 0; i < overlay->covers.len; i++) {
        forget_names(arena_copy_c(&arena, overlay->covers.items[i].point));
    }
}

/* --- Collecting changes ---------------------------------------------------------------------- */

typedef struct Walk {
    Arena *arena;
    OverlayChanges *out;
    Error *err;
} Walk;

static void add_change(Walk *walk, Str path, OverlayChangeKind kind)
{
    OverlayChanges *out = walk->out;
    if (out->count == OVERLAY_CHANGES_MAX) {
        out->truncated = true;
        return;
    }
    if (out->count == out->cap) {
        uint32_t cap = out->cap == 0 ? 64 : out->cap * 2;
        out->items = arena_grow(walk->arena, out->items, out->cap * sizeof *out->items,
                                cap * sizeof *out->items);
        out->cap = cap;
    }
    out->items[out->count++] = (OverlayChange){ path, kind };
}

static bool is_whiteout(const struct stat *info)
{
    return S_ISCHR(info->st_mode) && info->st_rdev == makedev(0, 0);
}

/* A directory that was copied up only because of its content is the same as the one outside. */
static bool is_same_directory(const struct stat *inside, const struct stat *outside)
{
    return S_ISDIR(outside->st_mode) && inside->st_mode == outside->st_mode &&
           inside->st_uid == outside->st_uid && inside->st_gid == outside->st_gid;
}

/* A directory that was removed and created again hides its old content. */
static bool is_opaque(int directory)
{
    char value;
    return fgetxattr(directory, "trusted.overlay.opaque", &value, 1) == 1 && value == 'y';
}

static Str path_in(Walk *walk, Str path, const char *name)
{
    return arena_format(walk->arena, "%" STR_FMT "/%s", STR_ARG(path), name);
}

static bool report_unreadable(Walk *walk, int number)
{
    return file_error(walk->err, number, "cannot list the changed files");
}

/* Entries of `outside` that are not in the directory that hides it. */
static bool walk_hidden(Walk *walk, int upper, int outside, Str path)
{
    DIR *entries = entries_open_at(outside);
    if (entries == NULL) {
        return report_unreadable(walk, errno);
    }
    for (const char *name; (name = entries_next(entries)) != NULL;) {
        struct stat info;
        if (fstatat(upper, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
            add_change(walk, path_in(walk, path, name), OVERLAY_REMOVED);
        }
    }
    entries_close(entries);
    return true;
}

static bool walk_directory(Walk *walk, int upper, int outside, Str path, uint32_t depth);

static bool walk_entry(Walk *walk, int upper, int outside, Str path, const char *entry,
                       uint32_t depth)
{
    struct stat info, old;
    if (fstatat(upper, entry, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return true;
    }
    bool was = outside >= 0 && fstatat(outside, entry, &old, AT_SYMLINK_NOFOLLOW) == 0;
    Str name = path_in(walk, path, entry);
    if (is_whiteout(&info)) {
        add_change(walk, name, OVERLAY_REMOVED);
        return true;
    }
    if (!was) {
        add_change(walk, name, OVERLAY_CREATED);
    } else if (!S_ISDIR(info.st_mode) || !is_same_directory(&info, &old)) {
        add_change(walk, name, OVERLAY_CHANGED);
    }
    if (!S_ISDIR(info.st_mode) || depth == DEPTH_MAX) {
        return true;
    }
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int next = openat(upper, entry, flags);
    if (next < 0) {
        return report_unreadable(walk, errno);
    }
    int next_outside = was ? openat(outside, entry, flags) : -1;
    bool ok = walk_directory(walk, next, next_outside, name, depth + 1);
    if (next_outside >= 0) {
        close(next_outside);
    }
    return ok;
}

/* Closes `upper`. */
static bool walk_directory(Walk *walk, int upper, int outside, Str path, uint32_t depth)
{
    DIR *entries = entries_open(upper);
    if (entries == NULL) {
        return report_unreadable(walk, errno);
    }
    bool ok = outside < 0 || !is_opaque(upper) || walk_hidden(walk, upper, outside, path);
    for (const char *name; ok && (name = entries_next(entries)) != NULL;) {
        ok = walk_entry(walk, upper, outside, path, name, depth);
    }
    entries_close(entries);
    return ok;
}

static int compare_changes(const void *a, const void *b)
{
    return str_compare(((const OverlayChange *)a)->path, ((const OverlayChange *)b)->path);
}

bool overlay_changes(Overlay *overlay, Arena *arena, OverlayChanges *out, Error *err)
{
    *out = (OverlayChanges){ 0 };
    Walk walk = { arena, out, err };
    for (uint32_t i = 0; i < overlay->covers.len; i++) {
        const OverlayCover *covered = &overlay->covers.items[i];
        int upper = openat(covered->upper, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (upper < 0) {
            return report_unreadable(&walk, errno);
        }
        Str path = str_eq_c(covered->point, "/") ? STR_EMPTY : covered->point;
        if (!walk_directory(&walk, upper, covered->outside, path, 0)) {
            return false;
        }
    }
    if (out->count > 0) {
        qsort(out->items, out->count, sizeof *out->items, compare_changes);
    }
    return true;
}

/* --- Process ---------------------------------------------------------------------------------- */

static int wait_for(pid_t child, const sigset_t *signals)
{
    for (;;) {
        int status;
        int number = sigwaitinfo(signals, NULL);
        if (number > 0 && number != SIGCHLD) {
            kill(child, number);
        } else if (waitpid(child, &status, WNOHANG) == child) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
}

static bool run_in(const char *directory, int (*function)(void *context, const char *directory),
                   void *context, int *code, Error *err)
{
    sigset_t signals = signals_ending(), before;
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &before);
    /* The next child becomes PID 1 of a new PID namespace; when it exits, all processes in it are
     * killed. Later children are created in our namespace again: fork fails in a namespace whose
     * PID 1 has exited. */
    int ours = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    pid_t child = ours >= 0 && unshare(CLONE_NEWPID) == 0 ? fork() : -1;
    int number = errno;
    if (child == 0) {
        /* Ctrl-C signals the whole process group. In its own group the child gets it once, from us,
         * and may still write to the terminal. */
        setpgid(0, 0);
        signal(SIGTTOU, SIG_IGN);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        _exit(function(context, directory));
    }
    if (ours >= 0) {
        (void)setns(ours, CLONE_NEWPID);
        close(ours);
    }
    if (child > 0) {
        *code = wait_for(child, &signals);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return child > 0 || file_error(err, number, "cannot create a process");
}

bool overlay_process_run(int (*function)(void *context, const char *directory), void *context,
                         int *code, Error *err)
{
    char directory[] = "/tmp/eden-try-XXXXXX";
    if (mkdtemp(directory) == NULL) {
        return file_error(err, errno, directory);
    }
    bool ok = run_in(directory, function, context, code, err);
    (void)rmdir(directory);
    return ok;
}
