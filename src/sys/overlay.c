#include "sys/overlay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/enum_names.h"
#include "base/vec.h"
#include "sys/file_error.h"
#include "sys/kernel_guard.h"

enum {
    MOUNTS_MAX = 512,
    DEPTH_MAX = 256
};

/* One file system that is covered. Paths are as seen inside. */
typedef struct Cover {
    Str point;
    int upper;   /* directory: what was written */
    int outside; /* directory: as it is outside */
} Cover;

struct Overlay {
    Arena *arena;
    VEC(Cover) covers;
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

/* --- Mounts that are there ------------------------------------------------------------------- */

typedef struct Mount {
    Str point;
    Str type;
} Mount;
typedef VEC(Mount) Mounts;

/* "\040" and the like in mountinfo. */
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

static bool read_mounts(Arena *arena, Mounts *out, Error *err)
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
            VEC_PUSH(arena, out,
                     (Mount){ unescape(arena, fields[4]), arena_copy(arena, fields[dash + 1]) });
        }
    }
    free(line);
    fclose(file);
    return true;
}

typedef enum Treatment {
    TREAT_COVER, /* an overlay over it */
    TREAT_SHARE, /* the kernel's own: as it is, to read */
    TREAT_RENEW, /* processes: those that are seen from here */
    TREAT_HIDE,  /* not there inside */
} Treatment;

static Treatment treatment_of(const Mount *mount)
{
    static const char *const disks[] = { "ext4", "ext3", "ext2", "xfs",   "btrfs",   "overlay",
                                         "f2fs", "zfs",  "vfat", "tmpfs", "squashfs" };
    static const char *const kernel[] = { "sysfs",    "devtmpfs", "devpts",     "cgroup",
                                          "cgroup2",  "mqueue",   "hugetlbfs",  "bpf",
                                          "tracefs",  "debugfs",  "securityfs", "pstore",
                                          "efivarfs", "configfs", "binfmt_misc" };
    if (str_eq_c(mount->point, "/dev") || str_starts(mount->point, STR("/dev/"))) {
        return TREAT_SHARE;
    }
    if (str_eq_c(mount->type, "proc")) {
        return TREAT_RENEW;
    }
    for (uint32_t i = 0; i < COUNT_OF(disks); i++) {
        if (str_eq_c(mount->type, disks[i])) {
            return TREAT_COVER;
        }
    }
    for (uint32_t i = 0; i < COUNT_OF(kernel); i++) {
        if (str_eq_c(mount->type, kernel[i])) {
            return TREAT_SHARE;
        }
    }
    return TREAT_HIDE; /* the network's: a try must not write there */
}

/* --- Entering -------------------------------------------------------------------------------- */

static bool make_directory(const char *path, Error *err)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST || file_error(err, errno, path);
}

