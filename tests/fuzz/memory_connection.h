/* Replaces src/net/connection.c in targets that test code on top of connections: the bytes of a
 * peer without sockets, TLS and the kernel, usually on a virtual loop. A target that lists
 * memory_connection.c among its parts gets every function of net/connection.h from here, with
 * the same contract.
 *
 * The target plays the peer. It sends bytes and the end of the stream, and accepts as many bytes
 * as it was given room for; the rest stays unsent. All consequences happen in later turns of the
 * loop. */
#pragma once

#include "net/connection.h"

/* It starts out connecting and becomes ready in a later turn. Bytes that the peer accepts go to
 * `on_accepted`, which may be NULL. */
typedef void MemoryAccepted(void *context, Str bytes);
Connection *memory_connection_new(const ConnectionOptions *options, MemoryAccepted *on_accepted,
                                  void *context);

/* Sends bytes from the peer, in chunks of at most so many bytes. The bytes are borrowed until they
 * were received. Call it only after the previous bytes were received. */
void memory_connection_send(Connection *connection, Str bytes, size_t chunk);
/* The peer sends no more: an orderly end after what it has sent. */
void memory_connection_hang_up(Connection *connection);
/* The peer accepts so many more bytes. */
void memory_connection_add_room(Connection *connection, size_t bytes);
/* The connection came by TCP, not by a Unix socket. */
void memory_connection_set_remote(Connection *connection);
/* Called from within connection_connect() with every connection it creates. NULL: not called. */
typedef void MemoryConnected(void *context, Connection *connection);
void memory_connection_on_connect(MemoryConnected *connected, void *context);
