/* An agent that executes orders, with the test program as the runner, and the server that it
 * reports to. */
#pragma once

#include "agent/orders.h"

#include <signal.h>
#include <sys/resource.h>

#include "net/grpc_server.h"
#include "net/world.h"
#include "rpc/methods.h"
#include "rpc/run_append.h"
#include "run/run_control.h"
#include "sys/append_file.h"
#include "sys/clock.h"
#include "sys/file_lock.h"
#include "sys/process.h"

/* --- The runner ------------------------------------------------------------------------------- */

static volatile sig_atomic_t was_interrupted;

static inline void interrupted(int number)
{
    was_interrupted = 1;
}

static inline void put_event(AppendFile *file, int *n, const char *event)
{
    char line[300];
    Error err;
    snprintf(line, sizeof line, "{\"n\":%d,\"at_ms\":%lld,\"event\":%s}\n", ++*n,
             (long long)clock_now_ms(), event);
    if (!append_file_add(file, str_from_c(line), &err)) {
        exit(100);
    }
}

static inline int last_number(const AppendFile *file)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text;
    Error err;
    return append_file_read(file, &arena, 1 << 20, &text, &err) ? (int)run_events_scan(text).last
                                                                : 0;
}

/* Runs until it gets as many interrupts as messages say, or a signal. */
static inline void hang(AppendFile *file, int *n, uint32_t interrupts)
{
    AUTO_CLEAR(RunControl) control = run_control_make(STDIN_FILENO);
    while (!was_interrupted && run_control_take(&control) < interrupts) {
        usleep(2000);
    }
    put_event(file, n, "\"end\",\"result\":\"failed\",\"interrupted\":true");
}

/* In a file "words" of the run. */
static inline bool put_words(const Directory *directory, char *const *words, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    for (; *words != NULL; words++) {
        buf_put_format(&text, "%s\n", *words);
    }
    return directory_write(directory, "words", buf_str(&text), false, err);
}

/* A file in the directory of a run: its next runner finds that another run is in progress. */
#define HELD "held"

/* The start of the run ID selects its behavior. */
static inline int act_as_runner(const char *run, char *events, char *const *words)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    AUTO_CLEAR(AppendFile) file = { .descriptor = -1 };
    FileLock lock;
    Str found;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    signal(SIGINT, strncmp(run, "tell", 4) == 0 ? SIG_IGN : interrupted);
    if (strncmp(run, "mute", 4) == 0) {
        for (int i = 0; i < 300; i++) {
            putchar('\xe9'); /* Latin-1 */
        }
        return 3;
    }
    if (strncmp(run, "trap", 4) == 0) {
        raise(SIGTRAP);
    }
    *strrchr(events, '/') = '\0';
    Str number = arena_format(&arena, "%lld", (long long)process_own_pid());
    if (!directory_open(events, &directory, &err)) {
        return 101;
    }
    if (directory_has(&directory, HELD)) {
        return directory_remove(&directory, HELD, &err) ? error_kind_exit_code(ERROR_CONFLICT)
                                                        : 102;
    }
    if (!put_words(&directory, words, &err) ||
        !file_lock_take(&directory, LOCAL_EVENTS ".lock", number, &arena, &lock, &found, &err) ||
        !append_file_open(&directory, LOCAL_EVENTS, &file, &err)) {
        return 101;
    }
    int n = last_number(&file), before = n;
    put_event(&file, &n, "\"begin\",\"run\":\"x\"");
    put_event(&file, &n, "\"start\",\"step\":\"web#a\"");
    if (strncmp(run, "kill", 4) == 0) {
        raise(SIGKILL);
    } else if (strncmp(run, "hang", 4) == 0 || (strncmp(run, "once", 4) == 0 && before == 0)) {
        hang(&file, &n, 1);
    } else if (strncmp(run, "tell", 4) == 0) {
        hang(&file, &n, 1);
    } else if (strncmp(run, "slow", 4) == 0) {
        hang(&file, &n, 2);
    } else if (strncmp(run, "deaf", 4) == 0) {
        for (;;) {
            pause();
        }
    } else if (strncmp(run, "boot", 4) == 0 && before == 0) {
        put_event(&file, &n, "\"leave\"");
    } else {
        put_event(&file, &n, "\"end\",\"result\":\"changed\",\"counts\":{\"changed\":2}");
    }
    return 0;
}

/* --- The agent -------------------------------------------------------------------------------- */

typedef struct Report {
    char run[RUN_ID_MAX + 1];
    NodeOutcome outcome;
    char reason[FLEET_REASON_MAX + 1];
    uint32_t attempts;
    uint64_t logged;
    uint32_t changed;
    int64_t started_ms;
} Report;

