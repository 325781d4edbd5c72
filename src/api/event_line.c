#include "api/event_line.h"

#include "base/json_out.h"

static void start(Buf *out, const char *event)
{
    json_out_start(out, "eden.event/1");
    json_out_text(out, "event", str_from_c(event));
}

static void end(Buf *out)
{
    json_out_close(out, '}');
    buf_put_char(out, '\n');
}

void event_line_start(Buf *out, Str store, int64_t revision)
{
    start(out, "start");
    json_out_text(out, "store", store);
    json_out_int(out, "revision", revision);
    end(out);
}

static void put_state(Buf *out, const StoreKv *kv)
{
    json_out_bytes(out, "value", kv->value);
    json_out_int(out, "revision", kv->mod_revision);
    json_out_int(out, "create_revision", kv->create_revision);
    json_out_int(out, "version", kv->version);
    json_out_int(out, "lease", kv->lease);
}

void event_line_put(Buf *out, const StoreEvent *event, bool previous)
{
    start(out, event->deleted ? "delete" : "put");
    json_out_bytes(out, "key", event->kv.key);
    if (event->deleted) {
        json_out_int(out, "revision", event->kv.mod_revision);
    } else {
        put_state(out, &event->kv);
    }
    if (previous && event->has_previous) {
        json_out_open(out, "previous", '{');
        put_state(out, &event->previous);
        json_out_close(out, '}');
    } else if (previous) {
        json_out_null(out, "previous");
    }
    end(out);
}

void event_line_progress(Buf *out, int64_t revision)
{
    start(out, "progress");
    json_out_int(out, "revision", revision);
    end(out);
}

void event_line_resync(Buf *out, int64_t compacted)
{
    start(out, "resync");
    json_out_int(out, "compacted", compacted);
    end(out);
}

void event_line_error(Buf *out, const Error *err)
{
    start(out, "error");
    json_out_text(out, "code", str_from_c(error_kind_name(err->kind)));
    json_out_text(out, "message", str_from_c(err->text));
    end(out);
}
