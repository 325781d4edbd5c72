/* A step can have several results: an interrupted run starts again, and a step that reacts has a
 * second result. So the last result of each step on each node is stored, in one byte. */
#include "cli/fleet_view.h"

#include "base/json_out.h"
#include "base/visible.h"
#include "cli/output.h"
#include "lang/json.h"
#include "sys/clock.h"

enum {
    DRAW_INTERVAL_US = 150 * 1000, /* minimum time between two redraws of the block */
    CLOCK_INTERVAL_US = 1000 * 1000,
    LINES_MIN = 8,            /* minimum number of lines of the block, even on a small terminal */
    ESTIMATE_AFTER_MS = 2000, /* minimum duration of a run before its remaining time is estimated */
};

#define NO_STEP UINT32_MAX

void fleet_view_init(FleetView *view, Arena *arena, const FleetViewOptions *options)
{
    int64_t now_us = clock_monotonic_us();
    *view = (FleetView){ .arena = arena,
                         .stream = options->stream,
                         .mode = options->mode,
                         .run = options->run,
                         .what = options->what,
                         .targets = options->targets,
                         .start_us = now_us - options->age_ms * 1000,
                         .printed_us = now_us,
                         .event_us = now_us };
    str_map_init(&view->indexes, arena);
    str_map_init(&view->node_indexes, arena);
    str_map_init(&view->reported_reasons, arena);
    arena_init(&view->missing_arena, ARENA_UNLIMITED);
    if (view->mode == PROGRESS_JSON) {
        AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
        json_out_start(&line, "eden.run-progress/1");
        json_out_text(&line, "run", view->run);
        json_out_text(&line, "version", view->what);
        json_out_int(&line, "targets", view->targets);
        json_out_close(&line, '}');
        buf_put_char(&line, '\n');
        stream_put(view->stream, buf_str(&line));
        (void)stream_flush(view->stream);
    }
}

void fleet_view_clear(FleetView *view)
{
    arena_clear(&view->missing_arena);
}

/* --- Parts of lines -------------------------------------------------------------------------- */

static int64_t elapsed_ms(const FleetView *view)
{
    return (clock_monotonic_us() - view->start_us) / 1000;
}

int64_t fleet_view_remaining_ms(const FleetView *view, int64_t elapsed)
{
    if (view->started == 0 || view->expected == 0 || elapsed < ESTIMATE_AFTER_MS) {
        return -1;
    }
    /* Assumes that nodes that have not started will have an average number of steps. Silent nodes
     * are not counted. */
    uint32_t silent = 0;
    for (uint32_t i = 0; i < view->missing.len; i++) {
        const FleetGroup *group = &view->missing.items[i];
        silent += str_eq_c(group->what, "silent") ? group->count : 0;
    }
    uint32_t counted =
        view->started + silent < view->targets ? view->targets - silent : view->started;
    double total = (double)view->expected * counted / view->started;
    double done = (double)view->results / total;
    return done < 0.05 || done > 1 ? -1 : (int64_t)((double)elapsed * (1 - done) / done);
}

/* "00:41", "1:02:05" */
static void put_clock(Buf *out, int64_t ms)
{
    long long seconds = ms / 1000;
    if (seconds >= 3600) {
        buf_put_format(out, "%lld:%02lld:%02lld", seconds / 3600, seconds / 60 % 60, seconds % 60);
    } else {
        buf_put_format(out, "%02lld:%02lld", seconds / 60, seconds % 60);
    }
}

/* "00:41  eta 00:20" */
static void put_times(const FleetView *view, Buf *out)
{
    int64_t elapsed = elapsed_ms(view), left = fleet_view_remaining_ms(view, elapsed);
    put_clock(out, elapsed);
    if (left >= 1000 && view->ended < view->started) {
        buf_put_c(out, "  eta ");
        put_clock(out, left);
    }
}

static void put_names(const FleetGroup *group, Buf *out)
{
    for (uint32_t i = 0; i < group->count && i < FLEET_VIEW_NAMES_MAX; i++) {
        buf_put_format(out, "%s%" STR_FMT, i > 0 ? ", " : "", STR_ARG(group->names[i]));
    }
    if (group->count > FLEET_VIEW_NAMES_MAX) {
        buf_put_format(out, " and %u more", group->count - FLEET_VIEW_NAMES_MAX);
    }
}

