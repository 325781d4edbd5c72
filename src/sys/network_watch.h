/* Reports when a network interface or an address is added, changed or removed. Loop thread. */
#pragma once

#include "base/error.h"
#include "base/own.h"
#include "sys/loop.h"

typedef struct NetworkWatch NetworkWatch;

/* `changed` is called once for any number of simultaneous changes. Fails with ERROR_OS. */
MUST_CHECK bool network_watch_new(Loop *loop, LoopRun *changed, void *context, NetworkWatch **out,
                                  Error *err);
void network_watch_free(NetworkWatch *watch); /* NULL is allowed */
DEFINE_AUTO(NetworkWatch, network_watch_free)
