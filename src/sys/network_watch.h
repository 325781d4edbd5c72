/* Tells when an interface of this machine or an address of one comes, changes or goes. Loop
 * thread. */
#pragma once

#include "base/error.h"
#include "base/own.h"
#include "sys/loop.h"

typedef struct NetworkWatch NetworkWatch;

/* `changed` is called once for any number of changes that come together. Fails with ERROR_OS. */
MUST_CHECK bool network_watch_new(Loop *loop, LoopRun *changed, void *context, NetworkWatch **out,
                                  Error *err);
void network_watch_free(NetworkWatch *watch); /* NULL is fine */
DEFINE_AUTO(NetworkWatch, network_watch_free)
