#include "run/run_events.h"

#include <stdio.h>
#include <string.h>

#include "lang/json.h"
#include "run/run_inner.h"
#include "run/shutdown.h"
#include "sys/append_file.h"
#include "sys/clock.h"
#include "sys/file_lock.h"
#include "sys/process.h"

#define LOCK_NAME "%.240s.lock"

enum {
    FILE_MAX = 64 << 20,          /* of a file that is continued */
    OUTPUT_MAX = 8 << 20,         /* bytes of events after which texts are omitted */
    TEXT_MAX = 16 << 10,          /* of each text in the event of a step */
    TEXT_MIN = 256,               /* the same if there are many long ones */
    NAMES_MAX = 64 << 10,         /* bytes of step IDs in one event */
    PROBLEMS_SHOWN = 20,          /* of a site that cannot be loaded */
    QUIET_US = 1000000,           /* minimum interval between two lines of a step */
    REPEAT_US = 10000000,         /* and between two equal waits */
    END_RESERVED = RUN_EVENT_MAX, /* of disk space for the last event */
    NAME_BYTES = 260,
    NUMBER_MAX = 32,
};

/* --- Reading ---------------------------------------------------------------------------------- */

static bool take_text(Str text, size_t *at, const char *expected)
{
    Str prefix = str_from_c(expected);
    if (!str_starts(str_slice(text, *at, text.len), prefix)) {
        return false;
    }
    *at += prefix.len;
    return true;
}

static bool take_number(Str text, size_t *at, int64_t *out)
{
    size_t from = *at;
    while (*at < text.len && ascii_is_digit(text.data[*at])) {
        (*at)++;
    }
    return str_to_i64(str_slice(text, from, *at), out);
}

/* Lines begin as event_begin() writes them. A page that never reached the disk is all NUL bytes. */
static bool read_line(Str line, RunEventLine *out)
{
    size_t at = 0;
    int64_t n;
    if (!take_text(line, &at, "{\"n\":") || !take_number(line, &at, &n) || n <= 0 ||
        !take_text(line, &at, ",\"at_ms\":") || !take_number(line, &at, &out->at_ms) ||
        !take_text(line, &at, ",\"event\":\"")) {
        return false;
    }
    size_t quote = str_find(line, STR("\""), at);
    if (quote == STR_NOT_FOUND || !str_ends(line, STR("}")) ||
        memchr(line.data, '\0', line.len) != NULL) {
        return false;
    }
    out->n = (uint64_t)n;
    out->event = str_slice(line, at, quote);
    out->text = line;
    return true;
}

bool run_event_next(Str text, size_t *at, RunEventLine *out)
{
    size_t end = *at < text.len ? str_find(text, STR("\n"), *at) : STR_NOT_FOUND;
    if (end == STR_NOT_FOUND || !read_line(str_slice(text, *at, end), out)) {
        return false;
    }
    *at = end + 1;
    return true;
}

RunEventScan run_events_scan(Str text)
{
    RunEventScan scan = { 0 };
    RunEventLine line;
    for (size_t at = 0; run_event_next(text, &at, &line) && line.n == scan.last + 1;) {
        scan.valid_len = at;
        scan.last = line.n;
        scan.begun += str_eq_c(line.event, "begin");
        scan.first = line.n == 1 ? line : scan.first;
        scan.end = line;
    }
    return scan;
}

static Str step_of_line(const RunEventLine *line, Arena *arena)
{
    Value event;
    Error err;
    return json_parse_text(arena, line->text, NULL, &event, &err)
               ? arena_copy(arena, value_get_text(event, "step"))
               : STR_EMPTY;
}

Str run_events_running(Str text, Arena *arena)
{
    Str running = STR_EMPTY;
    RunEventLine line;
    for (size_t at = 0; run_event_next(text, &at, &line);) {
        if (str_eq_c(line.event, "start")) {
            running = step_of_line(&line, arena);
        } else if (str_eq_c(line.event, "begin") ||
                   (str_eq_c(line.event, "step") && running.len > 0 &&
                    str_eq(step_of_line(&line, arena), running))) {
            running = STR_EMPTY;
        }
    }
    return running;
}

