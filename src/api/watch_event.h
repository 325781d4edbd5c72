/* Events of object watches, as sent to clients. Pure. */
#pragma once

#include "base/buf.h"

typedef enum WatchFormat {
    WATCH_NONE,
    WATCH_SSE,    /* text/event-stream */
    WATCH_NDJSON, /* one line of JSON each */
} WatchFormat;

typedef enum WatchType {
    WATCH_ADDED,
    WATCH_CHANGED,
    WATCH_DELETED,
    WATCH_TYPES, /* types with an object; the others have none */
    WATCH_SYNCED = WATCH_TYPES,
    WATCH_RESYNC,
    WATCH_HEARTBEAT,
    WATCH_EVENTS /* number of types */
} WatchType;

const char *watch_type_name(WatchType type); /* "added" */

/* `object` is JSON on one line; may be empty. With `has_id`, clients can resume after the event. */
void watch_event_put(Buf *out, WatchFormat format, WatchType type, int64_t revision, bool has_id,
                     Str object);
const char *watch_format_type(WatchFormat format);
