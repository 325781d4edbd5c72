/* The time zone, by its name in the zone database. */
#include "facts/fact.h"

static bool read_timezone(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Str target, name = STR_EMPTY;
    Error none;
    if (tree_read_link(&world->root, arena, "/etc/localtime", &target, &none)) {
        size_t at = str_find(target, STR("zoneinfo/"), 0);
        if (at != STR_NOT_FOUND) {
            name = str_from_offset(target, at + STR("zoneinfo/").len);
        }
    }
    if (name.len == 0 && !fact_word(&world->root, arena, "/etc/timezone", &name, err)) {
        return false;
    }
    /* Without either file the C library takes UTC. */
    *out = value_string(name.len > 0 ? name : STR("UTC"));
    return true;
}

const Fact fact_timezone = {
    .name = "timezone",
    .help = "The time zone; UTC when none is set.",
    .example = "\"Europe/Berlin\"",
    .read = read_timezone,
};
