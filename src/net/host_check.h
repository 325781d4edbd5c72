/* Whether a request is meant for this server: checks what browsers send about the host they believe
 * to be on, and about the origin of the page. Pure.
 *
 * With DNS rebinding, a page from another site whose name suddenly points to this server still
 * sends its own name in Host. So only names of this server are accepted, and IP addresses only if
 * the connection came to that address. */
#pragma once

#include "base/str.h"

typedef struct HostRules {
    const Str *names; /* names and IP addresses; a port after them is ignored */
    uint32_t name_count;
    /* local address of the connection: "10.0.0.1:1338", "[::1]:1338"; may be empty */
    Str local_address;
} HostRules;

/* `host` is the value of Host or ":authority", with or without a port. The port is not compared,
 * because a proxy or tunnel may listen on another one. "localhost" is accepted if the connection
 * came over loopback. */
bool host_is_own(const HostRules *rules, Str host);

/* `origin` is the value of the Origin header. Whether it is the page of `host`, for which
 * host_is_own has returned true. */
bool origin_is_own(Str origin, Str host);
