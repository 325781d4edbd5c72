/* Tells one installed system from another, for as long as it lives. */
#include "facts/fact.h"

static bool read_machine_id(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Str id;
    if (!fact_word(&world->root, arena, "/etc/machine-id", &id, err)) {
        return false;
    }
    if (id.len == 0 && !fact_word(&world->root, arena, "/var/lib/dbus/machine-id", &id, err)) {
        return false;
    }
    /* What an image holds that was never booted. */
    *out = str_eq_c(id, "uninitialized") ? value_null() : fact_string(id);
    return true;
}

const Fact fact_machine_id = {
    .name = "machine_id",
    .help = "The id that the system got when it was installed; null before its first boot.",
    .example = "\"b08dfa6083e7567a1921a715000001fb\"",
    .read = read_machine_id,
};