typedef struct Fixture {
    World world;
    Scratch *scratch;
    GrpcServer *server;
    GrpcClient *client;
    GrpcMethod method;
    bool is_connected;
    uint32_t lines; /* that the server has received */
    Directory agent, state;
    WatchedImage image;
    Orders *orders;
    const char *boot;
    Report reports[64];
    uint32_t report_count;
    bool is_full;
    OrdersFetchDone *fetched;
    void *pending_fetches[4]; /* each is answered once */
    uint32_t pending_count;
    uint32_t fetches;
} Fixture;

static inline void append_message(GrpcCall *call, Str message)
{
    Fixture *f = grpc_call_context(call);
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Buf) reply = buf_make(BUF_UNLIMITED);
    arena_init(&arena, ARENA_UNLIMITED);
    RunAppend request;
    Error err;
    Str line;
    assert_true(run_append_decode(&arena, message, &request, &err));
    while (str_split_next(&request.lines, '\n', &line)) {
        request.from += line.len > 0;
        f->lines += line.len > 0;
    }
    run_append_reply_encode(request.from, &reply);
    assert_true(grpc_call_send(call, buf_str(&reply), &err));
    grpc_call_finish(call, GRPC_OK, STR_EMPTY);
}

static inline void call_ended(GrpcCall *call, GrpcStatus status, Str text)
{
}

static const GrpcHandler handler = { .message = append_message, .ended = call_ended };

static inline void ready(void *context)
{
    loop_stop(((Fixture *)context)->world.loop);
}

static inline GrpcClient *client_of(void *context)
{
    const Fixture *f = context;
    return f->is_connected ? f->client : NULL;
}

static inline void connect_to_server(Fixture *f)
{
    Address address;
    const Listener *listener;
    Error err;
    f->method = (GrpcMethod){ method_rows[METHOD_RUNS_APPEND].path, GRPC_UNARY,
                              RUN_LINES_MAX + 1000, &handler };
    GrpcServerOptions server = grpc_server_defaults();
    server.loop = f->world.loop;
    server.methods = &f->method;
    server.method_count = 1;
    server.context = f;
    f->server = grpc_server_new(&server);
    ListenerOptions options = listener_defaults();
    assert_true(address_parse(str_from_c(scratch_place(f->scratch, "socket")), 0, &address, &err));
    assert_true(grpc_server_listen(f->server, &options, &address, &listener, &err));
    GrpcClientOptions client = grpc_client_defaults();
    client.loop = f->world.loop;
    client.address = address;
    client.ready = ready;
    client.context = f;
    f->client = grpc_client_new(&client);
    world_run(&f->world);
    f->is_connected = true;
}

static inline bool report(void *context, Str run, Str text, uint64_t *sequence, Error *err)
{
    Fixture *f = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    NodeResult result;
    if (f->is_full) {
        return error_set(err, ERROR_LIMIT, "full");
    }
    assert_true(node_result_read(&arena, text, &result, err));
    assert_true(f->report_count < COUNT_OF(f->reports));
    Report *out = &f->reports[f->report_count++];
    snprintf(out->run, sizeof out->run, "%.*s", (int)run.len, run.data);
    snprintf(out->reason, sizeof out->reason, "%.*s", (int)result.reason.len, result.reason.data);
    out->outcome = result.outcome;
    out->attempts = result.attempts;
    out->logged = result.logged;
    out->changed = result.counts.changed;
    out->started_ms = result.started_ms;
    *sequence = f->report_count;
    loop_stop(f->world.loop);
    return true;
}

static inline void fetch(void *context, Str manifest, Str version, OrdersFetchDone *fetched,
                         void *fetched_context)
{
    Fixture *f = context;
    assert_str(version, "v1");
    f->fetches++;
    f->fetched = fetched;
    assert_true(f->pending_count < COUNT_OF(f->pending_fetches));
    f->pending_fetches[f->pending_count++] = fetched_context;
}

/* The last one that is pending. */
static inline void answer_fetch(Fixture *f, const char *path)
{
    Error err;
    error_set(&err, ERROR_UNAVAILABLE, "no server");
    assert_true(f->pending_count > 0);
    f->fetched(f->pending_fetches[--f->pending_count], path, path == NULL ? NULL : "/list",
               path == NULL ? &err : NULL);
}

static inline void open_orders(Fixture *f)
{
    OrdersOptions options = { .loop = f->world.loop,
                              .node = { .directory = &f->agent,
                                        .path = f->agent.path,
                                        .state_dir = f->state.path,
                                        .config_dir = "/etc/eden",
                                        .root = "/",
                                        .name = STR("web1") },
                              .state = &f->state,
                              .boot_id = str_from_c(f->boot),
                              .fetch = fetch,
                              .report = report,
                              .client = client_of,
                              .context = f };
    f->orders = orders_open(&options);
}

