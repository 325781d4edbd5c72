/* GET /v1/runs/<name>/logs: the events of a run, one line of JSON each; with `follow` also those
 * that are still to come, until the run has ended.
 *
 * With `from`, an offset, the stream can be continued after it was interrupted. Then there are also
 * lines {"event":"position","from":N}: the next request continues after what precedes them. They
 * are sent at least every KEEPALIVE_MS. */
#include "api/call.h"
#include "api/handlers.h"
#include "base/log.h"
#include "cluster/state.h"
#include "fleet/run_logs.h"
#include "fleet/runs.h"

enum {
    CHUNK_BYTES = 256 << 10,
    KEEPALIVE_MS = 15 * 1000,
};

typedef struct LogStream {
    ApiCall *call;
    Loop *loop;
    RunLogReader *reader;
    Str run;
    bool follows, has_positions;
    bool has_sent;
    bool is_sending; /* a chunk is in flight */
    State *state;    /* NULL: it does not follow the run */
    StateView view;  /* of runs: the stream ends with its run */
    LoopTask check;
    LoopTimer keepalive;
} LogStream;

/* Must be called before the call ends, which frees the stream. */
static void on_closed(void *context)
{
    LogStream *stream = context;
    run_log_reader_free(TAKE(stream->reader));
    loop_task_stop(stream->loop, &stream->check);
    loop_timer_stop(&stream->keepalive);
    if (stream->state != NULL) {
        state_detach(TAKE(stream->state), &stream->view);
    }
}

/* Whether more events may follow. A run may also have been deleted. */
static bool is_open(const LogStream *stream)
{
    const RunEntry *run = fleet_runs_find(call_settings(stream->call)->runs, stream->run);
    return stream->follows && run != NULL && run->record.state != RUN_ENDED;
}

static void send_chunk(LogStream *stream, Buf *chunk)
{
    if (stream->has_positions) {
        buf_put_format(chunk, "{\"event\":\"position\",\"from\":%lld}\n",
                       (long long)run_log_reader_offset(stream->reader));
        loop_timer_start(&stream->keepalive, KEEPALIVE_MS);
    }
    stream->is_sending = stream->has_sent = true;
    call_send_chunk(stream->call, buf_str(chunk));
}

static void send_next(LogStream *stream)
{
    ApiCall *call = stream->call;
    AUTO_CLEAR(Buf) chunk = buf_make(BUF_UNLIMITED);
    bool is_end;
    Error err;
    if (!run_log_reader_next(stream->reader, CHUNK_BYTES, &chunk, &is_end, &err)) {
        log_error("cannot read the log of a run", LOG_C("error", err.text));
        on_closed(stream);
        call_abort(call);
    } else if (chunk.len > 0) {
        send_chunk(stream, &chunk);
    } else if (!is_end) {
        loop_defer(stream->loop, &stream->check); /* a filter omits most of the events */
    } else if (!is_open(stream)) {
        on_closed(stream);
        call_end(call);
    } else if (stream->has_positions && !stream->has_sent) {
        send_chunk(stream, &chunk); /* tells the caller that the stream has begun */
    }
}

static void on_drained(void *context)
{
    LogStream *stream = context;
    stream->is_sending = false;
    send_next(stream);
}

/* Deferred, because the stream may be freed here. */
static void check_stream(void *context)
{
    LogStream *stream = context;
    if (!stream->is_sending) {
        send_next(stream);
    }
}

static void on_quiet(void *context)
{
    LogStream *stream = context;
    AUTO_CLEAR(Buf) chunk = buf_make(BUF_UNLIMITED);
    if (!stream->is_sending) {
        send_chunk(stream, &chunk);
    }
}

static void on_grown(void *context)
{
    LogStream *stream = context;
    loop_defer(stream->loop, &stream->check);
}

static void run_changed(void *context, const StateEntry *now, const StateEntry *before)
{
    on_grown(context);
}

static void follow(LogStream *stream, State *state)
{
    stream->state = state;
    stream->view =
        (StateView){ .kinds = STATE_KIND(KEY_RUN), .changed = run_changed, .context = stream };
    state_attach(state, &stream->view);
    run_log_reader_follow(stream->reader, on_grown, stream);
}

void run_logs_get(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    const RunEntry *run = run_of_call(call);
    int64_t from = 0;
    Error err;
    if (run == NULL) {
        return;
    }
    Str from_text = call_parameter(call, "from");
    if (from_text.len > 0 && (!str_to_i64(from_text, &from) || from < 0)) {
        error_set(&err, ERROR_INVALID, "'from' must be the number of a position");
        call_fail(call, &err);
        return;
    }
    LogStream *stream = ARENA_NEW(&call->arena, LogStream);
    *stream = (LogStream){ .call = call,
                           .loop = settings->cluster_store.loop,
                           .run = arena_copy(&call->arena, run->id),
                           .follows = str_eq_c(call_parameter(call, "follow"), "true"),
                           .has_positions = from_text.len > 0 };
    loop_timer_init(&stream->keepalive, stream->loop, on_quiet, stream);
    if (settings->run_logs == NULL) {
        call_refuse(call, 503, "this server does not store run logs");
    } else if (!run_log_read(settings->run_logs, run->id, call_parameter(call, "node"),
                             call_parameter(call, "step"), &stream->reader, &err)) {
        call_fail(call, &err);
    } else if (!call_begin(call, "application/x-ndjson",
                           &(CallStream){ on_drained, on_closed, stream })) {
        run_log_reader_free(stream->reader);
    } else {
        loop_task_init(&stream->check, check_stream, stream);
        run_log_reader_start(stream->reader, from);
        if (stream->has_positions && stream->follows) {
            loop_timer_start(&stream->keepalive, KEEPALIVE_MS);
        }
        if (stream->follows) {
            follow(stream, settings->cluster_store.state);
        }
        send_next(stream);
    }
}
