#include "agent/local_run.h"

#include <stdlib.h>

#include "base/json_out.h"
#include "base/log.h"
#include "base/memory.h"
#include "lang/json.h"
#include "lang/record.h"
#include "sys/tree.h"

#define ORDER_FILE  "order.json"
#define STATE_FILE  "state.json"
#define RESULT_FILE "result.json"

enum {
    STATE_MAX = 16 << 10,
    EVENTS_MAX = 64 << 20,
};

/* --- Records ---------------------------------------------------------------------------------- */

DEFINE_ENUM_NAMES(QueuePhase, queue_phase, [QUEUE_ACCEPTED] = "accepted",
                  [QUEUE_STARTED] = "started", [QUEUE_ENDED] = "ended")

static const RecordField state_fields[] = {
    { "phase", RECORD_CHOICE, RECORD_ENUM_AT(LocalState, phase, queue_phase), .is_required = true,
      .choices = "accepted|started|ended", .help = "progress of the run" },
    { "attempts", RECORD_INT, RECORD_INT_AT(LocalState, attempts), .max = UINT32_MAX,
      .help = "number of starts" },
    { "interruptions", RECORD_INT, RECORD_INT_AT(LocalState, interruptions), .max = UINT32_MAX,
      .help = "number of lost runners" },
    { "signals", RECORD_INT, RECORD_INT_AT(LocalState, signals), .max = UINT32_MAX,
      .help = "number of signals sent to the runner" },
    { "begun", RECORD_INT, RECORD_INT_AT(LocalState, attempts_before), .max = UINT32_MAX,
      .help = "number of earlier attempts in the events" },
    { "accepted_ms", RECORD_INT, RECORD_INT_AT(LocalState, accepted_ms),
      .help = "when the order arrived" },
    { "started_ms", RECORD_INT, RECORD_INT_AT(LocalState, started_ms), .help = "the last start" },
    { "first_started_ms", RECORD_INT, RECORD_INT_AT(LocalState, first_started_ms),
      .help = "the first start" },
    { "signaled_ms", RECORD_INT, RECORD_INT_AT(LocalState, signaled_ms),
      .help = "when the last signal was sent" },
    { "boot", RECORD_TEXT, RECORD_CHARS_AT(LocalState, boot), .help = "boot ID of the last start" },
    { "reported", RECORD_BOOL, RECORD_BOOL_AT(LocalState, is_reported),
      .help = "whether the result is in the outbox" },
    { RECORD_UNKNOWN_AT(LocalState, unknown) },
    { 0 },
};

static const RecordFormat state_format = {
    .format = "eden.local-run/1",
    .what = "the state of a run",
    .fields = state_fields,
    .size = sizeof(LocalState),
    .text_max = STATE_MAX,
};

/* --- Directories ------------------------------------------------------------------------------ */

static bool open_run(const Directory *agent, Str id, bool create, Directory *out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Directory) runs = { .descriptor = -1 };
    arena_init(&arena, ARENA_UNLIMITED);
    const char *name = arena_copy_c(&arena, id);
    out->descriptor = -1;
    return run_id_check(id, err) && (create ? directory_make_child(agent, LOCAL_RUNS, &runs, err) &&
                                                  directory_make_child(&runs, name, out, err)
                                            : directory_open_child(agent, LOCAL_RUNS, &runs, err) &&
                                                  directory_open_child(&runs, name, out, err));
}

bool local_run_open(const Directory *agent, const LocalRun *run, Directory *out, Error *err)
{
    return open_run(agent, str_from_c(run->order.run), false, out, err);
}

void local_run_remove(const Directory *agent, Str id)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Directory) runs = { .descriptor = -1 };
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!run_id_check(id, &err) || !directory_open_child(agent, LOCAL_RUNS, &runs, &err)) {
        return;
    }
    const char *name = arena_copy_c(&arena, id);
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    if (directory_open_child(&runs, name, &directory, &err)) { /* an incomplete run is removed */
        (void)!directory_remove(&directory, STATE_FILE, &err);
    }
    directory_remove_child(&runs, name);
}

bool local_runs_list(const char *path, Arena *arena, Str **ids, uint32_t *count, Error *err)
{
    AUTO_CLEAR(Tree) tree = { .descriptor = -1 };
    *count = 0;
    return tree_open(path, &tree, err) &&
           (!tree_has(&tree, "/" LOCAL_RUNS) ||
            tree_list(&tree, arena, "/" LOCAL_RUNS, LOCAL_RUNS_MAX, ids, count, err));
}

const char *local_run_path(const char *path, const LocalRun *run, Arena *arena, const char *name)
{
    return arena_copy_c(arena,
                        arena_format(arena, "%s/" LOCAL_RUNS "/%s/%s", path, run->order.run, name));
}

/* --- Files ------------------------------------------------------------------------------------ */