/* --- The file --------------------------------------------------------------------------------- */

typedef struct StepNote {
    bool is_started;
    bool is_waiting;
    int64_t written_us; /* when the last event about it was written, other than its result */
    Str why;
} StepNote;

struct RunEvents {
    RunEventsSettings settings;
    Arena *arena;  /* for the notes */
    Arena scratch; /* for the event that is being written */
    Directory directory;
    FileLock lock;
    char reserve[NAME_BYTES]; /* a file with space for the last event */
    AppendFile file;
    uint64_t n; /* of the last event in the file */
    uint32_t attempts;
    bool has_begun; /* in this process */
    Run *run;
    StepNote *notes;
    RunView next;
    uint32_t lost;
    Error lost_reason;
};

/* The run of an existing file. */
static bool check_run(const RunEvents *events, const RunEventScan *scan, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value begin;
    if (scan->last == 0) {
        return true;
    }
    if (!json_parse_text(&arena, scan->first.text, NULL, &begin, err)) {
        return error_wrap(err, "%s", events->settings.path);
    }
    Str run = value_get_text(begin, "run");
    return str_eq(run, events->settings.run) ||
           error_set(err, ERROR_CONFLICT, "%s contains the events of run '%" STR_FMT "'",
                     events->settings.path, STR_ARG(run));
}

static bool continue_file(RunEvents *events, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text;
    if (!append_file_read(&events->file, &arena, FILE_MAX, &text, err)) {
        return false;
    }
    RunEventScan scan = run_events_scan(text);
    if (!check_run(events, &scan, err) ||
        (scan.valid_len < text.len &&
         !append_file_truncate(&events->file, (int64_t)scan.valid_len, err))) {
        return false;
    }
    if (events->settings.attempt > 0 && scan.begun >= events->settings.attempt) {
        return error_set(err, ERROR_CONFLICT, "another process has made attempt %u of the run",
                         events->settings.attempt);
    }
    events->n = scan.last;
    events->attempts = scan.begun;
    return true;
}

static bool take_lock(RunEvents *events, const char *name, Error *err)
{
    Str number = arena_format(&events->scratch, "%lld", (long long)process_own_pid()), found;
    return file_lock_take(&events->directory, name, number, &events->scratch, &events->lock, &found,
                          err);
}

int64_t run_events_writer(const Directory *directory, const char *name)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char lock[NAME_BYTES];
    Str text;
    int64_t number;
    Error err;
    snprintf(lock, sizeof lock, LOCK_NAME, name);
    return file_lock_is_held(directory, lock) &&
                   directory_read(directory, &arena, lock, NUMBER_MAX, &text, &err) &&
                   str_to_i64(text, &number)
               ? number
               : 0;
}

bool run_events_open(Arena *arena, const RunEventsSettings *settings, RunEvents **out, Error *err)
{
    RunEvents *events = ARENA_NEW(arena, RunEvents);
    *events = (RunEvents){ .settings = *settings,
                           .arena = arena,
                           .directory = { .descriptor = -1 },
                           .lock = { .descriptor = -1 },
                           .file = { .descriptor = -1 } };
    arena_init(&events->scratch, ARENA_UNLIMITED);
    const char *slash = strrchr(settings->path, '/');
    Str directory = slash == NULL ? STR(".")
                    : slash == settings->path
                        ? STR("/")
                        : str_from(settings->path, (size_t)(slash - settings->path));
    const char *name = slash == NULL ? settings->path : slash + 1;
    char lock[NAME_BYTES];
    snprintf(lock, sizeof lock, LOCK_NAME, name);
    snprintf(events->reserve, sizeof events->reserve, "%.240s.reserve", name);
    if (!directory_open(arena_copy_c(arena, directory), &events->directory, err) ||
        !take_lock(events, lock, err) ||
        !append_file_open(&events->directory, name, &events->file, err) ||
        !continue_file(events, err)) {
        run_events_close(events);
        return false;
    }
    directory_sync(&events->directory);
    *out = events;
    return true;
}

void run_events_close(RunEvents *events)
{
    if (events != NULL) {
        append_file_close(&events->file);
        file_lock_release(&events->lock);
        directory_close(&events->directory);
        arena_clear(&events->scratch);
    }
}