static uint32_t results_of(const FleetStep *step)
{
    uint32_t sum = 0;
    for (uint32_t i = FLEET_OK; i < FLEET_RESULT_COUNT; i++) {
        sum += step->counts[i];
    }
    return sum;
}

static uint32_t nodes_of(const FleetStep *step)
{
    return results_of(step) + step->counts[FLEET_EXPECTED];
}

static bool is_done(const FleetStep *step)
{
    return step->counts[FLEET_EXPECTED] == 0;
}

/* "  ..  check metrics  611/1000  3 failed  waiting: cluster_healthy() (2 nodes)" */
static void put_step(const FleetStep *step, Buf *line)
{
    static const struct {
        FleetResult result;
        const char *name;
    } shown[] = {
        { FLEET_CHANGED, "changed" },
        { FLEET_FAILED, "failed" },
        { FLEET_BLOCKED, "blocked" },
        { FLEET_SKIPPED, "skipped" },
    };
    buf_put_format(line, "  %s  %" STR_FMT "  %u/%u",
                   step->counts[FLEET_FAILED] > 0 ? "XX"
                   : is_done(step)                ? "ok"
                                                  : "..",
                   STR_ARG(step->id), results_of(step), nodes_of(step));
    for (size_t i = 0; i < COUNT_OF(shown); i++) {
        uint32_t count = step->counts[shown[i].result];
        if (count > 0) {
            buf_put_format(line, "  %u %s", count, shown[i].name);
        }
    }
    if (step->waiting > 0) {
        buf_put_format(line, "  %u waiting: %" STR_FMT, step->waiting, STR_ARG(step->waits));
    }
}

/* "  XX  web#check  3 failed: exited with 1  [web07, web09, db2]" */
static void put_failure(const FleetGroup *group, Buf *line)
{
    buf_put_format(line, "  XX  %u failed  %" STR_FMT "%s%" STR_FMT "  [", group->count,
                   STR_ARG(group->what), group->message.len > 0 ? ": " : "",
                   STR_ARG(group->message));
    put_names(group, line);
    buf_put_char(line, ']');
}

/* "silent  db9: it has no session" */
static void put_missing(const FleetGroup *group, Buf *line)
{
    buf_put_format(line, "%" STR_FMT "  ", STR_ARG(group->what));
    put_names(group, line);
    buf_put_format(line, "%s%" STR_FMT, group->message.len > 0 ? ": " : "",
                   STR_ARG(group->message));
    if (group->until.len > 0) {
        buf_put_format(line, "; waiting for it until %" STR_FMT, STR_ARG(group->until));
    }
}

/* --- On a terminal --------------------------------------------------------------------------- */

static void erase(FleetView *view)
{
    if (view->drawn_lines > 0) {
        stream_put_format(view->stream, "\033[%uA\r\033[J", view->drawn_lines);
        view->drawn_lines = 0;
    }
}

/* One line, truncated to the width of the terminal. */
static void draw_line(FleetView *view, Buf *line)
{
    unsigned columns = stream_columns(view->stream), used = 1;
    Str text = buf_str(line);
    for (size_t at = 0; at < text.len;) {
        VisiblePiece piece = visible_next(text, &at);
        used += piece.width;
        if (used > columns) {
            break;
        }
        stream_put(view->stream, str_from(piece.text, piece.bytes));
    }
    stream_put(view->stream, STR("\n"));
    view->drawn_lines++;
    buf_reset(line);
}

/* Steps that are done on all nodes are removed first. */
static void draw_steps(FleetView *view, uint32_t room, Buf *line)
{
    uint32_t count = view->steps.len, hidden = count > room ? count - room + 1 : 0, folded = 0;
    for (uint32_t i = 0; i < count && folded < hidden; i++) {
        const FleetStep *step = &view->steps.items[i];
        folded += is_done(step) && step->counts[FLEET_FAILED] == 0;
    }
    if (folded > 0) {
        buf_put_format(line, "  ok  %u other steps", folded);
        draw_line(view, line);
        room--;
    }
    uint32_t skipped = 0, drawn_lines = 0;
    for (uint32_t i = 0; i < count && drawn_lines < room; i++) {
        const FleetStep *step = &view->steps.items[i];
        if (skipped < folded && is_done(step) && step->counts[FLEET_FAILED] == 0) {
            skipped++;
            continue;
        }
        if (drawn_lines + 1 == room && i + 1 < count) {
            buf_put_format(line, "  ..  %u more steps", count - i);
        } else {
            put_step(step, line);
        }
        draw_line(view, line);
        drawn_lines++;
    }
}