static LocalRun *new_run(void)
{
    LocalRun *run = memory_new(sizeof *run);
    arena_init(&run->arena, ARENA_UNLIMITED);
    run->state.unknown = value_missing();
    return run;
}

void local_run_free(LocalRun *run)
{
    if (run != NULL) {
        arena_clear(&run->arena);
        free(run);
    }
}

static bool write_state(const Directory *directory, const LocalState *state, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    record_print(&state_format, state, &text);
    return directory_write(directory, STATE_FILE, buf_str(&text), true, err);
}

static bool read_order(LocalRun *run, Str text, Error *err)
{
    Str copy = arena_copy(&run->arena, text);
    return order_read(&run->arena, copy, &run->order, err);
}

/* The state is written last: without it there is no run. */
static bool create(const Directory *agent, Str id, Str order, LocalRun *run, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    if (!read_order(run, order, err)) {
        return false;
    }
    if (!str_eq_c(id, run->order.run)) {
        return error_set(err, ERROR_INVALID, "it belongs to run '%s'", run->order.run);
    }
    local_run_remove(agent, id);
    return open_run(agent, id, true, &directory, err) &&
           directory_write(&directory, ORDER_FILE, order, true, err) &&
           write_state(&directory, &run->state, err);
}

bool local_run_create(const Directory *agent, Str id, Str order, int64_t now_ms, LocalRun **out,
                      Error *err)
{
    LocalRun *run = new_run();
    run->state.accepted_ms = now_ms;
    if (!create(agent, id, order, run, err)) {
        local_run_free(run);
        return false;
    }
    *out = run;
    return true;
}

static bool load(const Directory *directory, LocalRun *run, Error *err)
{
    Str text;
    Arena *arena = &run->arena;
    if (!directory_read(directory, arena, STATE_FILE, STATE_MAX, &text, err) ||
        !record_read(&state_format, arena, text, RECORD_STORED, &run->state, err)) {
        return false;
    }
    if (!directory_read(directory, arena, ORDER_FILE, ORDER_TEXT_MAX, &text, err)) {
        err->kind = err->kind == ERROR_NOT_FOUND ? ERROR_INVALID : err->kind;
        return false;
    }
    if (!order_read(arena, text, &run->order, err)) {
        return false;
    }
    if (!directory_read(directory, arena, RESULT_FILE, NODE_RESULT_MAX, &text, err)) {
        return err->kind == ERROR_NOT_FOUND;
    }
    run->has_result = true;
    return node_result_read(arena, text, &run->result, err);
}

bool local_run_load(const Directory *agent, Str id, LocalRun **out, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    LocalRun *run = new_run();
    if (!open_run(agent, id, false, &directory, err) || !load(&directory, run, err)) {
        local_run_free(run);
        return false;
    }
    if (!str_eq_c(id, run->order.run)) {
        local_run_free(run);
        return error_set(err, ERROR_INVALID, "the order belongs to a different run");
    }
    *out = run;
    return true;
}

bool local_run_put_order(const Directory *agent, LocalRun *run, Str order, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Order former = run->order;
    if (!read_order(run, order, err) || strcmp(run->order.run, former.run) != 0 ||
        !local_run_open(agent, run, &directory, err) ||
        !directory_write(&directory, ORDER_FILE, order, true, err)) {
        run->order = former;
        return false;
    }
    return true;
}

bool local_run_save(const Directory *agent, const LocalRun *run, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    return local_run_open(agent, run, &directory, err) && write_state(&directory, &run->state, err);
}

/* Variables may be secret, and a run that has ended needs none. */
static void forget_defines(const Directory *directory, const LocalRun *run)
{
    Order order = run->order;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Error err;
    if (order.define_count == 0) {
        return;
    }
    order.define_count = 0;
    order_print(&order, &text);
    if (!directory_write(directory, ORDER_FILE, buf_str(&text), true, &err)) {
        log_warning("cannot remove the variables of a run that has ended",
                    LOG_C("run", run->order.run), LOG_C("error", err.text));
    }
}

bool local_run_conclude(const Directory *agent, LocalRun *run, const NodeResult *result, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Buf text = buf_make_in(&run->arena, BUF_UNLIMITED);
    NodeResult copy;
    node_result_print(result, &text);
    if (!node_result_read(&run->arena, buf_str(&text), &copy, err) ||
        !local_run_open(agent, run, &directory, err) ||
        !directory_write(&directory, RESULT_FILE, buf_str(&text), true, err)) {
        return false;
    }
    run->result = copy;
    run->has_result = true;
    forget_defines(&directory, run);
    return true;
}

/* --- Commands --------------------------------------------------------------------------------- */

/* Quoted as a string of a step, because templates and comments start with a brace. */
static void put_argument(Buf *out, Str argument)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    for (size_t i = 0; i < argument.len; i++) {
        if (argument.data[i] == '{') {
            buf_put(&text, STR("{{ '{' }}"));
        } else {
            buf_put_char(&text, argument.data[i]);
        }
    }
    json_out_item(out, buf_str(&text));
}

