/* The processor architecture, by the kernel's name for it. */
#include "facts/fact.h"

static bool read_arch(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    *out = fact_string(world->arch(arena));
    return true;
}

const Fact fact_arch = {
    .name = "arch",
    .help = "The processor architecture.",
    .example = "\"x86_64\"",
    .read = read_arch,
};