static void draw(FleetView *view)
{
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    unsigned rows = stream_rows(view->stream);
    uint32_t room = rows > LINES_MIN ? rows - 2 : LINES_MIN - 2;
    uint32_t failures = view->failures.len < room / 3 ? view->failures.len : room / 3;
    uint32_t missing = view->missing.len < room / 3 ? view->missing.len : room / 3;
    erase(view);
    buf_put_format(&line, "run %" STR_FMT "%s%" STR_FMT "  %u/%u nodes done  ", STR_ARG(view->run),
                   view->what.len > 0 ? "  " : "", STR_ARG(view->what), view->ended, view->targets);
    put_times(view, &line);
    draw_line(view, &line);
    draw_steps(view, room - failures - missing - view->is_full, &line);
    if (view->is_full) {
        buf_put_c(&line, "  ..  further steps are too many to be counted");
        draw_line(view, &line);
    }
    for (uint32_t i = view->failures.len - failures; i < view->failures.len; i++) {
        put_failure(&view->failures.items[i], &line);
        draw_line(view, &line);
    }
    for (uint32_t i = 0; i < missing; i++) {
        buf_put_format(&line, "  --  %u ", view->missing.items[i].count);
        put_missing(&view->missing.items[i], &line);
        draw_line(view, &line);
    }
    (void)stream_flush(view->stream);
    view->drawn_us = clock_monotonic_us();
    view->needs_redraw = false;
}

/* --- In a log -------------------------------------------------------------------------------- */

static void print_line(FleetView *view, Buf *line)
{
    output_line(view->stream, "%" STR_FMT, STR_ARG(buf_str(line)));
    (void)stream_flush(view->stream);
    view->printed_us = clock_monotonic_us();
}

static uint32_t missing_count(const FleetView *view)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->missing.len; i++) {
        count += view->missing.items[i].count;
    }
    return count;
}

/* Prints a line for each step that is done on all nodes, except those that may never start. */
static void report_step(FleetView *view, FleetStep *step)
{
    uint32_t results = results_of(step);
    if (view->mode == PROGRESS_PLAIN && is_done(step) && results > step->reported &&
        view->started + missing_count(view) >= view->targets) {
        AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
        step->reported = results;
        put_step(step, &line);
        print_line(view, &line);
    }
}

/* Prints the first failures of each kind. */
static void report_failure(FleetView *view, const FleetGroup *group, Str node)
{
    if (view->mode != PROGRESS_PLAIN || group->count > FLEET_VIEW_REPEATS_MAX) {
        return;
    }
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    buf_put_format(
        &line, "failed  %" STR_FMT ": %" STR_FMT "%s%" STR_FMT "%s", STR_ARG(node),
        STR_ARG(group->what), group->message.len > 0 ? ": " : "", STR_ARG(group->message),
        group->count == FLEET_VIEW_REPEATS_MAX ? " (similar ones are only counted)" : "");
    print_line(view, &line);
}

/* "  ..  00:41  eta 00:20  611/1000 nodes done, 3 failed, 1 silent; web#check 611/1000" */
static void put_heartbeat(const FleetView *view, Buf *line)
{
    uint32_t failed = 0;
    buf_put_c(line, "  ..  ");
    put_times(view, line);
    buf_put_format(line, "  %u/%u nodes done", view->ended, view->targets);
    for (uint32_t i = 0; i < view->failures.len; i++) {
        failed += view->failures.items[i].count;
    }
    if (failed > 0) {
        buf_put_format(line, ", %u failed", failed);
    }
    for (uint32_t i = 0; i < view->missing.len; i++) {
        const FleetGroup *group = &view->missing.items[i];
        buf_put_format(line, ", %u %" STR_FMT, group->count, STR_ARG(group->what));
    }
    for (uint32_t i = 0; i < view->steps.len; i++) {
        const FleetStep *step = &view->steps.items[i];
        if (step->running > 0) {
            buf_put_format(line, "; %" STR_FMT " %u/%u", STR_ARG(step->id), results_of(step),
                           nodes_of(step));
        }
        if (step->running > 0 && step->waiting > 0) {
            buf_put_format(line, " waiting: %" STR_FMT, STR_ARG(step->waits));
        }
    }
}

