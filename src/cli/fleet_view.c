#include "cli/fleet_view.h"

#include "base/visible.h"
#include "cli/output.h"
#include "lang/json.h"
#include "sys/clock.h"

enum {
    DRAW_US = 150 * 1000, /* between two drawings of the block */
    STEPS_SHOWN = 20,
    OUTPUT_SHOWN = 300, /* bytes of standard error with a failure */
};

void fleet_view_init(FleetView *view, Arena *arena, Stream *stream, ProgressMode mode, Str run,
                     Str version, uint32_t targets)
{
    *view = (FleetView){ .arena = arena,
                         .stream = stream,
                         .mode = mode,
                         .run = run,
                         .version = version,
                         .targets = targets,
                         .partial = buf_make(BUF_UNLIMITED),
                         .start_us = clock_monotonic_us() };
    str_map_init(&view->indexes, arena);
    str_map_init(&view->stepping, arena);
}

void fleet_view_clear(FleetView *view)
{
    buf_clear(&view->partial);
}

/* --- Printing -------------------------------------------------------------------------------- */

static void erase(FleetView *view)
{
    if (view->drawn > 0) {
        stream_put_format(view->stream, "\033[%uA\r\033[J", view->drawn);
        view->drawn = 0;
    }
}

/* One line, truncated to the width of the terminal. */
static void put_line(FleetView *view, Str line)
{
    unsigned columns = stream_columns(view->stream), used = 1;
    for (size_t at = 0; at < line.len;) {
        VisiblePiece piece = visible_next(line, &at);
        used += piece.width;
        if (used > columns) {
            break;
        }
        stream_put(view->stream, str_from(piece.text, piece.bytes));
    }
    stream_put(view->stream, STR("\n"));
    view->drawn++;
}

static Str step_line(FleetView *view, const FleetStep *step, Buf *line)
{
    bool is_done = step->ended >= view->begun && step->running == 0;
    buf_reset(line);
    buf_put_format(line, "  %s  %" STR_FMT "  %u/%u",
                   step->failed > 0 ? "XX"
                   : is_done        ? "ok"
                                    : "..",
                   STR_ARG(step->id), step->ended, view->targets);
    if (step->changed > 0) {
        buf_put_format(line, "  %u changed", step->changed);
    }
    if (step->failed > 0) {
        buf_put_format(line, "  %u failed", step->failed);
    }
    if (step->blocked > 0) {
        buf_put_format(line, "  %u blocked", step->blocked);
    }
    if (step->waits.len > 0 && !is_done) {
        buf_put_format(line, "  waiting: %" STR_FMT, STR_ARG(step->waits));
    }
    return buf_str(line);
}

static void draw(FleetView *view)
{
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    uint32_t count = view->steps.len, from = count > STEPS_SHOWN ? count - STEPS_SHOWN : 0;
    int64_t now_us = clock_monotonic_us(), seconds = (now_us - view->start_us) / 1000000;
    erase(view);
    buf_put_format(&line, "run %" STR_FMT "  %" STR_FMT "%s%u/%u nodes done  %02lld:%02lld",
                   STR_ARG(view->run), STR_ARG(view->version), view->version.len > 0 ? "  " : "",
                   view->ended, view->targets, (long long)seconds / 60, (long long)seconds % 60);
    put_line(view, buf_str(&line));
    for (uint32_t i = from; i < count; i++) {
        put_line(view, step_line(view, &view->steps.items[i], &line));
    }
    (void)stream_flush(view->stream);
    view->drawn_us = now_us;
    view->needs_drawing = false;
}

/* A line that stays. */
static void put_failure(FleetView *view, const FleetFailure *failure)
{
    erase(view);
    output_line(view->stream, "failed  %" STR_FMT ": %" STR_FMT "%s%" STR_FMT,
                STR_ARG(failure->node), STR_ARG(failure->step),
                failure->message.len > 0 ? ": " : "", STR_ARG(failure->message));
    (void)stream_flush(view->stream);
    view->needs_drawing = true;
}

/* In a log: a line for each step that is done on all nodes. */
static void report_step(FleetView *view, FleetStep *step)
{
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    if (view->mode == PROGRESS_PLAIN && step->ended == view->targets && !step->is_reported) {
        step->is_reported = true;
        output_line(view->stream, "%" STR_FMT, STR_ARG(step_line(view, step, &line)));
        (void)stream_flush(view->stream);
    }
}

/* --- Events ---------------------------------------------------------------------------------- */

static FleetStep *step_of(FleetView *view, Str id)
{
    uintptr_t index = (uintptr_t)str_map_find(&view->indexes, id);
    if (index == 0) {
        Str copy = arena_copy(view->arena, id);
        VEC_PUSH(view->arena, &view->steps, (FleetStep){ .id = copy });
        index = view->steps.len;
        str_map_put(&view->indexes, copy, (void *)index);
    }
    return &view->steps.items[index - 1];
}

