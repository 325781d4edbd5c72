/* What starts and stops services. */
#include "facts/fact.h"

/* By the program that would start: the name behind the links of /sbin/init. */
static Str find_installed(const FactWorld *world, Arena *arena)
{
    Error none;
    Str target;
    if (tree_has(&world->root, "/sbin/openrc")) {
        return STR("openrc");
    }
    if (tree_read_link(&world->root, arena, "/sbin/init", &target, &none)) {
        size_t slash = str_find_last(target, STR("/"));
        return slash == STR_NOT_FOUND ? target : str_from_offset(target, slash + 1);
    }
    return tree_has(&world->root, "/etc/inittab") ? STR("sysvinit") : STR_EMPTY;
}

static bool read_init_system(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Str name = STR_EMPTY;
    if (world->live && tree_has(&world->kernel, "/run/systemd/system")) {
        name = STR("systemd");
    } else if (world->live && tree_has(&world->kernel, "/run/openrc")) {
        name = STR("openrc");
    } else if (world->live) {
        /* A container's first process is whatever it was made for. */
        if (!fact_word(&world->kernel, arena, "/proc/1/comm", &name, err)) {
            return false;
        }
    } else {
        name = find_installed(world, arena);
    }
    *out = fact_string(name);
    return true;
}

const Fact fact_init_system = {
    .name = "init_system",
    .help = "What runs services: systemd, openrc, or the name of the first process.",
    .example = "\"systemd\"",
    .read = read_init_system,
};
