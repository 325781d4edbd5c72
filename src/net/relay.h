/* Forwards TCP connections from a loopback port of this machine to an address. The port stays in
 * the network namespace in which it was opened, even if the process has entered another one since;
 * the address is connected to in the current namespace. Loop thread only. */
#pragma once

#include "net/address.h"
#include "sys/loop.h"

typedef struct Relay Relay;

enum {
    /* Each uses two of the 1024 file descriptors that a process usually has. Further connections
     * wait in the kernel. */
    RELAY_CONNECTIONS_MAX = 400,
};

/* Listens on 127.0.0.1 but accepts nothing yet. Port 0 means any free port. Fails with
 * ERROR_CONFLICT if the port is in use. */
MUST_CHECK bool relay_open(Loop *loop, uint16_t port, Relay **out, Error *err);
/* Closes all connections. NULL is allowed. */
void relay_close(Relay *relay);
DEFINE_AUTO(Relay, relay_close)

uint16_t relay_port(const Relay *relay);
/* `target` must be an IP address. */
MUST_CHECK bool relay_start(Relay *relay, const Address *target, Error *err);