static void leave_step(FleetView *view, Str node)
{
    const FleetStep *known = str_map_find(&view->stepping, node);
    uintptr_t index = (uintptr_t)known;
    if (index > 0) {
        view->steps.items[index - 1].running--;
        str_map_remove(&view->stepping, node);
    }
}

static void on_start(FleetView *view, Str node, Str id)
{
    FleetStep *step = step_of(view, id);
    leave_step(view, node);
    step->running++;
    str_map_put(&view->stepping, arena_copy(view->arena, node),
                (void *)(uintptr_t)(step - view->steps.items + 1));
}

static Str last_bytes(Arena *arena, Str text)
{
    size_t from = text.len > OUTPUT_SHOWN ? text.len - OUTPUT_SHOWN : 0;
    return arena_copy(arena, str_trim(str_from_offset(text, from)));
}

static void add_failure(FleetView *view, Str node, Str id, Value event)
{
    Value error = value_get_map(event, "error");
    FleetFailure failure = {
        .node = arena_copy(view->arena, node),
        .step = arena_copy(view->arena, id),
        .code = arena_copy(view->arena, value_get_text(error, "code")),
        .message = arena_copy(view->arena, value_get_text(error, "message")),
        .output = last_bytes(view->arena, value_get_text(event, "stderr")),
    };
    VEC_PUSH(view->arena, &view->failures, failure);
    if (view->mode == PROGRESS_TTY || view->mode == PROGRESS_PLAIN) {
        put_failure(view, &failure);
    }
}

static void on_step(FleetView *view, Str node, Str id, Value event)
{
    FleetStep *step = step_of(view, id);
    Str result = value_get_text(event, "result");
    uint32_t *count = str_eq_c(result, "ok")        ? &step->ok
                      : str_eq_c(result, "changed") ? &step->changed
                      : str_eq_c(result, "failed")  ? &step->failed
                      : str_eq_c(result, "skipped") ? &step->skipped
                      : str_eq_c(result, "blocked") ? &step->blocked
                                                    : &step->other;
    leave_step(view, node);
    step = step_of(view, id);
    (*count)++;
    step->ended++;
    if (count == &step->failed) {
        add_failure(view, node, id, event);
    }
    report_step(view, step);
}

static void take_steps(FleetView *view, Value event)
{
    const List *ids = value_get_list(event, "steps");
    for (uint32_t i = 0; i < ids->len; i++) {
        (void)step_of(view, value_str(ids->items[i]));
    }
}

static void take_event(FleetView *view, Value event)
{
    Str kind = value_get_text(event, "event"), node = value_get_text(event, "node"),
        step = value_get_text(event, "step");
    if (str_eq_c(kind, "begin")) {
        view->begun += value_get_int(event, "attempt") <= 1;
        take_steps(view, event);
    } else if (str_eq_c(kind, "steps")) {
        take_steps(view, event);
    } else if (str_eq_c(kind, "start")) {
        on_start(view, node, step);
    } else if (str_eq_c(kind, "wait")) {
        step_of(view, step)->waits = arena_copy(view->arena, value_get_text(event, "reason"));
    } else if (str_eq_c(kind, "step")) {
        on_step(view, node, step, event);
    } else if (str_eq_c(kind, "end")) {
        view->ended++;
    }
    view->needs_drawing = true;
}

static void take_line(FleetView *view, Str line)
{
    AUTO_CLEAR(Arena) arena;
    Value event;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (view->mode == PROGRESS_JSON) {
        output_json_text(view->stream, line);
        stream_put(view->stream, STR("\n"));
        (void)stream_flush(view->stream);
    }
    if (json_parse_text(&arena, line, &json_options_default, &event, &err)) {
        take_event(view, event);
    }
}

bool fleet_view_take(void *context, Str bytes)
{
    FleetView *view = context;
    size_t used = 0, end;
    buf_put(&view->partial, bytes);
    Str text = buf_str(&view->partial);
    while ((end = str_find(text, STR("\n"), used)) != STR_NOT_FOUND) {
        take_line(view, str_slice(text, used, end));
        used = end + 1;
    }
    memmove(view->partial.data, view->partial.data + used, view->partial.len - used);
    view->partial.len -= used;
    if (view->mode == PROGRESS_TTY && view->needs_drawing &&
        clock_monotonic_us() - view->drawn_us >= DRAW_US) {
        draw(view);
    }
    return true;
}

void fleet_view_end(FleetView *view)
{
    erase(view);
    (void)stream_flush(view->stream);
}
