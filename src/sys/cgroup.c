#include "sys/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sys/file.h"
#include "sys/file_io.h"

enum {
    DESCRIPTORS_MAX = 16, /* between attempts to remove a group */
    REMOVE_TRIES =
        200, /* a group counts as populated for a moment after its last process has exited */
    REMOVE_WAIT_NS = 10 * 1000 * 1000
};

/* The mount point of the hierarchy; NULL: not mounted. */
static const char *find_mount(Arena *arena)
{
    FILE *file = setmntent("/proc/self/mounts", "re");
    const char *found = NULL;
    for (struct mntent *entry;
         file != NULL && found == NULL && (entry = getmntent(file)) != NULL;) {
        if (strcmp(entry->mnt_type, "cgroup2") == 0) {
            found = arena_copy_c(arena, str_from_c(entry->mnt_dir));
        }
    }
    if (file != NULL) {
        endmntent(file);
    }
    return found;
}

/* The group of this process, from the line "0::/user.slice". */
static Str find_own(Arena *arena)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    Str found = STR_EMPTY;
    char *line = NULL;
    size_t room = 0;
    for (ssize_t len; file != NULL && (len = getline(&line, &room, file)) > 0;) {
        Str text = str_trim(str_from(line, (size_t)len));
        if (str_starts(text, STR("0::"))) {
            found = arena_copy(arena, str_from_offset(text, 3));
        }
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return str_eq_c(found, "/") ? STR_EMPTY : found;
}

bool cgroup_path(Arena *arena, const char *name, const char **path, Error *err)
{
    const char *mounted = find_mount(arena);
    if (mounted == NULL) {
        return error_set(err, ERROR_UNAVAILABLE, "no cgroup2 file system is mounted");
    }
    Str own = find_own(arena);
    *path = arena_format(arena, "%s%" STR_FMT "/%s", mounted, STR_ARG(own), name).data;
    return true;
}

bool cgroup_unit_path(Arena *arena, const char *name, const char **path, Error *err)
{
    const char *own;
    if (!cgroup_path(arena, "", &own, err)) {
        return false;
    }
    Str base = str_slice(str_from_c(own), 0, strlen(own) - 1);
    if (str_ends(base, STR("/" CGROUP_OWN))) {
        base.len -= STR("/" CGROUP_OWN).len;
    }
    *path = arena_format(arena, "%" STR_FMT "/%s", STR_ARG(base), name).data;
    return true;
}

bool cgroup_make(const char *path, Error *err)
{
    return mkdir(path, 0755) == 0 || file_error(err, errno, path);
}

bool cgroup_open(Arena *arena, const char *path, int *descriptor, Error *err)
{
    const char *members = arena_format(arena, "%s/cgroup.procs", path).data;
    *descriptor = open(members, O_WRONLY | O_CLOEXEC);
    return *descriptor >= 0 || file_error(err, errno, members);
}

bool cgroup_enter(int descriptor, Error *err)
{
    return write(descriptor, "0", 1) == 1 || file_error(err, errno, "cannot enter the cgroup");
}

static bool write_file(const char *path, const char *name, const char *text, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const char *file = arena_format(&arena, "%s/%s%c", path, name, '\0').data;
    int descriptor = open(file, O_WRONLY | O_CLOEXEC);
    bool ok = descriptor >= 0 && write(descriptor, text, strlen(text)) == (ssize_t)strlen(text);
    int number = errno;
    if (descriptor >= 0) {
        close(descriptor);
    }
    return ok || file_error(err, number, file);
}

static bool set_limit(const char *path, const char *controller, const char *file, int64_t limit)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error ignored;
    Str parent = str_slice(str_from_c(path), 0, str_find_last(str_from_c(path), STR("/")));
    const char *enable = arena_format(&arena, "+%s", controller).data;
    const char *text = arena_format(&arena, "%lld", (long long)limit).data;
    if (limit == 0) {
        return true;
    }
    /* Fails if the controller is already enabled or cannot be enabled; setting the limit shows
     * which. */
    (void)!write_file(arena_copy_c(&arena, parent), "cgroup.subtree_control", enable, &ignored);
    return write_file(path, file, text, &ignored);
}

bool cgroup_limit(const char *path, const CgroupLimits *limits, Error *err)
{
    bool has_memory = set_limit(path, "memory", "memory.max", limits->memory_bytes);
    bool has_tasks = set_limit(path, "pids", "pids.max", limits->tasks);
    return (has_memory && has_tasks) ||
           error_set(err, ERROR_UNAVAILABLE, "%s: cannot limit %s%s%s", path,
                     has_memory ? "" : "memory", has_memory || has_tasks ? "" : " and ",
                     has_tasks ? "" : "processes");
}

void cgroup_kill(const char *path)
{
    Error unsupported;
    (void)!write_file(path, "cgroup.kill", "1", &unsupported);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    if (kind == FTW_DP) {
        (void)rmdir(path);
    }
    return 0;
}

void cgroup_remove(const char *path)
{
    const struct timespec moment = { .tv_nsec = REMOVE_WAIT_NS };
    for (uint32_t i = 0; i < REMOVE_TRIES && access(path, F_OK) == 0; i++) {
        (void)nftw(path, remove_one, DESCRIPTORS_MAX, FTW_DEPTH | FTW_PHYS);
        if (access(path, F_OK) == 0) {
            (void)nanosleep(&moment, NULL);
        }
    }
}

static bool is_populated(const char *path)
{
    AUTO_CLEAR(Arena) arena;
    char text[256] = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    int descriptor =
        open(arena_format(&arena, "%s/cgroup.events%c", path, '\0').data, O_RDONLY | O_CLOEXEC);
    bool is_known = descriptor >= 0 && read(descriptor, text, sizeof text - 1) > 0;
    if (descriptor >= 0) {
        close(descriptor);
    }
    return !is_known || strstr(text, "populated 0") == NULL;
}

void cgroup_sweep(const char *path, bool (*is_left)(void *context, Str name), void *context)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    DIR *entries = opendir(path);
    for (const char *name; entries != NULL && (name = entries_next(entries)) != NULL;) {
        const char *group = arena_format(&arena, "%s/%s%c", path, name, '\0').data;
        if (file_is_directory(group) && is_left(context, str_from_c(name)) &&
            !is_populated(group)) {
            (void)nftw(group, remove_one, DESCRIPTORS_MAX, FTW_DEPTH | FTW_PHYS);
        }
    }
    entries_close(entries);
}
