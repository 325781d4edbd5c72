/* The release of the running kernel. */
#include "facts/fact.h"

static bool read_kernel(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Str release;
    if (!fact_word(&world->kernel, arena, "/proc/sys/kernel/osrelease", &release, err)) {
        return false;
    }
    *out = fact_string(release);
    return true;
}

const Fact fact_kernel = {
    .name = "kernel",
    .help = "The release of the running kernel.",
    .example = "\"6.1.0-28-amd64\"",
    .read = read_kernel,
};
