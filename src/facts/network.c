/* Network interfaces with their addresses, and the interface of the default route. */
#include <stdio.h>

#include "facts/fact.h"

enum {
    PATH_BYTES = 320
};

static bool read_attribute(const FactSources *sources, Arena *arena, Str name,
                           const char *attribute, Str *out, Error *err)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/sys/class/net/%" STR_FMT "/%s", STR_ARG(name), attribute);
    return fact_word(&sources->kernel, arena, path, out, err);
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

/* Whether the interface is administratively up: the lowest bit of its flags. Unlike the operational
 * state, this does not depend on whether a cable is plugged in. */
static bool is_up(Str flags)
{
    return flags.len > 0 && ascii_hex_value(flags.data[flags.len - 1]) % 2 == 1;
}

static bool read_interface(const FactSources *sources, Arena *arena,
                           const NetworkAddresses *addresses, Str name, Map *interfaces, Error *err)
{
    Str mac, mtu, flags;
    int64_t bytes;
    if (!read_attribute(sources, arena, name, "address", &mac, err) ||
        !read_attribute(sources, arena, name, "mtu", &mtu, err) ||
        !read_attribute(sources, arena, name, "flags", &flags, err)) {
        return false;
    }
    if (flags.len == 0) {
        return true; /* not an interface but a file, such as bonding_masters */
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

static bool read_interfaces(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Map *interfaces = map_new(arena, 0);
    *out = value_map(interfaces);
    Str *names;
    uint32_t count;
    if (!fact_list(&sources->kernel, arena, "/sys/class/net", &names, &count, err)) {
        return false;
    }
    if (count == 0) {
        return true;
    }
    NetworkAddresses addresses;
    if (!sources->addresses(arena, &addresses, err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!read_interface(sources, arena, &addresses, names[i], interfaces, err)) {
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

/* --- The default route ------------------------------------------------------------------------ */

enum {
    ROUTE_UP = 1,
    ROUTE_REJECT = 0x200,
};

static bool hex_number(Str text, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = ascii_hex_value(text.data[i]);
        if (digit < 0 || i >= 16) {
            return false;
        }
        *out = *out << 4 | (uint64_t)digit;
    }
    return text.len > 0;
}

typedef struct DefaultRoute {
    Str interface;
    uint64_t metric;
} DefaultRoute;

static void consider_route(DefaultRoute *best, Str interface, uint64_t flags, uint64_t metric)
{
    if ((flags & ROUTE_UP) != 0 && (flags & ROUTE_REJECT) == 0 && !str_eq_c(interface, "lo") &&
        (best->interface.len == 0 || metric < best->metric)) {
        *best = (DefaultRoute){ interface, metric };
    }
}

/* Columns: interface destination gateway flags refs use metric mask. */
static Str find_default_v4(Str table)
{
    DefaultRoute best = { 0 };
    for (Str line; str_split_next(&table, '\n', &line);) {
        Str fields[8];
        size_t count = 0;
        while (count < COUNT_OF(fields) && fact_next_field(&line, &fields[count])) {
            count++;
        }
        uint64_t destination, mask, flags, metric;
        if (count == COUNT_OF(fields) && hex_number(fields[1], &destination) &&
            hex_number(fields[7], &mask) && hex_number(fields[3], &flags) &&
            str_to_u64(fields[6], &metric) && destination == 0 && mask == 0) {
            consider_route(&best, fields[0], flags, metric);
        }
    }
    return best.interface;
}

/* Columns: destination length source length gateway metric refs use flags interface. */
static Str find_default_v6(Str table)
{
    DefaultRoute best = { 0 };
    for (Str line; str_split_next(&table, '\n', &line);) {
        Str fields[10];
        size_t count = 0;
        while (count < COUNT_OF(fields) && fact_next_field(&line, &fields[count])) {
            count++;
        }
        uint64_t flags, metric;
        if (count == COUNT_OF(fields) && str_eq_c(fields[1], "00") && str_eq_c(fields[3], "00") &&
            hex_number(fields[5], &metric) && hex_number(fields[8], &flags)) {
            consider_route(&best, fields[9], flags, metric);
        }
    }
    return best.interface;
}

static bool find_default(const FactSources *sources, Arena *arena, Str *out, Error *err)
{
    Str v4, v6;
    if (!fact_text(&sources->kernel, arena, "/proc/net/route", &v4, err) ||
        !fact_text(&sources->kernel, arena, "/proc/net/ipv6_route", &v6, err)) {
        return false;
    }
    *out = find_default_v4(v4);
    *out = out->len > 0 ? *out : find_default_v6(v6);
    return true;
}

static bool read_default_interface(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Str interface;
    if (!find_default(sources, arena, &interface, err)) {
        return false;
    }
    *out = fact_string(interface);
    return true;
}

const Fact fact_default_interface = {
    .name = "default_interface",
    .help = "The interface of the IPv4 default route, or of the IPv6 one if there is none.",
    .example = "\"eth0\"",
    .read = read_default_interface,
};

/* --- The address of this machine -------------------------------------------------------------- */

/* Whether other machines may be able to reach the address: it is neither loopback nor
 * link-local. */
static bool is_reachable(const NetworkAddress *address)
{
    return address->v6
               ? !str_eq_c(address->address, "::1") && !str_starts(address->address, STR("fe80:"))
               : !str_starts(address->address, STR("127.")) &&
                     !str_starts(address->address, STR("169.254."));
}

/* Prefers an address of the default interface, and falls back to the first one of any interface. */
static bool read_address(const FactSources *sources, Arena *arena, bool v6, Value *out, Error *err)
{
    Str interface, found = STR_EMPTY, *names;
    NetworkAddresses addresses;
    uint32_t count;
    *out = value_null();
    if (!fact_list(&sources->kernel, arena, "/sys/class/net", &names, &count, err)) {
        return false;
    }
    if (count == 0) {
        return true;
    }
    if (!find_default(sources, arena, &interface, err) ||
        !sources->addresses(arena, &addresses, err)) {
        return false;
    }
    bool is_default = false;
    for (uint32_t i = 0; i < addresses.count && !is_default; i++) {
        const NetworkAddress *address = &addresses.items[i];
        if (address->v6 == v6 && is_reachable(address)) {
            is_default = str_eq(address->interface, interface);
            found = is_default || found.len == 0 ? address->address : found;
        }
    }
    *out = fact_string(found);
    return true;
}

static bool read_ipv4(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    return read_address(sources, arena, false, out, err);
}

static bool read_ipv6(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    return read_address(sources, arena, true, out, err);
}

const Fact fact_ipv4 = {
    .name = "ipv4",
    .help = "The primary IPv4 address of the default interface, or of another one.",
    .example = "\"10.0.0.5\"",
    .read = read_ipv4,
};

const Fact fact_ipv6 = {
    .name = "ipv6",
    .help = "The primary IPv6 address of the default interface, or of another one.",
    .example = "\"2001:db8::5\"",
    .read = read_ipv6,
};
