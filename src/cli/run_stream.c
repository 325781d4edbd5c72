/* Reads the stream of a run's events and reconnects. The server's "position" lines determine where
 * to continue; the numbers of events show which events were already delivered. */
#include "cli/run_stream.h"

#include "base/str_map.h"
#include "cli/fleet_run.h"
#include "cli/kind_print.h"
#include "cli/reconnect.h"

enum {
    LINE_MAX_BYTES = 1 << 20,    /* maximum length of a line */
    IDLE_TIMEOUT_MS = 60 * 1000, /* an idle server sends its position every 15 seconds */
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
static uint64_t read_number(Str text)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len && i < NUMBER_DIGITS && ascii_is_digit(text.data[i]); i++) {
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    }
    return number;
}

/* Lines of a log start with {"node":"web1","n":7, and node names contain no escapes. */
bool seen_events_add(SeenEvents *seen, Str line)
{
    const Str start = STR("{\"node\":\""), middle = STR("\",\"n\":");
    size_t end = str_find(line, middle, start.len);
    if (!str_starts(line, start) || end == STR_NOT_FOUND) {
        return true;
    }
    Str node = str_slice(line, start.len, end);
    uintptr_t n = read_number(str_from_offset(line, end + middle.len));
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

typedef struct StreamState {
    Invocation *invocation;
    const RunStream *options;
    Reconnect reconnect;
    SeenEvents seen;
    Buf line;               /* an incomplete line */
    uint64_t next_position; /* position to continue at */
    bool is_stopped, is_damaged;
} StreamState;

/* {"event":"position","from":N} */
static bool read_position(StreamState *state, Str line)
{
    const Str start = STR("{\"event\":\"position\",\"from\":");
    if (!str_starts(line, start)) {
        return false;
    }
    state->next_position = read_number(str_from_offset(line, start.len));
    return true;
}

static bool on_chunk(void *context, Str bytes)
{
    StreamState *state = context;
    const RunStream *options = state->options;
    while (bytes.len > 0) {
        size_t end = str_find(bytes, STR("\n"), 0);
        buf_put(&state->line, str_slice(bytes, 0, end));
        if (state->line.overflow) {
            state->is_damaged = true;
            return false;
        }
        if (end == STR_NOT_FOUND) {
            break;
        }
        Str line = buf_str(&state->line);
        if (!read_position(state, line) && seen_events_add(&state->seen, line)) {
            options->on_line(options->context, line);
        }
        buf_reset(&state->line);
        bytes = str_from_offset(bytes, end + 1);
    }
    state->is_stopped = !options->on_batch(options->context);
    return !state->is_stopped;
}

static void on_head(void *context, const Http1Head *head)
{
    StreamState *state = context;
    if (head->status < 300) {
        bool was_disconnected = state->reconnect.is_disconnected;
        reconnect_done(&state->reconnect);
        if (was_disconnected && state->options->on_resume != NULL) {
            state->options->on_resume(state->options->context);
        }
    }
}

static void on_tick(void *context)
{
    const StreamState *state = context;
    state->options->on_tick(state->options->context);
}

/* --- Requests -------------------------------------------------------------------------------- */

static Str target(const StreamState *state, Arena *arena)
{
    const RunStream *options = state->options;
    Str text = cluster_target_with(arena, "/v1/runs/", options->run,
                                   options->follows ? "/logs?follow=true" : "/logs?follow=false");
    text = arena_format(arena, "%" STR_FMT "&from=%llu", STR_ARG(text),
                        (unsigned long long)state->next_position);
    if (options->node.len > 0) {
        text = arena_format(arena, "%" STR_FMT "%" STR_FMT, STR_ARG(text),
                            STR_ARG(cluster_target(arena, "&node=", options->node)));
    }
    return options->step.len > 0
               ? arena_format(arena, "%" STR_FMT "%" STR_FMT, STR_ARG(text),
                              STR_ARG(cluster_target(arena, "&step=", options->step)))
               : text;
}

/* Queries whether the run has ended. The end of the stream does not show that, because a server
 * that shuts down ends its streams too. */
static bool has_ended(const StreamState *state, Invocation *quiet, ClusterRefusal *refusal,
                      bool *out, Error *err)
{
    ClusterResponse response;
    Value run;
    refusal->target = cluster_target(quiet->arena, "/v1/runs/", state->options->run);
    refusal->responded = cluster_exchange_at(
        quiet, &state->reconnect.endpoint,
        &(ClusterRequest){ .method = "GET", .target = refusal->target }, NULL, &response, err);
    if (!refusal->responded || !cluster_response_read(quiet->arena, &response, &run, err)) {
        return false;
    }
    *out = fleet_run_has_ended(run);
    return true;
}

/* Reads one connection. Returns false if it failed; `*is_finished`: no more events follow. */
static bool connect_once(StreamState *state, Invocation *quiet, ClusterRefusal *refusal,
                         bool *is_finished, Error *err)
{
    const RunStream *options = state->options;
    ClusterStreamHandler handler = { .on_chunk = on_chunk,
                                     .on_head = on_head,
                                     .context = state,
                                     .idle_timeout_ms = IDLE_TIMEOUT_MS };
    ClusterRequest request = { .method = "GET", .target = target(state, quiet->arena) };
    buf_reset(&state->line);
    if (!reconnect_check(&state->reconnect, err)) {
        refusal->responded = err->kind == ERROR_CONFLICT;
        return false;
    }
    if (options->on_tick != NULL) {
        handler.on_tick = on_tick;
        handler.tick_ms = options->tick_ms;
    }
    if (!cluster_stream_at(quiet, &state->reconnect.endpoint, &request, &handler, refusal, err)) {
        return false;
    }
    if (state->is_damaged) {
        return error_set(err, ERROR_OS, "the server's response is not a run log");
    }
    *is_finished = state->is_stopped || !options->follows;
    return *is_finished || has_ended(state, quiet, refusal, is_finished, err);
}

static int stream_all(StreamState *state)
{
    Invocation *invocation = state->invocation;
    for (;;) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        Invocation quiet = *invocation;
        ClusterRefusal refusal = { .response = value_null() };
        bool is_finished = false;
        Error err = { 0 };
        quiet.arena = &arena;
        bool ok = connect_once(state, &quiet, &refusal, &is_finished, &err);
        if (ok && is_finished) {
            return EXIT_OK;
        }
        if (state->options->on_break != NULL) {
            state->options->on_break(state->options->context, ok ? NULL : err.text);
        }
        if (!ok && !reconnect_is_useful(&state->reconnect, &err, refusal.responded)) {
            return cluster_report_refusal_at(invocation, &state->reconnect.endpoint, &refusal,
                                             &err);
        }
        reconnect_wait(&state->reconnect, &err);
    }
}

int run_stream(Invocation *invocation, const RunStream *stream)
{
    StreamState state = { .invocation = invocation,
                          .options = stream,
                          .line = buf_make(LINE_MAX_BYTES) };
    Error err;
    if (!reconnect_init(&state.reconnect, invocation, stream->what, &err)) {
        return cluster_report_error(invocation, &err, false);
    }
    state.reconnect.is_quiet = stream->is_quiet;
    seen_events_init(&state.seen);
    int code = stream_all(&state);
    seen_events_clear(&state.seen);
    buf_clear(&state.line);
    return code;
}
