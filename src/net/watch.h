/* Readiness of a descriptor, on the loop. The descriptor stays its owner's, who frees the watch
 * before closing it. */
#pragma once

#include "base/error.h"
#include "sys/loop.h"

typedef struct Watch Watch;

/* Called with what is possible now. An error of the socket shows as both: the next call on it tells
 * what it is. */
typedef void WatchReady(void *context, bool can_read, bool can_write);

MUST_CHECK bool watch_new(Loop *loop, int descriptor, WatchReady *ready, void *context, Watch **out,
                          Error *err);
void watch_free(Watch *watch); /* NULL is allowed; also from within `ready` */
/* What to look for from now on. */
void watch_set(Watch *watch, bool for_read, bool for_write);
