/* Tells one boot from another. */
#include "facts/fact.h"

static bool read_boot_id(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Str id;
    if (!fact_word(&world->kernel, arena, "/proc/sys/kernel/random/boot_id", &id, err)) {
        return false;
    }
    *out = fact_string(id);
    return true;
}

const Fact fact_boot_id = {
    .name = "boot_id",
    .help = "A different text after each start of the machine.",
    .example = "\"5d1e4c59-3a0b-4b8c-9b0a-8f4e1a2b3c4d\"",
    .read = read_boot_id,
};
