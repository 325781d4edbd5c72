/* Whether a request from anywhere is meant for this server: what browsers say of where they believe
 * to be, and of whose page asks. Pure.
 *
 * A page of somebody else whose name suddenly leads to this server (DNS rebinding) still says its own
 * name in Host. So only names that this server has are taken, and addresses only when the connection
 * came to that very one. */
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
