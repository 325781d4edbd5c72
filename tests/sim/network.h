/* A network of connections that, like TCP, keep messages in order, and can be cut, stall, or go
 * silent without notice. For virtual loops, which also provide the random numbers. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "sys/loop.h"

enum {
    LINK_NODE,
    LINK_SERVER,
    LINK_ENDS,

    LINK_QUEUE_MAX = 3000, /* bytes in transit beyond which an end cannot send */
    LINK_ALIVE_MS = 20000, /* silence after which an end closes the connection */
};

typedef struct Link Link;

typedef struct LinkEvents {
    void (*message)(void *context, Str message);
    void (*writable)(void *context);
    void (*closed)(void *context, const Error *why); /* the link is no longer valid for this end */
} LinkEvents;

Link *link_new(Loop *loop);
void link_attach(Link *link, unsigned end, const LinkEvents *events, void *context);
/* Closes this end. `silent`: the other end is not notified, as after a power failure. The link is
 * no longer valid for this end; it is freed when both ends are closed. */
void link_leave(Link *link, unsigned end, bool silent);
bool link_can_send(Link *link, unsigned end);
void link_send(Link *link, unsigned end, Str message);
void link_pause(Link *link, unsigned end, bool paused);

/* Both ends are notified, each after a delay; messages in transit may arrive first. */
void link_cut(Link *link);
/* Drops all messages from now on, without notification. */
void link_silence(Link *link);
/* Delays all messages for a while, then delivers them. */
void link_stall(Link *link, int64_t ms);
