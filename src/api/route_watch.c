/* /v1/watch: streams changes to the store, one line of JSON each.
 *
 * A batch is read from the store only after the peer has consumed the previous one, so a slow peer
 * holds one batch in memory and catches up from the history. */
#include "api/call.h"
#include "api/handlers.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "cluster/state.h"
#include "store/store.h"

/* --- Lines of events -------------------------------------------------------------------------- */

/* Events of a watch as lines of JSON: "eden.event/1". Pure.
 *
 *     start      changes after `revision` follow; `store` differs after a restore from backup
 *     put        a key has a value
 *     delete     a key was deleted
 *     progress   all changes up to `revision` have been sent
 *     resync     the history does not reach back to the start of the watch: the last line
 *     error      also the last line */

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

static void event_line_start(Buf *out, Str store, int64_t revision)
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

/* With `previous`, includes the previous value, or null. */
static void event_line_put(Buf *out, const StoreEvent *event, bool previous)
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

static void event_line_progress(Buf *out, int64_t revision)
{
    start(out, "progress");
    json_out_int(out, "revision", revision);
    end(out);
}

static void event_line_resync(Buf *out, int64_t compacted)
{
    start(out, "resync");
    json_out_int(out, "compacted", compacted);
    end(out);
}

static void event_line_error(Buf *out, const Error *err)
{
    start(out, "error");
    json_out_text(out, "code", str_from_c(error_kind_name(err->kind)));
    json_out_text(out, "message", str_from_c(err->text));
    end(out);
}

typedef struct StreamedWatch {
    ApiCall *call;
    StoreWatch *watch;
    StoreWatchSpec spec;
    Buf lines;
    bool needs_ack; /* the store waits for a batch to be acknowledged */
} StreamedWatch;

static void clear(StreamedWatch *stream)
{
    store_watch_cancel(TAKE(stream->watch));
    buf_clear(&stream->lines);
}

static void on_closed(void *context)
{
    clear(context);
}

static void on_drained(void *context)
{
    StreamedWatch *stream = context;
    if (stream->needs_ack) {
        stream->needs_ack = false;
        store_watch_ack(stream->watch);
    }
}

static void on_batch(void *context, const StoreBatch *batch)
{
    StreamedWatch *stream = context;
    ApiCall *call = stream->call;
    Buf *lines = &stream->lines;
    buf_clear(lines);
    if (batch->err != NULL) {
        event_line_error(lines, batch->err);
    } else if (batch->resync) {
        event_line_resync(lines, batch->compacted);
    } else if (batch->count == 0) {
        event_line_progress(lines, batch->revision);
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        event_line_put(lines, &batch->events[i], stream->spec.previous);
    }
    stream->needs_ack = stream->needs_ack || batch->count > 0;
    call_send_chunk(call, buf_str(lines));
    buf_clear(lines);
    if (batch->err != NULL || batch->resync) {
        clear(stream);
        call_end(call);
    }
}

/* Reads "key" or "prefix", and the start. */
static bool read_parameters(ApiCall *call, StoreWatchSpec *spec)
{
    Str key = call_parameter(call, "key"), prefix = call_parameter(call, "prefix");
    Str from = call_parameter(call, "from"), previous = call_parameter(call, "previous");
    if ((key.len > 0) == (prefix.len > 0)) {
        call_refuse(call, 400, "specify either 'key' or 'prefix'");
        return false;
    }
    if (key.len > STORE_KEY_MAX || prefix.len > STORE_KEY_MAX) {
        call_refuse(call, 413, "the key is too long");
        return false;
    }
    if (from.len > 0 && (!str_to_i64(from, &spec->from) || spec->from < 1)) {
        call_refuse(call, 400, "'from' must be a revision, 1 or higher");
        return false;
    }
    if (previous.len > 0 && !str_eq_c(previous, "true") && !str_eq_c(previous, "false")) {
        call_refuse(call, 400, "'previous' must be true or false");
        return false;
    }
    spec->key = key.len > 0 ? key : prefix;
    spec->end = key.len > 0 ? STR_EMPTY : store_prefix_end(&call->arena, prefix);
    spec->previous = str_eq_c(previous, "true");
    return true;
}

void watch_get(ApiCall *call)
{
    StreamedWatch *stream = ARENA_NEW(&call->arena, StreamedWatch);
    *stream = (StreamedWatch){ .call = call,
                               .spec = { .window = 1, .done = on_batch, .context = stream },
                               .lines = buf_make(BUF_UNLIMITED) };
    Error err;
    if (!read_parameters(call, &stream->spec) ||
        !call_begin(call, "application/jsonl", &(CallStream){ on_drained, on_closed, stream })) {
        return;
    }
    /* Determined here rather than by the store, so that the "start" event can contain it. */
    if (stream->spec.from == 0) {
        stream->spec.from = state_age(call_store(call)->state).revision + 1;
    }
    event_line_start(&stream->lines, call_settings(call)->store_id, stream->spec.from - 1);
    if (!store_watch(call_store(call)->store, &stream->spec, &stream->watch, &err)) {
        event_line_error(&stream->lines, &err);
    }
    call_send_chunk(call, buf_str(&stream->lines));
    if (stream->watch == NULL) {
        clear(stream);
        call_end(call);
    }
}