const Error *run_events_lost(const RunEvents *events)
{
    return events->lost > 0 ? &events->lost_reason : NULL;
}

/* --- Events ----------------------------------------------------------------------------------- */

static void put(RunEvents *events, Map *map, const char *key, Value value)
{
    map_append(&events->scratch, map, value_string(str_from_c(key)), value);
}

static void put_text(RunEvents *events, Map *map, const char *key, Str text)
{
    put(events, map, key, value_string(text));
}

static bool print_event(RunEvents *events, const char *event, Value fields, Buf *out, Error *err)
{
    AUTO_CLEAR(Buf) body = buf_make(BUF_UNLIMITED);
    if (events->run != NULL) {
        fields = secrets_scrub_value(events->run->secrets, fields, &events->scratch);
    }
    if (!json_print(&body, fields, NULL, err)) {
        return false;
    }
    buf_put_format(out, "{\"n\":%llu,\"at_ms\":%lld,\"event\":\"%s\"",
                   (unsigned long long)events->n + 1, (long long)clock_now_ms(), event);
    Str rest = str_slice(buf_str(&body), 1, body.len);
    buf_put(out, rest.len > 1 ? STR(",") : STR_EMPTY);
    buf_put(out, rest);
    buf_put_char(out, '\n');
    return true;
}

static bool append(RunEvents *events, Str line, bool sync, Error *err)
{
    if (!append_file_add(&events->file, line, err)) {
        return false;
    }
    events->n++;
    return !sync || append_file_sync(&events->file, err);
}

static bool write_event(RunEvents *events, const char *event, Map *fields, bool sync, Error *err)
{
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    bool ok = print_event(events, event, value_map(fields), &line, err) &&
              append(events, buf_str(&line), sync, err);
    arena_reset(&events->scratch);
    return ok;
}

static void note_lost(RunEvents *events, const Error *err)
{
    if (events->lost++ == 0) {
        events->lost_reason = *err;
    }
}

/* An event that the run does not depend on. */
static void try_event(RunEvents *events, const char *event, Map *fields, bool sync)
{
    Error err;
    if (!write_event(events, event, fields, sync, &err)) {
        note_lost(events, &err);
    }
}

static Str step_id(const RunEvents *events, uint32_t step)
{
    return graph_step(events->run->graph, step)->id;
}

static Map *step_event(RunEvents *events, uint32_t step)
{
    Map *map = map_new(&events->scratch, 4);
    put_text(events, map, "step", step_id(events, step));
    return map;
}

/* The IDs of steps from `*at` on that fit into one event. */
static List *fitting_steps(RunEvents *events, uint32_t *at)
{
    const Steps *steps = &events->run->graph->steps;
    List *list = list_new(&events->scratch, 16);
    for (size_t size = 0; *at < steps->count && size < NAMES_MAX; (*at)++) {
        size += steps->items[*at].id.len + 3;
        list_push(&events->scratch, list, value_string(steps->items[*at].id));
    }
    return list;
}

static bool begin(void *context, Error *err)
{
    RunEvents *events = context;
    Run *run = events->run;
    const Steps *steps = &run->graph->steps;
    Map *map = map_new(&events->scratch, 10);
    uint32_t at = 0;
    events->attempts++;
    put_text(events, map, "run", events->settings.run);
    put_text(events, map, "node", run->node.name);
    if (events->settings.version != NULL) {
        put_text(events, map, "version", str_from_c(events->settings.version));
    }
    put_text(events, map, "site", run->name.len > 0 ? run->name : run->home);
    put_text(events, map, "mode", run->config.planning ? STR("plan") : STR("apply"));
    put(events, map, "attempt", value_int(events->attempts));
    put(events, map, "resumed", value_bool(events->attempts > 1));
    put(events, map, "step_count", value_int(steps->count));
    put(events, map, "steps", value_list(fitting_steps(events, &at)));
    bool ok = write_event(events, "begin", map, at == steps->count, err);
    while (ok && at < steps->count) {
        map = map_new(&events->scratch, 1);
        put(events, map, "steps", value_list(fitting_steps(events, &at)));
        ok = write_event(events, "steps", map, at == steps->count, err);
    }
    if (ok && !directory_reserve(&events->directory, events->reserve, END_RESERVED)) {
        ok = error_set(err, ERROR_LIMIT, "no disk space left for the last event");
    }
    if (!ok) {
        return error_wrap(err, "cannot write the events of the run");
    }
    events->has_begun = true;
    return events->next.begun == NULL || events->next.begun(events->next.context, err);
}