/* --- Events ---------------------------------------------------------------------------------- */

static FleetNode *node_of(FleetView *view, Str name)
{
    uintptr_t index = (uintptr_t)str_map_find(&view->node_indexes, name);
    if (index == 0) {
        Str copy = arena_copy(view->arena, name);
        VEC_PUSH(view->arena, &view->nodes, (FleetNode){ .name = copy });
        index = view->nodes.len;
        str_map_put(&view->node_indexes, copy, (void *)index);
    }
    return &view->nodes.items[index - 1];
}

/* Returns the step's index, or NO_STEP if there are too many steps. */
static uint32_t step_of(FleetView *view, Str id)
{
    uintptr_t index = (uintptr_t)str_map_find(&view->indexes, id);
    if (index == 0 &&
        ((uint64_t)view->steps.len + 1) * (view->targets + 1) > FLEET_VIEW_CELLS_MAX) {
        view->is_full = true;
        return NO_STEP;
    }
    if (index == 0) {
        Str copy = arena_copy(view->arena, id);
        FleetStep step = { .id = copy,
                           .results = arena_alloc_zero(view->arena, view->targets + 1) };
        VEC_PUSH(view->arena, &view->steps, step);
        index = view->steps.len;
        str_map_put(&view->indexes, copy, (void *)index);
    }
    return (uint32_t)index - 1;
}

static uint32_t index_of(const FleetView *view, const FleetNode *node)
{
    uint32_t index = (uint32_t)(node - view->nodes.items);
    return index < view->targets ? index
                                 : view->targets; /* there can be no more nodes than targets */
}

static void set_result(FleetView *view, const FleetNode *node, uint32_t step_index,
                       FleetResult result)
{
    if (step_index == NO_STEP) {
        return;
    }
    FleetStep *step = &view->steps.items[step_index];
    uint8_t *old_result = &step->results[index_of(view, node)];
    FleetResult before = (FleetResult)*old_result;
    if (before == result || (result == FLEET_EXPECTED && before != FLEET_ABSENT)) {
        return;
    }
    if (before != FLEET_ABSENT) {
        step->counts[before]--;
    }
    view->expected += before == FLEET_ABSENT;
    view->results += before < FLEET_OK && result >= FLEET_OK;
    step->counts[result]++;
    *old_result = (uint8_t)result;
}

static void stop_waiting(FleetView *view, FleetNode *node)
{
    if (node->waits > 0) {
        view->steps.items[node->waits - 1].waiting--;
        node->waits = 0;
    }
}

static void leave_step(FleetView *view, FleetNode *node)
{
    stop_waiting(view, node);
    if (node->step > 0) {
        view->steps.items[node->step - 1].running--;
        node->step = 0;
    }
}

static void enter_step(FleetView *view, FleetNode *node, uint32_t step)
{
    leave_step(view, node);
    if (step == NO_STEP) {
        return;
    }
    view->steps.items[step].running++;
    node->step = step + 1;
    set_result(view, node, step, FLEET_EXPECTED);
}

static void wait_in_step(FleetView *view, FleetNode *node, uint32_t step, Str reason)
{
    stop_waiting(view, node);
    if (reason.len > 0 && step != NO_STEP) {
        FleetStep *in = &view->steps.items[step];
        in->waiting++;
        in->waits = str_eq(in->waits, reason) ? in->waits : arena_copy(view->arena, reason);
        node->waits = step + 1;
    }
}

/* Adds a node to the group with these texts. For a new group, the texts are copied. */
static FleetGroup *group_add(Arena *arena, FleetGroups *groups, Str what, Str message, Str node)
{
    FleetGroup *group = NULL;
    for (uint32_t i = 0; i < groups->len && group == NULL; i++) {
        FleetGroup *one = &groups->items[i];
        group = str_eq(one->what, what) && str_eq(one->message, message) ? one : NULL;
    }
    if (group == NULL && groups->len >= FLEET_VIEW_GROUPS_MAX) {
        what = STR("others");
        message = STR_EMPTY;
        group = str_eq(groups->items[groups->len - 1].what, what) ? &groups->items[groups->len - 1]
                                                                  : NULL;
    }
    if (group == NULL) {
        FleetGroup one = { .what = arena_copy(arena, what), .message = arena_copy(arena, message) };
        VEC_PUSH(arena, groups, one);
        group = &groups->items[groups->len - 1];
    }
    if (group->count < FLEET_VIEW_NAMES_MAX) {
        group->names[group->count] = arena_copy(arena, node);
    }
    group->count++;
    return group;
}

