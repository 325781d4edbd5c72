#include "sys/own_unit.h"

#include <stdlib.h>

#include "sys/process.h"

/* suffix that the kernel appends to the path of a removed program */
#define REPLACED   STR(" (deleted)")
#define GROUPS_MAX (64 * 1024)
#define PIDS_MAX   (4 * 1024 * 1024)

bool own_unit_is_main_process(void)
{
    const char *text = getenv("SYSTEMD_EXEC_PID");
    uint64_t number;
    return text != NULL && str_to_u64(str_from_c(text), &number) &&
           number == (uint64_t)process_own_pid();
}

bool own_unit_is_outdated(const Tree *kernel)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str path;
    Error unknown;
    return tree_read_link(kernel, &arena, "/proc/self/exe", &path, &unknown) &&
           str_ends(path, REPLACED);
}

/* The file that lists the processes in the cgroup of this process, in the hierarchy that systemd
 * uses: a named one if cgroup v1 hierarchies are mounted too. NULL if it cannot be determined. */
static const char *find_list(const Tree *kernel, Arena *arena, Str groups)
{
    static const struct {
        const char *controllers;
        const char *mount;
    } hierarchies[] = {
        { "name=systemd", "/sys/fs/cgroup/systemd" },
        { "", "/sys/fs/cgroup" },
        { "", "/sys/fs/cgroup/unified" },
    };
    for (size_t i = 0; i < sizeof hierarchies / sizeof hierarchies[0]; i++) {
        Str rest = groups, line, number, controllers;
        while (str_split_next(&rest, '\n', &line)) {
            if (!str_split_next(&line, ':', &number) || !str_split_next(&line, ':', &controllers) ||
                !str_eq_c(controllers, hierarchies[i].controllers)) {
                continue;
            }
            const char *path =
                arena_copy_c(arena, arena_format(arena, "%s%" STR_FMT "/cgroup.procs",
                                                 hierarchies[i].mount, STR_ARG(line)));
            if (tree_has(kernel, path)) {
                return path;
            }
        }
    }
    return NULL;
}

static bool is_one_of(int64_t number, const int64_t *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] == number) {
            return true;
        }
    }
    return false;
}

bool own_unit_count_others(const Tree *kernel, const int64_t *excluded, uint32_t count,
                           uint32_t *out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str groups, numbers, line;
    if (!tree_read(kernel, &arena, "/proc/self/cgroup", GROUPS_MAX, &groups, err)) {
        return false;
    }
    const char *list = find_list(kernel, &arena, groups);
    if (list == NULL) {
        return error_set(err, ERROR_NOT_FOUND, "cannot determine the cgroup of this process");
    }
    if (!tree_read(kernel, &arena, list, PIDS_MAX, &numbers, err)) {
        return false;
    }
    *out = 0;
    while (str_split_next(&numbers, '\n', &line)) {
        int64_t number;
        *out += str_to_i64(line, &number) && number != process_own_pid() &&
                !is_one_of(number, excluded, count);
    }
    return true;
}
