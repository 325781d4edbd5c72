/* The addresses of this machine's interfaces, as the kernel has them. */
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

/* In the order of the kernel: an interface's first address is its primary one. */
MUST_CHECK bool network_addresses(Arena *arena, NetworkAddresses *out, Error *err);