static void started(void *context, uint32_t step, WorkPhase phase)
{
    RunEvents *events = context;
    StepNote *note = &events->notes[step];
    if (!note->is_started) {
        note->is_started = true;
        try_event(events, "start", step_event(events, step), false);
    }
    if (events->next.started != NULL) {
        events->next.started(events->next.context, step, phase);
    }
}

static bool may_repeat(const RunEvents *events, const StepNote *note, int64_t interval_us)
{
    return (note->written_us == 0 || clock_monotonic_us() - note->written_us >= interval_us) &&
           events->file.size < OUTPUT_MAX;
}

/* A condition that is evaluated every millisecond causes only one event. */
static void waits(void *context, uint32_t step, Str why, int64_t until_us)
{
    RunEvents *events = context;
    StepNote *note = &events->notes[step];
    bool is_same = str_eq(note->why, why);
    if (note->is_waiting != (why.len > 0) ||
        may_repeat(events, note, is_same ? REPEAT_US : QUIET_US)) {
        int64_t left_us = until_us - clock_monotonic_us();
        Map *map = step_event(events, step);
        put_text(events, map, "reason", why);
        put(events, map, "until_ms",
            value_int(until_us == 0 ? 0 : clock_now_ms() + (left_us > 0 ? left_us / 1000 : 0)));
        try_event(events, "wait", map, false);
        note->written_us = clock_monotonic_us();
        note->why = arena_copy(events->arena, why);
        note->is_waiting = why.len > 0;
    }
    if (events->next.waits != NULL) {
        events->next.waits(events->next.context, step, why, until_us);
    }
}

static void progress(void *context, uint32_t step, Str words)
{
    RunEvents *events = context;
    StepNote *note = &events->notes[step];
    if (may_repeat(events, note, QUIET_US)) {
        Map *map = step_event(events, step);
        put_text(events, map, "stream", STR("progress"));
        put_text(events, map, "text", words);
        try_event(events, "line", map, false);
        note->written_us = clock_monotonic_us();
    }
    if (events->next.progress != NULL) {
        events->next.progress(events->next.context, step, words);
    }
}

/* Truncates a text between two characters. */
static Str shorten(Str text, size_t max, bool *is_cut)
{
    if (text.len <= max) {
        return text;
    }
    *is_cut = true;
    while (max > 0 && ((unsigned char)text.data[max] & 0xc0) == 0x80) {
        max--;
    }
    return str_slice(text, 0, max);
}

static Value shorten_texts(Arena *arena, Value value, size_t max, bool *is_cut)
{
    if (value_is_string(value)) {
        return value_string(shorten(value_str(value), max, is_cut));
    }
    if (value.kind != VALUE_MAP) {
        return value;
    }
    Map *map = map_new(arena, value.map->len);
    for (uint32_t i = 0; i < value.map->len; i++) {
        const MapEntry *entry = &value.map->entries[i];
        map_append(arena, map, entry->key, shorten_texts(arena, entry->value, max, is_cut));
    }
    return value_map(map);
}

/* The fields of a step, with texts truncated to `max` bytes and without `changes`, whose size is
 * unlimited. */
static Map *short_step(RunEvents *events, uint32_t step, Value full, size_t max)
{
    bool is_cut = false;
    Map *map = step_event(events, step);
    for (uint32_t i = 0; i < full.map->len; i++) {
        const MapEntry *entry = &full.map->entries[i];
        bool is_open = value_is_string(entry->key) && (str_eq_c(value_str(entry->key), "changes") ||
                                                       str_eq_c(value_str(entry->key), "item"));
        Value value = shorten_texts(&events->scratch, entry->value, max, &is_cut);
        if (is_open && max < TEXT_MAX) {
            value = str_eq_c(value_str(entry->key), "item")
                        ? value_null()
                        : value_map(map_new(&events->scratch, 0));
            is_cut = true;
        }
        map_append(&events->scratch, map, entry->key, value);
    }
    if (is_cut) {
        put(events, map, "cut", value_bool(true));
    }
    return map;
}