/* An overlay for one mount point; its writable half lies in the tmpfs of the folder. */
static bool cover(Overlay *overlay, const char *folder, const char *inside, Str point, Error *err)
{
    Arena *arena = overlay->arena;
    const char *home = arena_format(arena, "%s/%u", folder, overlay->covers.len).data;
    const char *upper = arena_format(arena, "%s/upper", home).data;
    const char *work = arena_format(arena, "%s/work", home).data;
    const char *target = arena_format(arena, "%s%" STR_FMT, inside,
                                      STR_ARG(str_eq_c(point, "/") ? STR_EMPTY : point))
                             .data;
    const char *lower = arena_copy_c(arena, point);
    struct stat info;
    if (stat(lower, &info) != 0) {
        return true; /* hidden below another mount */
    }
    if (!make_directory(home, err) || !make_directory(upper, err) || !make_directory(work, err)) {
        return false;
    }
    /* The root of the overlay looks like that of what it covers. */
    if (chmod(upper, info.st_mode & 07777) != 0 || chown(upper, info.st_uid, info.st_gid) != 0) {
        return file_error(err, errno, upper);
    }
    const char *options =
        arena_format(arena, "lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work).data;
    if (mount("overlay", target, "overlay", 0, options) != 0) {
        return file_error(err, errno, arena_format(arena, "an overlay of %s", lower).data);
    }
    Cover made = { .point = point,
                   .upper = open(upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                   .outside = open(lower, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
    if (made.upper < 0 || made.outside < 0) {
        return file_error(err, errno, lower);
    }
    VEC_PUSH(arena, &overlay->covers, made);
    return true;
}

/* Writing to a device goes on; a file among them, or a setting of the kernel, would stay. */
static bool share(Arena *arena, const char *inside, Str point, Treatment treatment, Error *err)
{
    const char *target = arena_format(arena, "%s%" STR_FMT, inside, STR_ARG(point)).data;
    struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
    struct stat info;
    if (stat(target, &info) != 0) {
        return true;
    }
    bool mounted =
        treatment == TREAT_RENEW
            ? mount("proc", target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0
            : mount(arena_copy_c(arena, point), target, NULL, MS_BIND | MS_REC, NULL) == 0;
    return (mounted &&
            mount_setattr(AT_FDCWD, target, AT_RECURSIVE, &read_only, sizeof read_only) == 0) ||
           file_error(err, errno, target);
}

/* Memory that programs share by name lies among the devices. */
static bool replace_shared_memory(Arena *arena, const char *inside, Error *err)
{
    const char *target = arena_format(arena, "%s/dev/shm", inside).data;
    struct stat info;
    return stat(target, &info) != 0 || mount("eden-try", target, "tmpfs", 0, "mode=1777") == 0 ||
           file_error(err, errno, target);
}

static bool is_below(Str path, Str folder)
{
    return str_eq(path, folder) ||
           (str_starts(path, folder) && path.len > folder.len && path.data[folder.len] == '/');
}

static bool mount_all(Overlay *overlay, const char *folder, const char *inside, Error *err)
{
    Mounts mounts = { 0 };
    if (!read_mounts(overlay->arena, &mounts, err) ||
        !cover(overlay, folder, inside, STR("/"), err)) {
        return false;
    }
    Str shared = STR_EMPTY; /* what lies below it came with it */
    for (uint32_t i = 0; i < mounts.len; i++) {
        Mount *entry = &mounts.items[i];
        if (str_eq_c(entry->point, "/") || is_below(entry->point, str_from_c(folder)) ||
            (shared.len > 0 && is_below(entry->point, shared))) {
            continue;
        }
        Treatment treatment = treatment_of(entry);
        if (treatment == TREAT_SHARE || treatment == TREAT_RENEW) {
            shared = entry->point;
            if (!share(overlay->arena, inside, entry->point, treatment, err)) {
                return false;
            }
        } else if (treatment == TREAT_COVER) {
            struct stat info;
            const char *point = arena_copy_c(overlay->arena, entry->point);
            if (stat(point, &info) == 0 && S_ISDIR(info.st_mode) &&
                !cover(overlay, folder, inside, entry->point, err)) {
                return false;
            }
        }
    }
    return replace_shared_memory(overlay->arena, inside, err);
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

bool overlay_enter(Arena *arena, const OverlaySettings *settings, Overlay **out, Error *err)
{
    if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS |
                (settings->network ? 0 : CLONE_NEWNET)) != 0) {
        return file_error(err, errno, "a namespace for the try");
    }
    Overlay *overlay = ARENA_NEW(arena, Overlay);
    overlay->arena = arena;
    const char *inside = arena_format(arena, "%s/inside", settings->folder).data;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("eden-try", settings->folder, "tmpfs", 0, "mode=0755") != 0 ||
        mkdir(inside, 0755) != 0) {
        return file_error(err, errno, settings->folder);
    }
    if (!mount_all(overlay, settings->folder, inside, err)) {
        return false;
    }
    /* Relative paths mean what they meant outside. */
    char *here = getcwd(NULL, 0);
    bool moved = chroot(inside) == 0 && chdir(here == NULL ? "/" : here) == 0;
    int number = errno;
    free(here);
    if (!moved) {
        return file_error(err, number, inside);
    }
    if (!settings->network) {
        raise_loopback();
    }
    *out = overlay;
    return kernel_guard_raise(settings->network, err);
}

/* --- What came of it ------------------------------------------------------------------------- */

typedef struct Walk {
    Arena *arena;
    OverlayChanges *out;
    Error *err;
} Walk;

static void add_change(Walk *walk, Str path, OverlayChangeKind kind)
{
    OverlayChanges *out = walk->out;
    if (out->count == OVERLAY_CHANGES_MAX) {
        out->cut = true;
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

/* A directory copied up only for what is below it differs in nothing from the one outside. */
static bool is_same_directory(const struct stat *inside, const struct stat *outside)
{
    return S_ISDIR(outside->st_mode) && inside->st_mode == outside->st_mode &&
           inside->st_uid == outside->st_uid && inside->st_gid == outside->st_gid;
}

/* One that was removed and made anew hides all that it held outside. */
static bool is_opaque(int folder)
{
    char value;
    return fgetxattr(folder, "trusted.overlay.opaque", &value, 1) == 1 && value == 'y';
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static Str path_in(Walk *walk, Str path, const char *name)
{
    return arena_format(walk->arena, "%" STR_FMT "/%s", STR_ARG(path), name);
}

static bool tell_unreadable(Walk *walk, int number)
{
    return file_error(walk->err, number, "what the try wrote");
}

/* What is in `outside` and no more in the folder that hides it. */
static bool walk_hidden(Walk *walk, int upper, int outside, Str path)
{
    int descriptor = openat(outside, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (folder == NULL) {
        int number = errno;
        if (descriptor >= 0) {
            close(descriptor);
        }
        return tell_unreadable(walk, number);
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct stat info;
        if (!is_dots(entry->d_name) &&
            fstatat(upper, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
            add_change(walk, path_in(walk, path, entry->d_name), OVERLAY_REMOVED);
        }
    }
    closedir(folder);
    return true;
}

static bool walk_folder(Walk *walk, int upper, int outside, Str path, uint32_t depth);

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
        return tell_unreadable(walk, errno);
    }
    int next_outside = was ? openat(outside, entry, flags) : -1;
    bool ok = walk_folder(walk, next, next_outside, name, depth + 1);
    if (next_outside >= 0) {
        close(next_outside);
    }
    return ok;
}

/* Takes `upper`. */
static bool walk_folder(Walk *walk, int upper, int outside, Str path, uint32_t depth)
{
    DIR *folder = fdopendir(upper);
    if (folder == NULL) {
        int number = errno;
        close(upper);
        return tell_unreadable(walk, number);
    }
    bool ok = outside < 0 || !is_opaque(upper) || walk_hidden(walk, upper, outside, path);
    for (struct dirent *entry; ok && (entry = readdir(folder)) != NULL;) {
        ok = is_dots(entry->d_name) || walk_entry(walk, upper, outside, path, entry->d_name, depth);
    }
    closedir(folder);
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
        const Cover *covered = &overlay->covers.items[i];
        int upper = openat(covered->upper, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (upper < 0) {
            return tell_unreadable(&walk, errno);
        }
        Str path = str_eq_c(covered->point, "/") ? STR_EMPTY : covered->point;
        if (!walk_folder(&walk, upper, covered->outside, path, 0)) {
            return false;
        }
    }
    if (out->count > 0) {
        qsort(out->items, out->count, sizeof *out->items, compare_changes);
    }
    return true;
}
