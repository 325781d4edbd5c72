#include "net/watch.h"

#include <stdlib.h>
#include <uv.h>

#include "base/bug.h"
#include "base/memory.h"

struct Watch {
    uv_poll_t poll;
    WatchReady *ready;
    void *context;
    int events; /* events that libuv polls for */
};

static void fired(uv_poll_t *poll, int status, int events)
{
    Watch *watch = poll->data;
    if (status < 0) {
        /* libuv has stopped polling, and may reuse the number for another socket. */
        watch->events = 0;
        events = UV_READABLE | UV_WRITABLE;
    }
    watch->ready(watch->context, (events & UV_READABLE) != 0, (events & UV_WRITABLE) != 0);
}

bool watch_new(Loop *loop, int descriptor, WatchReady *ready, void *context, Watch **out,
               Error *err)
{
    Watch *watch = memory_new(sizeof *watch);
    int result = uv_poll_init(loop_uv(loop), &watch->poll, descriptor);
    if (result != 0) {
        free(watch);
        return error_set(err, ERROR_OS, "cannot watch a socket: %s", uv_strerror(result));
    }
    watch->poll.data = watch;
    watch->ready = ready;
    watch->context = context;
    *out = watch;
    return true;
}

static void closed(uv_handle_t *handle)
{
    free(handle->data);
}

void watch_free(Watch *watch)
{
    if (watch != NULL) {
        uv_close((uv_handle_t *)&watch->poll, closed);
    }
}

void watch_set(Watch *watch, bool for_read, bool for_write)
{
    int events = (for_read ? UV_READABLE : 0) | (for_write ? UV_WRITABLE : 0);
    if (events == watch->events) {
        return;
    }
    watch->events = events;
    if (events == 0) {
        uv_poll_stop(&watch->poll);
    } else if (uv_poll_start(&watch->poll, events, fired) != 0) {
        BUG("libuv cannot poll a socket that it has accepted");
    }
}
