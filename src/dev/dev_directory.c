/* Directories of temporary clusters. A lock in the directory shows that its cluster is running, so
 * directories of killed clusters can be recognized and removed. */
#include "dev/dev_directory.h"

#include "dev/dev_plan.h"
#include "lang/json.h"
#include "sys/cgroup.h"
#include "sys/privilege.h"
#include "sys/process.h"
#include "sys/temporary.h"

#define PREFIX           "eden-dev-"
#define LOCK             "lock"
#define DESCRIPTION_FILE "dev.json"
#define GROUP            "cgroup" /* file with the path of the cgroup */

enum {
    DIRECTORIES_MAX = 256,
    DESCRIPTION_MAX = 256 * 1024, /* maximum size in bytes */
    GROUP_MAX = 4096,             /* maximum size in bytes */
    ATTEMPTS_MAX = 8
};

static const char *name_of(const char *directory_path)
{
    const char *slash = strrchr(directory_path, '/');
    return slash == NULL ? directory_path : slash + 1;
}

/* Removes the cgroup of a killed cluster; its processes have ended with it. */
static void remove_group(Arena *arena, const Directory *directory, const char *directory_path)
{
    Str path;
    Error err;
    if (directory_read(directory, arena, GROUP, GROUP_MAX, &path, &err) &&
        str_ends(path, arena_format(arena, "/%s", name_of(directory_path)))) {
        cgroup_remove(arena_copy_c(arena, path));
    }
}

/* Removes a directory that no cluster uses: a running one holds its lock. A directory without a
 * lock is still being created. */
static void remove_unused(Arena *arena, const char *directory_path)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    AUTO_CLEAR(FileLock) lock = { .descriptor = -1 };
    Str found;
    Error err;
    if (directory_open(directory_path, &directory, &err) && directory_has(&directory, LOCK) &&
        !file_lock_is_held(&directory, LOCK) &&
        file_lock_take(&directory, LOCK, STR_EMPTY, arena, &lock, &found, &err)) {
        remove_group(arena, &directory, directory_path);
        temporary_remove(directory_path);
    }
}

static void remove_all_unused(Arena *arena)
{
    const char *paths[DIRECTORIES_MAX];
    uint32_t count = temporary_list(arena, PREFIX, paths, DIRECTORIES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        remove_unused(arena, paths[i]);
    }
}

/* Another process may have considered it unused, between its creation and locking. */
static bool try_create(Arena *arena, DevDirectory *out, Error *err)
{
    for (uint32_t i = 0; i < ATTEMPTS_MAX; i++) {
        AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
        Str found, holder = arena_format(arena, "%lld\n", (long long)process_own_pid());
        if (!temporary_make(arena, PREFIX, &out->path, err)) {
            return false;
        }
        if (directory_open(out->path, &directory, err) &&
            file_lock_take(&directory, LOCK, holder, arena, &out->lock, &found, err)) {
            return true;
        }
    }
    return false;
}

static bool make_node(Arena *arena, const char *directory_path, uint32_t node, Error *err)
{
    AUTO_CLEAR(Directory) run = { .descriptor = -1 };
    AUTO_CLEAR(Directory) space = { .descriptor = -1 };
    const char *own = dev_node_directory(arena, directory_path, node);
    return directory_make(dev_run_dir(arena, directory_path, node), &run, err) &&
           directory_make(arena_format(arena, "%s/space", own).data, &space, err);
}

bool dev_directory_create(Arena *arena, uint32_t nodes, DevDirectory *out, Error *err)
{
    *out = (DevDirectory){ .lock = { .descriptor = -1 } };
    remove_all_unused(arena);
    if (!try_create(arena, out, err)) {
        return false;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        if (!make_node(arena, out->path, i, err)) {
            dev_directory_remove(out);
            return false;
        }
    }
    return true;
}

/* The path is recorded before the cgroup is created, so that no unknown cgroup is left behind after
 * a crash. */
bool dev_directory_add_groups(DevDirectory *location, Arena *arena, uint32_t nodes, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    const char *path;
    if (!cgroup_path(arena, name_of(location->path), &path, err) ||
        !directory_open(location->path, &directory, err) ||
        !directory_write(&directory, GROUP, str_from_c(path), false, err) ||
        !cgroup_make(path, err)) {
        return error_wrap(err, "cannot create a cgroup for systemd");
    }
    location->group = path;
    for (uint32_t i = 0; i < nodes; i++) {
        if (!cgroup_make(dev_node_directory(arena, path, i), err)) {
            return error_wrap(err, "cannot create a cgroup for systemd");
        }
    }
    return true;
}

void dev_directory_remove(DevDirectory *location)
{
    if (location->group != NULL) {
        cgroup_remove(location->group);
    }
    temporary_remove(location->path);
    file_lock_release(&location->lock);
}

bool dev_directory_publish(const DevDirectory *location, Arena *arena, Value description,
                           Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    return json_print(&text, description, NULL, err) &&
           directory_open(location->path, &directory, err) &&
           directory_write(&directory, DESCRIPTION_FILE, buf_str(&text), false, err);
}

/* --- Other clusters -------------------------------------------------------------------------- */

/* The content is trusted: it names a process whose namespaces are entered. If another user
 * controlled the programs there, root would run them as root. */
static bool check_owner(const Directory *directory, Error *err)
{
    uid_t user;
    gid_t group;
    return directory_owner(directory, &user, &group, err) &&
           (user == privileges_user() ||
            error_set(err, ERROR_DENIED, "%s belongs to another user", directory->path));
}

static bool read_description(Arena *arena, const char *directory_path, Value *description,
                             Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Str text;
    if (!directory_open(directory_path, &directory, err) || !check_owner(&directory, err)) {
        return false;
    }
    if (!file_lock_is_held(&directory, LOCK)) {
        return error_set(err, ERROR_NOT_FOUND, "no cluster is running in %s", directory_path);
    }
    return directory_read(&directory, arena, DESCRIPTION_FILE, DESCRIPTION_MAX, &text, err) &&
           json_parse_text(arena, text, NULL, description, err) &&
           dev_description_check(arena, *description, err);
}

bool dev_directory_find(Arena *arena, const char *directory_path, Value *description, Error *err)
{
    if (directory_path != NULL) {
        return read_description(arena, directory_path, description, err);
    }
    const char *paths[DIRECTORIES_MAX];
    List *found = list_new(arena, 1);
    uint32_t count = temporary_list(arena, PREFIX, paths, DIRECTORIES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        Value one;
        if (read_description(arena, paths[i], &one, err)) {
            list_push(arena, found, one);
        }
    }
    if (found->len > 1) {
        *description = value_list(found);
        return error_set(err, ERROR_CONFLICT,
                         "%u clusters are running here; select one with --directory", found->len);
    }
    if (found->len == 0) {
        return error_set(err, ERROR_NOT_FOUND, "no cluster is running here; 'eden dev' starts one");
    }
    *description = found->items[0];
    return true;
}
