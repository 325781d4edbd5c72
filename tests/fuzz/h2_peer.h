/* A peer that speaks HTTP/2 to a server over an in-memory connection, on a virtual loop.
 *
 * The first byte of an input selects: whether the connection preface is sent before the rest,
 * whether the input arrives at once, in two parts or in small chunks, how much time passes between
 * the parts, how much of the responses the peer reads, and whether it disconnects at the end or
 * stays silent. */
#pragma once

#include "memory_connection.h"

enum {
    H2_PEER_OWN = 4 /* the target-specific bit of the first byte */
};

typedef struct H2Peer {
    Loop *loop;
    Connection *connection;
    bool (*is_connected)(void *context); /* the server still has the connection */
    void (*between)(void *context);      /* called between two parts; NULL: nothing */
    void *context;
} H2Peer;

/* A connection for a server to adopt. */
Connection *h2_peer_connect(Loop *loop, MemoryAccepted *on_accepted, void *context);
/* Runs everything pending, and everything that becomes due meanwhile. */
void h2_peer_run_pending(Loop *loop, int64_t ms);
/* From the first byte until the server has released the connection; `data` has at least one
 * byte. */
void h2_peer_run(const H2Peer *peer, const uint8_t *data, size_t size);
