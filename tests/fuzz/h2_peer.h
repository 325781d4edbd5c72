/* A peer that speaks HTTP/2 to a server on a connection in memory, on a virtual loop.
 *
 * The first byte of an input says how: whether the greeting stands before the rest, whether that comes
 * at once, in two parts or in small pieces, how much time passes between the parts, how much of the
 * answers it takes, and whether it leaves at the end or stays and says nothing more. */
#pragma once

#include "memory_connection.h"

enum {
    H2_PEER_OWN = 4 /* the bit of the first byte that is the target's */
};

typedef struct H2Peer {
    Loop *loop;
    Connection *connection;
    bool (*is_there)(void *context); /* the server has the connection still */
    void (*between)(void *context);  /* what else happens between two parts; NULL: nothing */
    void *context;
} H2Peer;

/* A connection for a server to take over. */
Connection *h2_peer_connect(Loop *loop, MemoryTaken *taken, void *context);
/* All that there is to do, and what becomes due meanwhile. */
void h2_peer_pass(Loop *loop, int64_t ms);
/* From its first word until the server has let go of it; `data` has a byte at least. */
void h2_peer_run(const H2Peer *peer, const uint8_t *data, size_t size);
