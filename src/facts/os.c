/* Which operating system, by the short name that it gives itself. */
#include "facts/os_release.h"

static bool read_os(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Str id;
    if (!os_release_get(world, arena, "ID", &id, err)) {
        return false;
    }
    *out = fact_string(id);
    return true;
}

const Fact fact_os = {
    .name = "os",
    .help = "The operating system, as ID of /etc/os-release has it.",
    .example = "\"debian\"",
    .read = read_os,
};
