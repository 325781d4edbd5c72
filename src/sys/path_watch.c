#include "sys/path_watch.h"

#include <stdlib.h>
#include <uv.h>

#include "base/memory.h"
#include "sys/file_io.h"

struct PathWatch {
    uv_fs_event_t event;
    PathChanged *changed;
    void *context;
};

static void fired(uv_fs_event_t *event, const char *name, int events, int status)
{
    const PathWatch *watch = event->data;
    watch->changed(watch->context, status < 0 ? NULL : name);
}

static void closed(uv_handle_t *handle)
{
    free(handle->data);
}

bool path_watch_new(Loop *loop, const char *directory, PathChanged *changed, void *context,
                    PathWatch **out, Error *err)
{
    PathWatch *watch = memory_new(sizeof *watch);
    watch->changed = changed;
    watch->context = context;
    uv_fs_event_init(loop_uv(loop), &watch->event);
    watch->event.data = watch;
    int result = uv_fs_event_start(&watch->event, fired, directory, 0);
    if (result != 0) {
        uv_close((uv_handle_t *)&watch->event, closed);
        return file_error(err, -result, directory);
    }
    *out = watch;
    return true;
}

void path_watch_free(PathWatch *watch)
{
    if (watch != NULL) {
        uv_close((uv_handle_t *)&watch->event, closed);
    }
}
