/* Network interfaces with their addresses. */
#include <stdio.h>

#include "facts/fact.h"

enum {
    PATH_BYTES = 320
};

static bool read_attribute(const FactWorld *world, Arena *arena, Str name, const char *attribute,
                           Str *out, Error *err)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/sys/class/net/%" STR_FMT "/%s", STR_ARG(name), attribute);
    return fact_word(&world->kernel, arena, path, out, err);
}

static List *addresses_of(const NetworkAddresses *all, Arena *arena, Str interface, bool v6)
{
    List *list = list_new(arena, 0);
    for (uint32_t i = 0; i < all->count; i++) {
        const NetworkAddress *address = &all->items[i];
        if (address->v6 == v6 && str_eq(address->interface, interface)) {
            Map *map = map_new(arena, 2);
            map_set_str(arena, map, STR("address"), value_string(address->address));
            map_set_str(arena, map, STR("prefix"), value_int(address->prefix));
            list_push(arena, list, value_map(map));
        }
    }
    return list;
}

/* Whether it is switched on, by an administrator or by the system: the lowest bit of its flags,
 * which does not flap with the cable as the operational state does. */
static bool is_up(Str flags)
{
    return flags.len > 0 && ascii_hex_value(flags.data[flags.len - 1]) % 2 == 1;
}

static bool read_interface(const FactWorld *world, Arena *arena, const NetworkAddresses *addresses,
                           Str name, Map *interfaces, Error *err)
{
    Str mac, mtu, flags;
    int64_t bytes;
    if (!read_attribute(world, arena, name, "address", &mac, err) ||
        !read_attribute(world, arena, name, "mtu", &mtu, err) ||
        !read_attribute(world, arena, name, "flags", &flags, err)) {
        return false;
    }
    if (flags.len == 0) {
        return true; /* a file beside the interfaces, such as bonding_masters */
    }
    Map *map = map_new(arena, 5);
    map_set_str(arena, map, STR("mac"), fact_string(mac));
    map_set_str(arena, map, STR("mtu"), str_to_i64(mtu, &bytes) ? value_int(bytes) : value_null());
    map_set_str(arena, map, STR("up"), value_bool(is_up(flags)));
    map_set_str(arena, map, STR("ipv4"), value_list(addresses_of(addresses, arena, name, false)));
    map_set_str(arena, map, STR("ipv6"), value_list(addresses_of(addresses, arena, name, true)));
    map_set_str(arena, interfaces, name, value_map(map));
    return true;
}

static bool read_interfaces(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Map *interfaces = map_new(arena, 0);
    *out = value_map(interfaces);
    Str *names;
    uint32_t count;
    Error why;
    if (!tree_list(&world->kernel, arena, "/sys/class/net", FACT_ENTRIES_MAX, &names, &count,
                   &why)) {
        if (why.kind == ERROR_NOT_FOUND) {
            return true;
        }
        *err = why;
        return false;
    }
    NetworkAddresses addresses;
    if (!world->addresses(arena, &addresses, err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!read_interface(world, arena, &addresses, names[i], interfaces, err)) {
            return false;
        }
    }
    return true;
}

const Fact fact_interfaces = {
    .name = "interfaces",
    .help = "Network interfaces by name, with their addresses, the primary one first.",
    .example = "{\"eth0\": {\"mac\": \"52:54:00:12:34:56\", \"mtu\": 1500, \"up\": true, "
               "\"ipv4\": [{\"address\": \"10.0.0.5\", \"prefix\": 24}], \"ipv6\": []}}",
    .read = read_interfaces,
};
