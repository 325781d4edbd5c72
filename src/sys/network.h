/* The IP addresses of this machine's network interfaces. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

typedef struct NetworkAddress {
    Str interface;
    Str address; /* "10.0.0.5", "fe80::1" without a zone */
    bool v6;
    uint8_t prefix; /* bits */
} NetworkAddress;

typedef struct NetworkAddresses {
    NetworkAddress *items;
    uint32_t count;
} NetworkAddresses;

/* In the kernel's order: the first address of an interface is its primary one. */
MUST_CHECK bool network_addresses(Arena *arena, NetworkAddresses *out, Error *err);
