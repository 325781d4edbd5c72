/* Resolves host names without blocking the loop. */
#pragma once

#include "net/address.h"
#include "sys/loop.h"

typedef struct Resolve Resolve;

enum {
    RESOLVE_MAX = 8 /* addresses of one name that are used */
};

/* What is said of a name that nobody knows; who tells people what to do looks for it. */
#define RESOLVE_UNKNOWN "host name not found"

/* On the loop's thread, in a later turn. No addresses: `err` says why. */
typedef void ResolveDone(void *context, const SocketAddress *addresses, uint32_t count,
                         const Error *err);

Resolve *resolve_start(Loop *loop, const char *name, uint16_t port, ResolveDone *done,
                       void *context);
/* `done` is not called any more. After `done` the handle is gone already. */
void resolve_cancel(Resolve *resolve);
