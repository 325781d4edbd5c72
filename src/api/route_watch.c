/* /v1/watch: streams changes to the store, one line of JSON each.
 *
 * A batch is read from the store only after the peer has consumed the previous one, so a slow peer
 * holds one batch in memory and catches up from the history. */
#include "api/call.h"
#include "api/event_line.h"
#include "api/handlers.h"
#include "cluster/state.h"

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