static FleetResult result_of(Str name)
{
    static const char *const names[FLEET_RESULT_COUNT] = {
        [FLEET_OK] = "ok",           [FLEET_CHANGED] = "changed", [FLEET_FAILED] = "failed",
        [FLEET_SKIPPED] = "skipped", [FLEET_BLOCKED] = "blocked",
    };
    for (uint32_t i = FLEET_OK; i < FLEET_OTHER; i++) {
        if (str_eq_c(name, names[i])) {
            return (FleetResult)i;
        }
    }
    return FLEET_OTHER;
}

static void end_step(FleetView *view, FleetNode *node, uint32_t step, Value event)
{
    FleetResult result = result_of(value_get_text(event, "result"));
    bool is_counted = step != NO_STEP;
    bool was_failed =
        is_counted && view->steps.items[step].results[index_of(view, node)] == FLEET_FAILED;
    leave_step(view, node);
    set_result(view, node, step, result);
    if (result == FLEET_FAILED && !was_failed) {
        Str message = value_get_text(value_get_map(event, "error"), "message");
        const FleetGroup *group = group_add(view->arena, &view->failures,
                                            value_get_text(event, "step"), message, node->name);
        report_failure(view, group, node->name);
    }
    if (is_counted) {
        report_step(view, &view->steps.items[step]);
    }
}

static void add_steps(FleetView *view, const FleetNode *node, Value event)
{
    const List *ids = value_get_list(event, "steps");
    for (uint32_t i = 0; i < ids->len; i++) {
        set_result(view, node, step_of(view, value_str(ids->items[i])), FLEET_EXPECTED);
    }
}

static void add_event(FleetView *view, Value event)
{
    Str kind = value_get_text(event, "event"), step = value_get_text(event, "step");
    Str name = value_get_text(event, "node");
    if (name.len == 0) {
        return; /* an event about the log itself */
    }
    FleetNode *node = node_of(view, name);
    if (str_eq_c(kind, "begin")) {
        view->started += !node->has_started;
        node->has_started = true;
        leave_step(view, node);
        add_steps(view, node, event);
    } else if (str_eq_c(kind, "steps")) {
        add_steps(view, node, event);
    } else if (str_eq_c(kind, "start")) {
        enter_step(view, node, step_of(view, step));
    } else if (str_eq_c(kind, "wait")) {
        wait_in_step(view, node, step_of(view, step), value_get_text(event, "reason"));
    } else if (str_eq_c(kind, "step")) {
        end_step(view, node, step_of(view, step), event);
    } else if (str_eq_c(kind, "end")) {
        leave_step(view, node);
        view->started += !node->has_started;
        view->ended += !node->has_ended;
        node->has_started = node->has_ended = true;
    }
    view->needs_redraw = true;
    view->event_us = clock_monotonic_us();
}

void fleet_view_add(FleetView *view, Str line)
{
    AUTO_CLEAR(Arena) arena;
    Value event;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (view->mode == PROGRESS_JSON) {
        output_json_text(view->stream, line);
        stream_put(view->stream, STR("\n"));
    }
    if (json_parse_text(&arena, line, &json_options_default, &event, &err)) {
        add_event(view, event);
    }
}

void fleet_view_flush(FleetView *view)
{
    if (view->mode == PROGRESS_JSON) {
        (void)stream_flush(view->stream);
    } else if (view->mode == PROGRESS_TTY && view->needs_redraw &&
               clock_monotonic_us() - view->drawn_us >= DRAW_INTERVAL_US) {
        draw(view);
    }
}

void fleet_view_tick(FleetView *view)
{
    int64_t shown_us = clock_monotonic_us() - view->drawn_us;
    if (view->mode == PROGRESS_TTY && (view->needs_redraw || shown_us >= CLOCK_INTERVAL_US)) {
        draw(view);
    } else if (view->mode == PROGRESS_PLAIN &&
               clock_monotonic_us() - view->printed_us >= FLEET_VIEW_HEARTBEAT_MS * 1000LL) {
        AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
        put_heartbeat(view, &line);
        print_line(view, &line);
    }
}