static bool write_step(RunEvents *events, uint32_t step, bool sync, Error *err)
{
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    const Step *of = graph_step(events->run->graph, step);
    Value full = step_report_value(of, &run_reports(events->run)[step], &events->scratch);
    size_t max = events->file.size < OUTPUT_MAX ? TEXT_MAX : TEXT_MIN;
    do {
        buf_reset(&line);
        Value fields = value_map(short_step(events, step, full, max));
        if (!print_event(events, "step", fields, &line, err)) {
            return false;
        }
        max /= 4;
    } while (line.len > RUN_EVENT_MAX && max >= TEXT_MIN);
    return line.len > RUN_EVENT_MAX
               ? error_set(err, ERROR_LIMIT, "the event of a step is larger than %d bytes",
                           RUN_EVENT_MAX)
               : append(events, buf_str(&line), sync, err);
}

/* Results of steps that changed something must survive a crash; those of unchanged steps need
 * not. */
static void ended(void *context, uint32_t step, WorkPhase phase)
{
    RunEvents *events = context;
    StepResult result = run_reports(events->run)[step].status.result;
    bool has_acted = result == RESULT_CHANGED || result == RESULT_FAILED;
    Error err;
    if (phase != PHASE_CHECK &&
        !write_step(events, step, has_acted && !events->run->config.planning, &err)) {
        note_lost(events, &err);
    }
    arena_reset(&events->scratch);
    if (events->next.ended != NULL) {
        events->next.ended(events->next.context, step, phase);
    }
}

static void interrupted(void *context, bool again)
{
    RunEvents *events = context;
    if (events->next.interrupted != NULL) {
        events->next.interrupted(events->next.context, again);
    }
}

static void tick(void *context)
{
    RunEvents *events = context;
    if (events->next.tick != NULL) {
        events->next.tick(events->next.context);
    }
}

RunView run_events_view(RunEvents *events, Run *run, RunView next)
{
    events->run = run;
    events->next = next;
    events->notes =
        arena_alloc_zero(events->arena, (run->graph->steps.count + 1) * sizeof(StepNote));
    return (RunView){ .context = events,
                      .begun = begin,
                      .started = started,
                      .waits = waits,
                      .progress = progress,
                      .ended = ended,
                      .interrupted = interrupted,
                      .tick = tick };
}

/* --- The end ---------------------------------------------------------------------------------- */

/* The last event of this process, in the space that was reserved for it. */
static bool write_last(RunEvents *events, const char *event, Map *fields, Error *err)
{
    if (directory_has(&events->directory, events->reserve) &&
        !directory_remove(&events->directory, events->reserve, err)) {
        return false;
    }
    return write_event(events, event, fields, true, err);
}

static Value failure_value(RunEvents *events, Str step, const Problem *error)
{
    Map *map = map_new(&events->scratch, 3);
    bool is_cut = false;
    put_text(events, map, "step", step);
    put_text(events, map, "code", error->code);
    put_text(events, map, "message", shorten(error->message, PROBLEM_MESSAGE_MAX, &is_cut));
    return value_map(map);
}

static void put_first_failure(RunEvents *events, const RunReport *report, Map *map)
{
    for (uint32_t i = 0; i < report->steps->count; i++) {
        if (report->items[i].status.result == RESULT_FAILED && report->items[i].error != NULL) {
            put(events, map, "failure",
                failure_value(events, report->steps->items[i].id, report->items[i].error));
            return;
        }
    }
}

/* The texts of a debt are bounded, but there may be many debts. */
static void put_owed(RunEvents *events, const RunReport *report, Map *map)
{
    AUTO_CLEAR(Buf) size = buf_make(RUN_EVENT_MAX / 2);
    Error err;
    List *owed = report->owed != NULL ? report->owed : list_new(&events->scratch, 0);
    if (!json_print(&size, value_list(owed), NULL, &err)) {
        put(events, map, "owed_count", value_int(owed->len));
        owed = list_new(&events->scratch, 0);
    }
    put(events, map, "owed", value_list(owed));
}

