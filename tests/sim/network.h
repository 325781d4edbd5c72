/* A network of connections that keep order, as TCP does, and fail as it does: they are cut, they
 * stall, they go silent without a word. For virtual loops; chance comes from the loop. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "sys/loop.h"

enum {
    LINK_NODE,
    LINK_SERVER,
    LINK_ENDS,

    LINK_QUEUE_MAX = 3000, /* bytes on their way; then an end cannot send */
    LINK_ALIVE_MS = 20000, /* after so much silence an end gives up */
};

typedef struct Link Link;

typedef struct LinkEvents {
    void (*message)(void *context, Str message);
    void (*writable)(void *context);
    void (*closed)(void *context, const Error *why); /* the link is gone for this end */
} LinkEvents;

Link *link_new(Loop *loop);
void link_attach(Link *link, unsigned end, const LinkEvents *events, void *context);
/* This end hears no more. `silent`: the other is not told, as when power fails. The link is gone for
 * this end; when both ends are, it is freed. */
void link_leave(Link *link, unsigned end, bool silent);
bool link_can_send(Link *link, unsigned end);
void link_send(Link *link, unsigned end, Str message);
void link_pause(Link *link, unsigned end, bool paused);

/* Both ends learn of it, each in its time; what is on its way may arrive before. */
void link_cut(Link *link);
/* From now on everything is swallowed, and nobody is told. */
void link_silence(Link *link);
/* Nothing gets through for a while, then everything. */
void link_stall(Link *link, int64_t ms);
