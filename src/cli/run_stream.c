/* Reads the stream of a run's events and reconnects. The server's "position" lines tell where to
 * continue; the numbers of events show which of them were already delivered. */
#include "cli/run_stream.h"

#include "base/str_map.h"
#include "cli/fleet_run.h"
#include "cli/kind_print.h"
#include "cli/reconnect.h"

enum {
    LINE_LONGEST = 1 << 20, /* maximum length of a line */
    SILENCE_MS = 60 * 1000, /* an idle server sends its position every 15 seconds */
    NUMBER_DIGITS = 18,
};

/* --- Events that were seen ------------------------------------------------------------------- */

void seen_events_init(SeenEvents *seen)
{
    arena_init(&seen->arena, ARENA_UNLIMITED);
    str_map_init(&seen->nodes, &seen->arena);
}

void seen_events_clear(SeenEvents *seen)
{
    arena_clear(&seen->arena);
}

/* Reads a number at the start of the text; returns 0 if there is none. */
static uint64_t number_at(Str text)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len && i < NUMBER_DIGITS && ascii_is_digit(text.data[i]); i++) {
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    }
    return number;
}

/* Lines of a log start with {"node":"web1","n":7, and names of nodes need no escapes. */
bool seen_events_add(SeenEvents *seen, Str line)
{
    const Str start = STR("{\"node\":\""), middle = STR("\",\"n\":");
    size_t end = str_find(line, middle, start.len);
    if (!str_starts(line, start) || end == STR_NOT_FOUND) {
        return true;
    }
    Str node = str_slice(line, start.len, end);
    uintptr_t n = number_at(str_from_offset(line, end + middle.len));
    uintptr_t last = (uintptr_t)str_map_find(&seen->nodes, node);
    if (n <= last) {
        return n == 0;
    }
    if (last == 0) {
        node = arena_copy(&seen->arena, node);
    }
    str_map_put(&seen->nodes, node, (void *)n);
    return true;
}

/* --- Lines ----------------------------------------------------------------------------------- */

typedef struct Streaming {
    Invocation *invocation;
    const RunStream *options;
    Reconnect reconnect;
    SeenEvents seen;
    Buf line;      /* an incomplete line */
    uint64_t from; /* position to continue at */
    bool is_stopped, is_damaged;
} Streaming;

/* {"event":"position","from":N} */
static bool read_position(Streaming *streaming, Str line)
{
    const Str start = STR("{\"event\":\"position\",\"from\":");
    if (!str_starts(line, start)) {
        return false;
    }
    streaming->from = number_at(str_from_offset(line, start.len));
    return true;
}

static bool take(void *context, Str bytes)
{
    Streaming *streaming = context;
    const RunStream *options = streaming->options;
    while (bytes.len > 0) {
        size_t end = str_find(bytes, STR("\n"), 0);
        buf_put(&streaming->line, str_slice(bytes, 0, end));
        if (streaming->line.overflow) {
            streaming->is_damaged = true;
            return false;
        }
        if (end == STR_NOT_FOUND) {
            break;
        }
        Str line = buf_str(&streaming->line);
        if (!read_position(streaming, line) && seen_events_add(&streaming->seen, line)) {
            options->on_line(options->context, line);
        }
        buf_reset(&streaming->line);
        bytes = str_from_offset(bytes, end + 1);
    }
    streaming->is_stopped = !options->on_batch(options->context);
    return !streaming->is_stopped;
}

static void on_head(void *context, const Http1Head *head)
{
    Streaming *streaming = context;
    if (head->status < 300) {
        bool was_disconnected = streaming->reconnect.is_disconnected;
        reconnect_done(&streaming->reconnect);
        if (was_disconnected && streaming->options->on_resume != NULL) {
            streaming->options->on_resume(streaming->options->context);
        }
    }
}

static void on_tick(void *context)
{
    const Streaming *streaming = context;
    streaming->options->on_tick(streaming->options->context);
}

/* --- Requests -------------------------------------------------------------------------------- */

