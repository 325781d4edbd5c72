/* /v1/watch: changes of the store as they happen, one line of JSON each.
 *
 * The response lasts as long as the watch. A batch is read from the store only when the peer has
 * consumed the previous one, so a slow peer costs one batch and catches up from the history. */
#include "api/call.h"
#include "api/event_line.h"
#include "api/handlers.h"
#include "cluster/state.h"

typedef struct Watching {
    ApiCall *call;
    StoreWatch *watch;
    StoreWatchSpec spec;
    Buf lines;
    bool owes; /* the store waits for a batch to be acknowledged */
} Watching;

static void clear(Watching *watching)
{
    store_watch_cancel(TAKE(watching->watch));
    buf_clear(&watching->lines);
}

static void gone(void *context)
{
    clear(context);
}

static void drained(void *context)
{
    Watching *watching = context;
    if (watching->owes) {
        watching->owes = false;
        store_watch_ack(watching->watch);
    }
}

static void told(void *context, const StoreBatch *batch)
{
    Watching *watching = context;
    ApiCall *call = watching->call;
    Buf *lines = &watching->lines;
    buf_clear(lines);
    if (batch->err != NULL) {
        event_line_error(lines, batch->err);
    } else if (batch->resync) {
        event_line_resync(lines, batch->compacted);
    } else if (batch->count == 0) {
        event_line_progress(lines, batch->revision);
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        event_line_put(lines, &batch->events[i], watching->spec.previous);
    }
    watching->owes = watching->owes || batch->count > 0;
    call_piece(call, buf_str(lines));
    buf_clear(lines);
    if (batch->err != NULL || batch->resync) {
        clear(watching);
        call_end(call);
    }
}

/* Reads "key" or "prefix", and the start. */
static bool read_wish(ApiCall *call, StoreWatchSpec *spec)
{
    Str key = call_parameter(call, "key"), prefix = call_parameter(call, "prefix");
    Str from = call_parameter(call, "from"), previous = call_parameter(call, "previous");
    if ((key.len > 0) == (prefix.len > 0)) {
        call_refuse(call, 400, "give either 'key' or 'prefix'");
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
    Watching *watching = ARENA_NEW(&call->arena, Watching);
    *watching = (Watching){ .call = call,
                            .spec = { .window = 1, .done = told, .context = watching },
                            .lines = buf_make(BUF_UNLIMITED) };
    Error err;
    if (!read_wish(call, &watching->spec) ||
        !call_begin(call, "application/jsonl", &(CallPieces){ drained, gone, watching })) {
        return;
    }
    /* Determined now rather than when the store starts, so that the peer knows the start. */
    if (watching->spec.from == 0) {
        watching->spec.from = state_age(call_store(call)->state).revision + 1;
    }
    event_line_start(&watching->lines, call_settings(call)->store_id, watching->spec.from - 1);
    if (!store_watch(call_store(call)->store, &watching->spec, &watching->watch, &err)) {
        event_line_error(&watching->lines, &err);
    }
    call_piece(call, buf_str(&watching->lines));
    if (watching->watch == NULL) {
        clear(watching);
        call_end(call);
    }
}
