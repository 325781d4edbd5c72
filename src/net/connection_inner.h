/* For the listener: it counts connections until they are freed. Internal. */
#pragma once

#include "net/connection.h"

typedef struct ConnectionOwner {
    void (*gone)(void *owner, Connection *connection); /* within connection_free */
    void *owner;
} ConnectionOwner;

/* Told when the connection is freed; an empty owner tells nobody any more. */
void connection_set_owner(Connection *connection, ConnectionOwner owner);
/* For the owner's list. */
typedef struct ConnectionLink {
    Connection *next, *previous;
    int64_t since_ms;
    uint64_t origin;
    bool has_origin, opening;
} ConnectionLink;
ConnectionLink *connection_link(Connection *connection);
/* What its events are called with. */
void *connection_context(const Connection *connection);