static Str target(const Streaming *streaming, Arena *arena)
{
    const RunStream *options = streaming->options;
    Str text = cluster_target_with(arena, "/v1/runs/", options->run,
                                   options->follows ? "/logs?follow=true" : "/logs?follow=false");
    text = arena_format(arena, "%" STR_FMT "&from=%llu", STR_ARG(text),
                        (unsigned long long)streaming->from);
    if (options->node.len > 0) {
        text = arena_format(arena, "%" STR_FMT "%" STR_FMT, STR_ARG(text),
                            STR_ARG(cluster_target(arena, "&node=", options->node)));
    }
    return options->step.len > 0
               ? arena_format(arena, "%" STR_FMT "%" STR_FMT, STR_ARG(text),
                              STR_ARG(cluster_target(arena, "&step=", options->step)))
               : text;
}

/* Whether the run has ended. The end of the stream is not sufficient: a server that stops ends its
 * streams too. */
static bool has_ended(const Streaming *streaming, Invocation *quiet, ClusterRefusal *refusal,
                      bool *out, Error *err)
{
    ClusterResponse response;
    Value run;
    refusal->target = cluster_target(quiet->arena, "/v1/runs/", streaming->options->run);
    refusal->responded = cluster_exchange_at(
        quiet, &streaming->reconnect.endpoint,
        &(ClusterRequest){ .method = "GET", .target = refusal->target }, NULL, &response, err);
    if (!refusal->responded || !cluster_response_read(quiet->arena, &response, &run, err)) {
        return false;
    }
    *out = fleet_run_has_ended(run);
    return true;
}

/* Reads one connection. Returns false if it failed; `*is_over`: no more events follow. */
static bool connect_once(Streaming *streaming, Invocation *quiet, ClusterRefusal *refusal,
                         bool *is_over, Error *err)
{
    const RunStream *options = streaming->options;
    ClusterStreamHandler handler = {
        .on_chunk = take, .on_head = on_head, .context = streaming, .idle_timeout_ms = SILENCE_MS
    };
    ClusterRequest request = { .method = "GET", .target = target(streaming, quiet->arena) };
    buf_reset(&streaming->line);
    if (!reconnect_check(&streaming->reconnect, err)) {
        refusal->responded = err->kind == ERROR_CONFLICT;
        return false;
    }
    if (options->on_tick != NULL) {
        handler.on_tick = on_tick;
        handler.tick_ms = options->tick_ms;
    }
    if (!cluster_stream_at(quiet, &streaming->reconnect.endpoint, &request, &handler, refusal,
                           err)) {
        return false;
    }
    if (streaming->is_damaged) {
        return error_set(err, ERROR_OS, "the server's response is not a run log");
    }
    *is_over = streaming->is_stopped || !options->follows;
    return *is_over || has_ended(streaming, quiet, refusal, is_over, err);
}

static int stream_all(Streaming *streaming)
{
    Invocation *invocation = streaming->invocation;
    for (;;) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        Invocation quiet = *invocation;
        ClusterRefusal refusal = { .response = value_null() };
        bool is_over = false;
        Error err = { 0 };
        quiet.arena = &arena;
        bool ok = connect_once(streaming, &quiet, &refusal, &is_over, &err);
        if (ok && is_over) {
            return EXIT_OK;
        }
        if (streaming->options->on_break != NULL) {
            streaming->options->on_break(streaming->options->context, ok ? NULL : err.text);
        }
        if (!ok && !reconnect_helps(&streaming->reconnect, &err, refusal.responded)) {
            return cluster_report_refusal_at(invocation, &streaming->reconnect.endpoint, &refusal,
                                             &err);
        }
        reconnect_wait(&streaming->reconnect, &err);
    }
}

int run_stream(Invocation *invocation, const RunStream *stream)
{
    Streaming streaming = { .invocation = invocation,
                            .options = stream,
                            .line = buf_make(LINE_LONGEST) };
    Error err;
    if (!reconnect_init(&streaming.reconnect, invocation, stream->what, &err)) {
        return cluster_report_error(invocation, &err, false);
    }
    streaming.reconnect.is_quiet = stream->is_quiet;
    seen_events_init(&streaming.seen);
    int code = stream_all(&streaming);
    seen_events_clear(&streaming.seen);
    buf_clear(&streaming.line);
    return code;
}
