/* Resolves host names without blocking the loop. */
#pragma once

#include "net/address.h"
#include "sys/loop.h"

typedef struct Resolve Resolve;

enum {
    RESOLVE_MAX = 8 /* maximum number of addresses used per name */
};

/* Text of the error for an unknown name; callers match it to add a hint. */
#define RESOLVE_UNKNOWN "host name not found"

/* Called on the loop thread, in a later iteration. With no addresses, `err` has the reason. */
typedef void ResolveDone(void *context, const SocketAddress *addresses, uint32_t count,
                         const Error *err);

Resolve *resolve_start(Loop *loop, const char *name, uint16_t port, ResolveDone *done,
                       void *context);
/* Afterwards `done` is not called. The handle is invalid after `done` or this function. */
void resolve_cancel(Resolve *resolve);