static inline int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    *state = f;
    f->boot = "boot-1";
    world_open(&f->world);
    connect_to_server(f);
    assert_true(directory_make(scratch_place(f->scratch, "agent"), &f->agent, &err));
    assert_true(directory_make(scratch_place(f->scratch, "state"), &f->state, &err));
    watched_image_init(&f->image);
    open_orders(f);
    return 0;
}

static inline int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    orders_close(f->orders);
    while (f->pending_count > 0) {
        answer_fetch(f, NULL); /* too late */
    }
    watched_image_clear(&f->image);
    grpc_client_free(f->client);
    grpc_server_free(f->server);
    world_pass(&f->world, 0);
    world_close(&f->world);
    directory_close(&f->agent);
    directory_close(&f->state);
    free(f);
    return scratch_tear_down(state);
}

static inline void restart(Fixture *f)
{
    orders_close(TAKE(f->orders));
    f->report_count = 0;
    open_orders(f);
}

/* The server has this order, among others. */
static inline void put_key_at(Fixture *f, const char *id, const char *run, const char *kind,
                              int created_ms, const char *more)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text = arena_format(&arena,
                            "{\"format\":\"eden.order/1\",\"run\":\"%s\",\"kind\":\"%s\","
                            "\"created_ms\":%d,\"by\":\"user:ann\"%s}",
                            run, kind, created_ms, more);
    Str key = arena_format(&arena, "/eden/orders/web1/%s", id);
    WatchedEntry *found = watched_image_find(&f->image, key);
    if (found != NULL) {
        found->value = arena_copy(&f->image.arena, text);
    } else {
        watched_image_add(&f->image, &(WatchedEntry){ .key = key, .value = text });
    }
}

static inline void put_key(Fixture *f, const char *id, const char *run, const char *kind,
                           const char *more)
{
    put_key_at(f, id, run, kind, 5, more);
}

#define COMMAND  ",\"command\":[\"true\"]"
#define MANIFEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SITE     ",\"version\":\"v1\",\"manifest\":\"" MANIFEST "\""

static inline void put_exec(Fixture *f, const char *run)
{
    put_key(f, run, run, "exec", COMMAND);
}

static inline void put_apply(Fixture *f, const char *run)
{
    put_key(f, run, run, "apply", SITE);
}

/* The server has no orders anymore. */
static inline void withdraw(Fixture *f)
{
    watched_image_clear(&f->image);
    watched_image_init(&f->image);
    orders_set(f->orders, &f->image);
}

static inline void take(Fixture *f)
{
    orders_set(f->orders, &f->image);
}

/* The last report about the run; NULL: none. */
static inline const Report *last_report(const Fixture *f, const char *run)
{
    const Report *found = NULL;
    for (uint32_t i = 0; i < f->report_count; i++) {
        found = strcmp(f->reports[i].run, run) == 0 ? &f->reports[i] : found;
    }
    return found;
}

/* Waits until this is reported, and returns it. */
static inline const Report *wait_for(Fixture *f, const char *run, NodeOutcome outcome)
{
    const Report *found;
    while ((found = last_report(f, run)) == NULL || found->outcome != outcome) {
        world_run(&f->world);
    }
    return found;
}

static inline uint32_t count_reports(const Fixture *f, const char *run, NodeOutcome outcome)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->report_count; i++) {
        count += strcmp(f->reports[i].run, run) == 0 && f->reports[i].outcome == outcome;
    }
    return count;
}

/* From the disk. */
static inline LocalRun *load(Fixture *f, const char *run)
{
    LocalRun *loaded;
    Error err;
    if (!local_run_load(&f->agent, str_from_c(run), &loaded, &err)) {
        fail_msg("%s", err.text);
    }
    return loaded;
}

/* Number of attempts that have begun, also by runners of earlier agents. */
static inline uint32_t count_begun(Fixture *f, const char *run)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    LocalRun *loaded = load(f, run);
    Str text;
    Error err;
    assert_true(local_run_events(&f->agent, loaded, &arena, &text, &err));
    local_run_free(loaded);
    return run_events_scan(text).begun;
}

static inline void wait_begun(Fixture *f, const char *run, uint32_t attempts)
{
    while (count_begun(f, run) < attempts) {
        world_pass(&f->world, 5);
    }
}

/* The runner dies while the agent is down. */
static inline void lose_runner(Fixture *f, const char *run)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    LocalRun *loaded = load(f, run);
    assert_true(local_run_open(&f->agent, loaded, &directory, &err));
    local_run_free(loaded);
    int64_t writer;
    while ((writer = run_events_writer(&directory, LOCAL_EVENTS)) != 0) {
        kill((pid_t)writer, SIGKILL);
        usleep(1000);
    }
}

static inline bool has_directory(Fixture *f, const char *run)
{
    AUTO_CLEAR(Directory) runs = { .descriptor = -1 };
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    return directory_open_child(&f->agent, LOCAL_RUNS, &runs, &err) &&
           directory_open_child(&runs, run, &directory, &err);
}
