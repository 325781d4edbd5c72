/* Input: files of a run as a power failure or a faulty disk may leave them: its events, state and
 * result on a node, and its log on a server. Invariants: an accepted file can be written and read
 * again; a continued log has every event that was acknowledged; a line of a log has the name of its
 * node once, and otherwise what the node sent. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/local_run.h"
#include "base/bug.h"
#include "fleet/log_lines.h"
#include "fleet/run_logs.h"
#include "lang/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ORDER                                                                               \
    "{\"format\":\"eden.order/1\",\"run\":\"r1\",\"kind\":\"exec\",\"command\":[\"true\"]," \
    "\"created_ms\":5}"

static void put(const Directory *directory, const char *name, Str text)
{
    Error err;
    bool ok = directory_write(directory, name, text, false, &err);
    BUG_IF(!ok);
}

static void check_same(const LocalRun *first, const LocalRun *second)
{
    BUG_IF(first->state.phase != second->state.phase ||
           first->state.attempts != second->state.attempts ||
           first->state.is_reported != second->state.is_reported ||
           strcmp(first->state.boot, second->state.boot) != 0 ||
           first->has_result != second->has_result ||
           (first->has_result && first->result.outcome != second->result.outcome));
}

/* In the order of their names: the events, the result, the state. */
static void read_run(const Directory *agent, Arena *arena, Str text)
{
    static const char *const files[] = { "state.json", "result.json", "order.json" };
    LocalRun *run, *again;
    Error err;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
        bool ok = local_run_create(agent, STR("r1"), STR(ORDER), 7, &run, &err) &&
                  local_run_open(agent, run, &directory, &err);
        BUG_IF(!ok);
        local_run_free(run);
        put(&directory, files[i], text);
        if (!local_run_load(agent, STR("r1"), &run, &err)) {
            BUG_IF(err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT);
            continue;
        }
        ok = local_run_save(agent, run, &err) &&
             (!run->has_result || local_run_conclude(agent, run, &run->result, &err)) &&
             local_run_load(agent, STR("r1"), &again, &err);
        BUG_IF(!ok);
        check_same(run, again);
        local_run_free(run);
        local_run_free(again);
    }
    Str step = run_events_running(text, arena);
    BUG_IF(step.len > text.len);
}

/* Turns the last event into a result that can be stored. */
static void read_events(const Directory *agent, Arena *arena, Str text)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    LocalRun *run;
    NodeResult result;
    Str events;
    Error err;
    bool ok = local_run_create(agent, STR("r1"), STR(ORDER), 7, &run, &err) &&
              local_run_open(agent, run, &directory, &err);
    BUG_IF(!ok);
    put(&directory, LOCAL_EVENTS, text);
    ok = local_run_events(agent, run, arena, &events, &err);
    BUG_IF(!ok || events.len > text.len);
    RunEventScan scan = run_events_scan(events);
    BUG_IF(scan.valid_len != events.len);
    if (local_run_tail(run, &scan) == TAIL_ENDED &&
        local_run_result(arena, scan.end.text, &result, &err)) {
        result.since_ms = 1;
        ok = local_run_conclude(agent, run, &result, &err);
        BUG_IF(!ok);
    }
    local_run_free(run);
}

typedef struct Append {
    Loop *loop;
    uint64_t next;
    bool ok;
} Append;

static void appended(void *context, uint64_t next, const Error *err)
{
    Append *append = context;
    append->next = next;
    append->ok = err == NULL;
    loop_stop(append->loop);
}

/* Returns the number of the node's next event. */
static uint64_t append(Loop *loop, RunLogs *logs, uint64_t from, Str lines)
{
    Append one = { .loop = loop };
    Error err;
    bool ok = run_logs_append(logs, &(RunLogLines){ STR("r1"), STR("web1"), from, lines }, appended,
                              &one, &err);
    BUG_IF(!ok);
    loop_run(loop);
    BUG_IF(!one.ok);
    return one.next;
}

static bool has_event(RunLogs *logs, Arena *arena, Str event)
{
    AUTO(RunLogReader) *reader = NULL;
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    bool is_end = false;
    Error err;
    bool ok = run_log_read(logs, STR("r1"), STR("web1"), STR_EMPTY, &reader, &err);
    while (ok && !is_end) {
        ok = run_log_reader_next(reader, 1 << 20, &text, &is_end, &err);
    }
    BUG_IF(!ok);
    return str_find(buf_str(&text), event, 0) != STR_NOT_FOUND;
}

static void read_log(const char *path, Arena *arena, Str text)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Loop *loop = loop_new();
    RunLogs *logs;
    Error err;
    bool ok = run_logs_open(loop, path, &logs, &err) && directory_open(path, &directory, &err);
    BUG_IF(!ok);
    put(&directory, "r1.ndjson", text);
    uint64_t next = append(loop, logs, 0, STR_EMPTY);
    Str event =
        arena_format(arena, "\"n\":%llu,\"at_ms\":1,\"event\":\"end\"}", (unsigned long long)next);
    Str line = arena_format(arena, "{%" STR_FMT "\n", STR_ARG(event));
    BUG_IF(append(loop, logs, next, line) != next + 1 || !has_event(logs, arena, event));
    run_logs_close(logs);
    ok = run_logs_open(loop, path, &logs, &err);
    BUG_IF(!ok || append(loop, logs, 0, STR_EMPTY) != next + 1);
    run_logs_close(logs);
    loop_free(loop);
}

static void print_without_node(Arena *arena, Str text, Buf *out)
{
    Value event;
    Error err;
    Map *map = map_new(arena, 8);
    bool ok = json_parse_text(arena, text, NULL, &event, &err);
    BUG_IF(!ok);
    for (uint32_t i = 0; i < event.map->len; i++) {
        if (!str_eq(value_str(event.map->entries[i].key), STR("node"))) {
            map_append(arena, map, event.map->entries[i].key, event.map->entries[i].value);
        }
    }
    ok = json_print(out, value_map(map), NULL, &err);
    BUG_IF(!ok);
}

static void send_events(Arena *arena, Str text)
{
    AUTO_CLEAR(LogSender) sender;
    RunEventLine event;
    size_t at = 0;
    log_sender_init(&sender, STR("web1"));
    for (size_t from = 0; run_event_next(text, &at, &event); from = at) {
        Error err;
        if (!log_sender_check(&sender, str_slice(text, from, at), event.n, &event, &err)) {
            BUG_IF(err.kind != ERROR_INVALID);
            continue;
        }
        Buf line = buf_make_in(arena, BUF_UNLIMITED), sent = line, stored = line;
        Str node, own;
        log_sender_put(&sender, &event, &line);
        BUG_IF(!log_line_split(buf_str(&line), &node, &own) || !str_eq(node, STR("web1")));
        print_without_node(arena, event.text, &sent);
        print_without_node(arena, buf_str(&line), &stored);
        BUG_IF(!str_eq(buf_str(&sent), buf_str(&stored)));
    }
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    return remove(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    char path[] = "/tmp/eden_fuzz.XXXXXX";
    Str text = str_from((const char *)data, size);
    Error err;
    BUG_IF(mkdtemp(path) == NULL);
    bool ok = directory_open(path, &agent, &err);
    BUG_IF(!ok);
    read_run(&agent, &arena, text);
    read_events(&agent, &arena, text);
    send_events(&arena, text);
    read_log(arena_copy_c(&arena, arena_format(&arena, "%s/logs", path)), &arena, text);
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
