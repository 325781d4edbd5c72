/* Internal to the listener, which counts connections until they are freed. */
#pragma once

#include "net/connection.h"

typedef struct ConnectionOwner {
    void (*freed)(void *owner, Connection *connection); /* called from connection_free */
    void *owner;
} ConnectionOwner;

/* The owner is notified when the connection is freed. A zeroed owner removes it. */
void connection_set_owner(Connection *connection, ConnectionOwner owner);
/* list link of the owner */
typedef struct ConnectionLink {
    Connection *next, *previous;
    int64_t since_ms;
    uint64_t origin;
    bool has_origin, opening;
} ConnectionLink;
ConnectionLink *connection_link(Connection *connection);
/* The context passed to the connection's callbacks. */
void *connection_context(const Connection *connection);
