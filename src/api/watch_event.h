/* Events of object watches, as sent to clients. Pure. */
#pragma once

#include "base/buf.h"

typedef enum WatchFormat {
    WATCH_NONE,
    WATCH_SSE,    /* text/event-stream */
    WATCH_NDJSON, /* a line of JSON each */
} WatchFormat;

typedef enum WatchType {
    WATCH_ADDED,
    WATCH_CHANGED,
    WATCH_DELETED,
    WATCH_TYPES, /* of objects; the others have none */
    WATCH_SYNCED = WATCH_TYPES,
    WATCH_RESYNC,
    WATCH_HEARTBEAT,
    WATCH_EVENTS /* that there are */
} WatchType;

const char *watch_type_name(WatchType type); /* "added" */

/* `object` is JSON on one line; empty: none. With `has_id` one can resume behind the event. */
void watch_event_put(Buf *out, WatchFormat format, WatchType type, int64_t revision, bool has_id,
                     Str object);
const char *watch_format_type(WatchFormat format);
