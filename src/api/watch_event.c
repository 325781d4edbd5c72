#include "api/watch_event.h"

static const char *const names[] = {
    [WATCH_ADDED] = "added",   [WATCH_CHANGED] = "changed", [WATCH_DELETED] = "deleted",
    [WATCH_SYNCED] = "synced", [WATCH_RESYNC] = "resync",   [WATCH_HEARTBEAT] = "heartbeat",
};

const char *watch_type_name(WatchType type)
{
    return names[type];
}

const char *watch_format_type(WatchFormat format)
{
    return format == WATCH_SSE ? "text/event-stream" : "application/x-ndjson";
}

static void put_json(Buf *out, WatchType type, int64_t revision, Str object)
{
    buf_put_format(out, "{\"type\":\"%s\",\"revision\":%lld", names[type], (long long)revision);
    if (object.len > 0) {
        buf_put_c(out, ",\"object\":");
        buf_put(out, object);
    }
    buf_put_c(out, "}\n");
}

void watch_event_put(Buf *out, WatchFormat format, WatchType type, int64_t revision, bool has_id,
                     Str object)
{
    if (format == WATCH_NDJSON) {
        put_json(out, type, revision, object);
        return;
    }
    if (type == WATCH_HEARTBEAT) {
        buf_put_c(out, ":\n");
    }
    if (has_id) {
        buf_put_format(out, "id: %lld\n", (long long)revision);
    }
    /* Without data it is not an event for browsers: a heartbeat only updates the id. */
    if (type != WATCH_HEARTBEAT) {
        buf_put_format(out, "event: %s\ndata: ", names[type]);
        put_json(out, type, revision, object);
    }
    buf_put_char(out, '\n');
}
