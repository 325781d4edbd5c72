/* Passes connections on, byte by byte: those that come to a port of this machine's loopback go to an
 * address. The port is where it was opened, also when the process has gone to another network since;
 * the address is looked for in that one. Loop thread. */
#pragma once

#include "net/address.h"
#include "sys/loop.h"

typedef struct Relay Relay;

enum {
    /* Each takes two descriptors, of the 1024 that a process usually has. Further ones wait in the
     * kernel. */
    RELAY_CONNECTIONS_MAX = 400,
};

/* Listens on 127.0.0.1, and nothing is accepted yet; port 0 is any that is free. ERROR_CONFLICT when
 * the port is taken. */
MUST_CHECK bool relay_open(Loop *loop, uint16_t port, Relay **out, Error *err);
/* All connections end. NULL is allowed. */
void relay_close(Relay *relay);
DEFINE_AUTO(Relay, relay_close)

uint16_t relay_port(const Relay *relay);
/* An IP address. */
MUST_CHECK bool relay_start(Relay *relay, const Address *target, Error *err);
