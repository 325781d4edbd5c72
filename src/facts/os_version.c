/* The release of the operating system; always text, because "12.10" is no number. */
#include "facts/os_release.h"

static bool read_os_version(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Str version;
    if (!os_release_get(world, arena, "VERSION_ID", &version, err)) {
        return false;
    }
    *out = fact_string(version);
    return true;
}

const Fact fact_os_version = {
    .name = "os_version",
    .help = "The release, as VERSION_ID of /etc/os-release has it; null for rolling releases.",
    .example = "\"12\"",
    .read = read_os_version,
};
