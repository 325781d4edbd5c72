/* Readiness of a file descriptor, on the loop. The owner of the descriptor frees the watch before
 * closing it. */
#pragma once

#include "base/error.h"
#include "sys/loop.h"

typedef struct Watch Watch;

/* Called with the possible operations. A socket error is reported as both: the next call on the
 * socket returns it. */
typedef void WatchReady(void *context, bool can_read, bool can_write);

MUST_CHECK bool watch_new(Loop *loop, int descriptor, WatchReady *ready, void *context, Watch **out,
                          Error *err);
void watch_free(Watch *watch); /* NULL is allowed; may be called from `ready` */
/* Sets which events to wait for. */
void watch_set(Watch *watch, bool for_read, bool for_write);