bool local_run_put_command(const Directory *agent, const LocalRun *run, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put(&text, STR("{\"steps\":[{\"name\":\"command\",\"cmd.run\":{"));
    json_out_open(&text, "cmd", '[');
    for (uint32_t i = 0; i < run->order.command_count; i++) {
        put_argument(&text, run->order.command[i]);
    }
    json_out_close(&text, ']');
    if (run->order.timeout_ms > 0) {
        buf_put_format(&text, ",\"timeout\":\"%lldms\"", (long long)run->order.timeout_ms);
    }
    buf_put(&text, STR("}}]}\n"));
    return local_run_open(agent, run, &directory, err) &&
           directory_write(&directory, LOCAL_COMMAND, buf_str(&text), false, err);
}

bool local_run_put_event(const Directory *agent, const LocalRun *run, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    return value_is_missing(run->order.event) ||
           (json_print(&text, run->order.event, NULL, err) &&
            local_run_open(agent, run, &directory, err) &&
            directory_write(&directory, LOCAL_EVENT, buf_str(&text), false, err));
}

/* --- Events ----------------------------------------------------------------------------------- */

bool local_run_events(const Directory *agent, const LocalRun *run, Arena *arena, Str *out,
                      Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    if (!local_run_open(agent, run, &directory, err)) {
        return false;
    }
    if (!directory_read(&directory, arena, LOCAL_EVENTS, EVENTS_MAX, out, err)) {
        *out = STR_EMPTY;
        return err->kind == ERROR_NOT_FOUND;
    }
    *out = str_slice(*out, 0, run_events_scan(*out).valid_len);
    return true;
}

static bool is_interrupted(Str end)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value event;
    Error err;
    return json_parse_text(&arena, end, NULL, &event, &err) && value_get_bool(event, "interrupted");
}

QueueTail local_run_tail(const LocalRun *run, const RunEventScan *scan)
{
    if (scan->last == 0 || scan->begun <= run->state.attempts_before) {
        return TAIL_NONE;
    }
    if (str_eq_c(scan->end.event, "leave")) {
        return TAIL_REBOOTING;
    }
    if (!str_eq_c(scan->end.event, "end")) {
        return TAIL_OPEN;
    }
    return is_interrupted(scan->end.text) ? TAIL_INTERRUPTED : TAIL_ENDED;
}

static uint32_t get_count(Value counts, const char *name)
{
    int64_t number = value_get_int(counts, name);
    return number < 0 ? 0 : number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

static NodeOutcome outcome_of(Str result)
{
    return str_eq_c(result, "ok")                                       ? NODE_OK
           : str_eq_c(result, "changed") || str_eq_c(result, "unknown") ? NODE_CHANGED
           : str_eq_c(result, "skipped")                                ? NODE_SKIPPED
                                                                        : NODE_FAILED;
}

/* Replacing an incomplete character needs space. */
static Str truncate_text(Str text, size_t max)
{
    return str_slice(text, 0, max - 8);
}

static void read_failure(Value event, NodeResult *out)
{
    const Value *failure = value_get(event, STR("failure"));
    if (failure != NULL && failure->kind == VALUE_MAP) {
        out->step = truncate_text(value_get_text(*failure, "step"), NODE_ERROR_MAX);
        out->code = truncate_text(value_get_text(*failure, "code"), NODE_DIGEST_TEXT);
        out->error = truncate_text(value_get_text(*failure, "message"), NODE_ERROR_MAX);
    }
}

bool local_run_result(Arena *arena, Str end, NodeResult *out, Error *err)
{
    Value event;
    if (!json_parse_text(arena, end, NULL, &event, err)) {
        return false;
    }
    const Value *counts = value_get(event, STR("counts"));
    *out = (NodeResult){ .outcome = outcome_of(value_get_text(event, "result")),
                         .reason = truncate_text(value_get_text(event, "reason"), FLEET_REASON_MAX),
                         .unknown = value_missing() };
    if (counts != NULL && counts->kind == VALUE_MAP) {
        out->counts = (StepCounts){ .ok = get_count(*counts, "ok"),
                                    .changed = get_count(*counts, "changed"),
                                    .failed = get_count(*counts, "failed"),
                                    .skipped = get_count(*counts, "skipped"),
                                    .blocked = get_count(*counts, "blocked"),
                                    .waiting = get_count(*counts, "waiting"),
                                    .unknown = get_count(*counts, "unknown") };
    }
    if (out->outcome == NODE_FAILED && value_get_bool(event, "timed_out") && out->reason.len == 0) {
        out->reason = STR("steps were still waiting");
    }
    Str digest = value_get_text(event, "digest");
    memcpy(out->digest, digest.data, digest.len == NODE_DIGEST_TEXT ? digest.len : 0);
    read_failure(event, out);
    return true;
}
