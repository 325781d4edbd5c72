/* The name of the machine, without a domain. */
#include "facts/host_name.h"

static bool read_name(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Str name;
    if (!host_name_read(world, arena, &name, err)) {
        return false;
    }
    *out = fact_string(host_name_short(name));
    return true;
}

const Fact fact_name = {
    .name = "name",
    .help = "The host name, without its domain.",
    .example = "\"web1\"",
    .read = read_name,
};
