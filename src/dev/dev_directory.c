/* Directories of temporary clusters. A lock in the directory shows that its cluster is running, so
 * directories of killed clusters can be recognized and removed. */
#include "dev/dev_directory.h"

#include "dev/dev_plan.h"
#include "lang/json.h"
#include "sys/cgroup.h"
#include "sys/privilege.h"
#include "sys/process.h"
#include "sys/temporary.h"

#define PREFIX "eden-dev-"
#define LOCK   "lock"
#define CARD   "dev.json"
#define GROUP  "cgroup" /* path of its cgroup */

enum {
    PLACES_MAX = 256,
    CARD_MAX = 256 * 1024, /* bytes */
    GROUP_MAX = 4096,      /* bytes */
    TRIES = 8
};

static const char *name_of(const char *folder)
{
    const char *slash = strrchr(folder, '/');
    return slash == NULL ? folder : slash + 1;
}

/* The cgroup of a killed cluster; its processes have ended with it. */
static void remove_group(Arena *arena, const Directory *directory, const char *folder)
{
    Str path;
    Error err;
    if (directory_read(directory, arena, GROUP, GROUP_MAX, &path, &err) &&
        str_ends(path, arena_format(arena, "/%s", name_of(folder)))) {
        cgroup_remove(arena_copy_c(arena, path));
    }
}

/* Removes an abandoned directory: a running cluster holds its lock. A directory without a lock is
 * just being created. */
static void remove_abandoned(Arena *arena, const char *folder)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    AUTO_CLEAR(FileLock) lock = { .descriptor = -1 };
    Str found;
    Error err;
    if (directory_open(folder, &directory, &err) && directory_has(&directory, LOCK) &&
        !file_lock_is_held(&directory, LOCK) &&
        file_lock_take(&directory, LOCK, STR_EMPTY, arena, &lock, &found, &err)) {
        remove_group(arena, &directory, folder);
        temporary_remove(folder);
    }
}

static void remove_all_abandoned(Arena *arena)
{
    const char *folders[PLACES_MAX];
    uint32_t count = temporary_list(arena, PREFIX, folders, PLACES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        remove_abandoned(arena, folders[i]);
    }
}

/* Another process may have considered it abandoned, between its creation and locking. */
static bool try_create(Arena *arena, DevDirectory *out, Error *err)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
        Str found, holder = arena_format(arena, "%lld\n", (long long)process_own_number());
        if (!temporary_make(arena, PREFIX, &out->folder, err)) {
            return false;
        }
        if (directory_open(out->folder, &directory, err) &&
            file_lock_take(&directory, LOCK, holder, arena, &out->lock, &found, err)) {
            return true;
        }
    }
    return false;
}

static bool make_node(Arena *arena, const char *folder, uint32_t node, Error *err)
{
    AUTO_CLEAR(Directory) run = { .descriptor = -1 };
    AUTO_CLEAR(Directory) space = { .descriptor = -1 };
    const char *own = dev_node_folder(arena, folder, node);
    return directory_make(dev_run_dir(arena, folder, node), &run, err) &&
           directory_make(arena_format(arena, "%s/space", own).data, &space, err);
}

bool dev_directory_create(Arena *arena, uint32_t nodes, DevDirectory *out, Error *err)
{
    *out = (DevDirectory){ .lock = { .descriptor = -1 } };
    remove_all_abandoned(arena);
    if (!try_create(arena, out, err)) {
        return false;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        if (!make_node(arena, out->folder, i, err)) {
            dev_directory_remove(out);
            return false;
        }
    }
    return true;
}

/* Recorded before it is created, so that nothing unknown is left behind after a crash. */
bool dev_directory_add_groups(DevDirectory *place, Arena *arena, uint32_t nodes, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    const char *path;
    if (!cgroup_path(arena, name_of(place->folder), &path, err) ||
        !directory_open(place->folder, &directory, err) ||
        !directory_write(&directory, GROUP, str_from_c(path), false, err) ||
        !cgroup_make(path, err)) {
        return error_wrap(err, "cannot create a cgroup for systemd");
    }
    place->group = path;
    for (uint32_t i = 0; i < nodes; i++) {
        if (!cgroup_make(dev_node_folder(arena, path, i), err)) {
            return error_wrap(err, "cannot create a cgroup for systemd");
        }
    }
    return true;
}

void dev_directory_remove(DevDirectory *place)
{
    if (place->group != NULL) {
        cgroup_remove(place->group);
    }
    temporary_remove(place->folder);
    file_lock_release(&place->lock);
}

bool dev_directory_publish(const DevDirectory *place, Arena *arena, Value description, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    return json_print(&text, description, NULL, err) &&
           directory_open(place->folder, &directory, err) &&
           directory_write(&directory, CARD, buf_str(&text), false, err);
}

/* --- Other clusters -------------------------------------------------------------------------- */

/* Its content is trusted: it names a process whose namespaces are entered, in which another user
 * controls all programs, and root would run them as root. */
static bool check_owner(const Directory *directory, Error *err)
{
    uid_t user;
    gid_t group;
    return directory_owner(directory, &user, &group, err) &&
           (user == privileges_user() ||
            error_set(err, ERROR_DENIED, "%s belongs to another user", directory->path));
}

static bool read_description(Arena *arena, const char *folder, Value *description, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Str text;
    if (!directory_open(folder, &directory, err) || !check_owner(&directory, err)) {
        return false;
    }
    if (!file_lock_is_held(&directory, LOCK)) {
        return error_set(err, ERROR_NOT_FOUND, "no cluster is running in %s", folder);
    }
    return directory_read(&directory, arena, CARD, CARD_MAX, &text, err) &&
           json_parse_text(arena, text, NULL, description, err) &&
           dev_description_check(arena, *description, err);
}

bool dev_directory_find(Arena *arena, const char *folder, Value *description, Error *err)
{
    if (folder != NULL) {
        return read_description(arena, folder, description, err);
    }
    const char *folders[PLACES_MAX];
    List *found = list_new(arena, 1);
    uint32_t count = temporary_list(arena, PREFIX, folders, PLACES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        Value one;
        if (read_description(arena, folders[i], &one, err)) {
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