bool run_events_end(RunEvents *events, Run *run, int exit_code, Error *err)
{
    const RunReport *report = run_report(run);
    const char *leaving = run_shutdown_name(run);
    Map *map = map_new(&events->scratch, 12);
    if (leaving != NULL && run->now.shutdown->resumes && run_shutdown_ready(run, err)) {
        put_text(events, map, "leaving", str_from_c(leaving));
        put_owed(events, report, map);
        return write_last(events, "leave", map, err);
    }
    put_text(events, map, "result", str_from_c(step_result_name(run_report_result(report))));
    put(events, map, "interrupted", value_bool(report->interrupted));
    put(events, map, "timed_out", value_bool(report->timed_out));
    put(events, map, "counts", run_report_counts_value(report, &events->scratch));
    put(events, map, "duration_ms", value_int(report->duration_us / 1000));
    put_owed(events, report, map);
    put_first_failure(events, report, map);
    if (leaving != NULL) {
        put_text(events, map, "leaving", str_from_c(leaving));
    }
    if (events->lost > 0) {
        put(events, map, "lost", value_int(events->lost));
    }
    put(events, map, "exit_code", value_int(exit_code));
    put_text(events, map, "digest", run_report_digest(report, &events->scratch));
    return write_last(events, "end", map, err);
}

static Value problem_value(RunEvents *events, const Problem *problem)
{
    Map *map = map_new(&events->scratch, 6);
    bool is_cut = false;
    put_text(events, map, "code", problem->code);
    put_text(events, map, "message", shorten(problem->message, PROBLEM_MESSAGE_MAX, &is_cut));
    put_text(events, map, "file", problem->file);
    put(events, map, "line", value_int(problem->line));
    put(events, map, "column", value_int(problem->column));
    put_text(events, map, "hint", shorten(problem->hint, PROBLEM_MESSAGE_MAX, &is_cut));
    return value_map(map);
}

static bool put_problems(RunEvents *events, const Problems *problems, Map *map)
{
    List *list = list_new(&events->scratch, PROBLEMS_SHOWN);
    const Problem *first = NULL;
    for (uint32_t i = 0; i < problems->count && list->len < PROBLEMS_SHOWN; i++) {
        if (problems->items[i].severity == SEVERITY_ERROR) {
            first = first == NULL ? &problems->items[i] : first;
            list_push(&events->scratch, list, problem_value(events, &problems->items[i]));
        }
    }
    if (first != NULL) {
        put(events, map, "failure", failure_value(events, STR_EMPTY, first));
        put(events, map, "problems", value_list(list));
    }
    return first != NULL;
}

static bool begin_without_run(RunEvents *events, Error *err)
{
    Map *map = map_new(&events->scratch, 6);
    events->attempts++;
    put_text(events, map, "run", events->settings.run);
    if (events->settings.version != NULL) {
        put_text(events, map, "version", str_from_c(events->settings.version));
    }
    put(events, map, "attempt", value_int(events->attempts));
    put(events, map, "resumed", value_bool(events->attempts > 1));
    put(events, map, "step_count", value_int(0));
    put(events, map, "steps", value_list(list_new(&events->scratch, 0)));
    events->has_begun = true;
    return write_event(events, "begin", map, false, err);
}

bool run_events_fail(RunEvents *events, const char *result, Str reason, const Problems *problems,
                     int exit_code, Error *err)
{
    if (!events->has_begun && !begin_without_run(events, err)) {
        return false;
    }
    Map *map = map_new(&events->scratch, 6); /* after the event above, which resets the arena */
    put_text(events, map, "result", str_from_c(result));
    if (problems == NULL || !put_problems(events, problems, map)) {
        put_text(events, map, "reason", reason);
    }
    if (events->lost > 0) {
        put(events, map, "lost", value_int(events->lost));
    }
    put(events, map, "exit_code", value_int(exit_code));
    return write_last(events, "end", map, err);
}
