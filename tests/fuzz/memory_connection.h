/* Stands in for src/net/connection.c in targets whose subject speaks on a connection: the bytes of a
 * peer without sockets, TLS and the kernel, mostly on a virtual loop. A target that lists memory_connection.c
 * among its parts gets every function of net/connection.h from here; what they promise there holds.
 *
 * The peer is the target. It says bytes and that it says no more, and takes so many bytes of what it
 * is told as it was given room for; the rest is unsent. All that happens because of it happens in
 * later turns of the loop. */
#pragma once

#include "net/connection.h"

/* It is opening and becomes ready in a turn of its own. What the peer takes goes to `taken`, which
 * may be NULL. */
typedef void MemoryTaken(void *context, Str bytes);
Connection *memory_connection_new(const ConnectionOptions *options, MemoryTaken *taken,
                                  void *context);

/* What comes from the peer, in pieces of at most so many bytes. The bytes are borrowed until they
 * were received. Only when what it said before was. */
void memory_connection_say(Connection *connection, Str bytes, size_t piece);
/* It says no more: an end in order, behind what it has said. */
void memory_connection_hang_up(Connection *connection);
/* It takes so many more bytes. */
void memory_connection_give_room(Connection *connection, size_t bytes);
/* It came by TCP, not by a Unix socket. */
void memory_connection_come_from_afar(Connection *connection);
/* Who is called with every connection that connection_connect() makes, within it. NULL: nobody. */
typedef void MemoryConnected(void *context, Connection *connection);
void memory_connection_on_connect(MemoryConnected *connected, void *context);