/* --- Targets that do not report -------------------------------------------------------------- */

void fleet_view_reset_missing(FleetView *view)
{
    view->missing = (FleetGroups){ 0 };
    arena_reset(&view->missing_arena);
}

/* Adds the current step to the reason of a node that was lost while it executed one. */
static Str missing_reason(FleetView *view, const FleetMissing *missing)
{
    uintptr_t index = (uintptr_t)str_map_find(&view->node_indexes, missing->node);
    uint32_t step =
        index > 0 && str_eq_c(missing->outcome, "silent") ? view->nodes.items[index - 1].step : 0;
    return step == 0
               ? missing->reason
               : arena_format(&view->missing_arena,
                              "%" STR_FMT "; its last event is from step '%" STR_FMT "'",
                              STR_ARG(missing->reason), STR_ARG(view->steps.items[step - 1].id));
}

void fleet_view_add_missing(FleetView *view, const FleetMissing *missing)
{
    FleetGroup *group = group_add(&view->missing_arena, &view->missing, missing->outcome,
                                  missing_reason(view, missing), missing->node);
    if (str_compare(missing->until, group->until) > 0) {
        group->until = arena_copy(&view->missing_arena, missing->until);
    }
}

static void report_missing(FleetView *view, const FleetGroup *group)
{
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    if (view->mode == PROGRESS_PLAIN) {
        put_missing(group, &line);
        print_line(view, &line);
        return;
    }
    json_out_open(&line, NULL, '{');
    json_out_text(&line, "event", STR("missing"));
    json_out_text(&line, "outcome", group->what);
    json_out_text(&line, "reason", group->message);
    if (group->until.len > 0) {
        json_out_text(&line, "waits_until", group->until);
    }
    json_out_int(&line, "count", group->count);
    json_out_open(&line, "nodes", '[');
    for (uint32_t i = 0; i < group->count && i < FLEET_VIEW_NAMES_MAX; i++) {
        json_out_item(&line, group->names[i]);
    }
    json_out_close(&line, ']');
    json_out_close(&line, '}');
    buf_put_char(&line, '\n');
    stream_put(view->stream, buf_str(&line));
    (void)stream_flush(view->stream);
}

/* In a log, each reason is printed once. */
void fleet_view_show_missing(FleetView *view)
{
    view->needs_redraw = true;
    if (view->mode != PROGRESS_PLAIN && view->mode != PROGRESS_JSON) {
        return;
    }
    for (uint32_t i = 0; i < view->missing.len; i++) {
        const FleetGroup *group = &view->missing.items[i];
        Str key = arena_format(&view->missing_arena, "%" STR_FMT ": %" STR_FMT,
                               STR_ARG(group->what), STR_ARG(group->message));
        if (!str_map_has(&view->reported_reasons, key)) {
            str_map_put(&view->reported_reasons, arena_copy(view->arena, key), NULL);
            report_missing(view, group);
        }
    }
    for (uint32_t i = 0; i < view->steps.len; i++) {
        report_step(view, &view->steps.items[i]);
    }
}

/* {"event":"interrupted","reason":..} */
static void put_record(FleetView *view, const char *event, Str reason)
{
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    json_out_open(&line, NULL, '{');
    json_out_text(&line, "event", str_from_c(event));
    if (reason.len > 0) {
        json_out_text(&line, "reason", reason);
    }
    json_out_close(&line, '}');
    buf_put_char(&line, '\n');
    stream_put(view->stream, buf_str(&line));
    (void)stream_flush(view->stream);
}

void fleet_view_interrupt(FleetView *view, Str reason)
{
    fleet_view_end(view);
    if (view->mode == PROGRESS_JSON && !view->is_interrupted) {
        put_record(view, "interrupted", reason);
    }
    view->is_interrupted = true;
}

void fleet_view_resume(FleetView *view)
{
    if (view->mode == PROGRESS_JSON && view->is_interrupted) {
        put_record(view, "resumed", STR_EMPTY);
    }
    view->is_interrupted = false;
}

void fleet_view_end(FleetView *view)
{
    erase(view);
    (void)stream_flush(view->stream);
}
