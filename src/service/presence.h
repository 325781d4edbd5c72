/* Which nodes are there: nodes/<node>/alive, a key with a lease that sessions keep alive. Nobody
 * else puts it; it goes with the node's record. Loop thread.
 *
 * A node has one seat, and one session sits on it: who comes later gets it, and who had it is told.
 * When nobody sits there, the key stays until the lease is over, so that a node that comes again at
 * once was never away; it then goes on with the same lease. */
#pragma once

#include "store/store.h"

typedef struct Presence Presence;
typedef struct Seat Seat;

/* The texts are borrowed until presence_free. */
Presence *presence_new(Loop *loop, Store *store, Str prefix, Str server);
/* All seats must have been left. NULL is fine. */
void presence_free(Presence *presence);
DEFINE_AUTO(Presence, presence_free)

typedef struct Sitter {
    Str node, boot_id, version; /* copied */
    /* Once at most, never from within a function of its own: somebody else has the seat now, here or
     * at another server, or there is no such node any more. The seat is not to be used any more. */
    void (*evicted)(void *context, const Error *why);
    void *context;
} Sitter;

Seat *presence_enter(Presence *presence, const Sitter *sitter);
/* Every few seconds, and at once: writes the key if that is not done yet, and keeps it. */
void presence_beat(Seat *seat);
void presence_leave(Seat *seat);
/* Whether the node was here, has left, and still counts as there; since when it is away. */
bool presence_is_left(const Presence *presence, Str node, int64_t *since_ms);
