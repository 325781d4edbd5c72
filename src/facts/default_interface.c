/* The interface that leads to the rest of the world. */
#include "facts/fact.h"

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

typedef struct Best {
    Str interface;
    uint64_t metric;
} Best;

static void offer(Best *best, Str interface, uint64_t flags, uint64_t metric)
{
    if ((flags & ROUTE_UP) != 0 && (flags & ROUTE_REJECT) == 0 && !str_eq_c(interface, "lo") &&
        (best->interface.len == 0 || metric < best->metric)) {
        *best = (Best){ interface, metric };
    }
}

/* Lines of: interface destination gateway flags refs use metric mask. */
static Str find_v4(Str table)
{
    Best best = { 0 };
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
            offer(&best, fields[0], flags, metric);
        }
    }
    return best.interface;
}

/* Lines of: destination length source length gateway metric refs use flags interface. */
static Str find_v6(Str table)
{
    Best best = { 0 };
    for (Str line; str_split_next(&table, '\n', &line);) {
        Str fields[10];
        size_t count = 0;
        while (count < COUNT_OF(fields) && fact_next_field(&line, &fields[count])) {
            count++;
        }
        uint64_t flags, metric;
        if (count == COUNT_OF(fields) && str_eq_c(fields[1], "00") && str_eq_c(fields[3], "00") &&
            hex_number(fields[5], &metric) && hex_number(fields[8], &flags)) {
            offer(&best, fields[9], flags, metric);
        }
    }
    return best.interface;
}

static bool read_default_interface(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Str v4, v6;
    if (!fact_text(&world->kernel, arena, "/proc/net/route", &v4, err) ||
        !fact_text(&world->kernel, arena, "/proc/net/ipv6_route", &v6, err)) {
        return false;
    }
    Str interface = find_v4(v4);
    *out = fact_string(interface.len > 0 ? interface : find_v6(v6));
    return true;
}

const Fact fact_default_interface = {
    .name = "default_interface",
    .help = "The interface of the default route, of IPv4 or else of IPv6.",
    .example = "\"eth0\"",
    .read = read_default_interface,
};
