/* Whether a request is meant for this server: checks what browsers send about
 * the host they believe to be on, and about the origin of the page. Pure.
 *
 * With DNS rebinding, a page of another site whose name suddenly points to
 * this server still sends its own name in Host. So only names of this server
 * are accepted, and IP addresses only if the connection came to that address. */
#pragma once

#include "base/str.h"

typedef struct HostRules {
    const Str
        *names; /* names and IP addresses; what stands behind them as a port is not looked at */
    uint32_t name_count;
    Str own; /* where the connection ends on this side: "10.0.0.1:1338", "[::1]:1338"; may be empty */
} HostRules;

/* `host`: of Host or ":authority", with or without a port, which may be another one than the server's:
 * somebody may forward it. "localhost" is meant for this server when the connection came by loopback. */
bool host_is_own(const HostRules *rules, Str host);

/* `origin`: of the field of that name. Whether it is the page of `host`, of which host_is_own is true. */
bool origin_is_own(Str origin, Str host);
