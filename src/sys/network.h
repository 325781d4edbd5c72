/* The network interfaces of this machine: their IP addresses, and a watch that reports changes. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"
#include "sys/loop.h"

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

typedef struct NetworkWatch NetworkWatch;

/* Calls `changed` when a network interface or an address is added, changed or removed: once for
 * any number of simultaneous changes. Loop thread. Fails with ERROR_OS. */
MUST_CHECK bool network_watch_new(Loop *loop, LoopRun *changed, void *context, NetworkWatch **out,
                                  Error *err);
void network_watch_free(NetworkWatch *watch); /* NULL is allowed */
DEFINE_AUTO(NetworkWatch, network_watch_free)
