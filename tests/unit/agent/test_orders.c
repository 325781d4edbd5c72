/* The cluster's orders on a node, with this program as the runner: what an agent starts, recovers,
 * reports, and never does twice. */
#include "agent/orders.h"

#include <signal.h>
#include <sys/resource.h>

#include "net/grpc_server.h"
#include "net/world.h"
#include "rpc/methods.h"
#include "rpc/run_append.h"
#include "run/run_control.h"
#include "sys/append_file.h"
#include "sys/file_lock.h"
#include "sys/process.h"

/* --- The runner ------------------------------------------------------------------------------- */

static volatile sig_atomic_t was_interrupted;

static void interrupted(int number)
{
    was_interrupted = 1;
}

static void put_event(AppendFile *file, int *n, const char *event)
{
    char line[300];
    Error err;
    snprintf(line, sizeof line, "{\"n\":%d,\"at_ms\":5,\"event\":%s}\n", ++*n, event);
    if (!append_file_add(file, str_from_c(line), &err)) {
        exit(100);
    }
}

static int last_number(const AppendFile *file)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text;
    Error err;
    return append_file_read(file, &arena, 1 << 20, &text, &err) ? (int)run_events_scan(text).last
                                                                : 0;
}

/* Runs until it gets a message, or a signal. */
static void hang(AppendFile *file, int *n)
{
    AUTO_CLEAR(RunControl) control = run_control_make(STDIN_FILENO);
    while (!was_interrupted && run_control_take(&control) == 0) {
        usleep(2000);
    }
    put_event(file, n, "\"end\",\"result\":\"failed\",\"interrupted\":true");
}

/* In a file "words" of the run. */
static bool put_words(const Directory *directory, char *const *words, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    for (; *words != NULL; words++) {
        buf_put_format(&text, "%s\n", *words);
    }
    return directory_write(directory, "words", buf_str(&text), false, err);
}

/* The start of the run ID selects its behavior. */
static int act_as_runner(const char *run, char *events, char *const *words)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    AUTO_CLEAR(AppendFile) file = { .descriptor = -1 };
    FileLock lock;
    Str found;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    signal(SIGINT, interrupted);
    if (strncmp(run, "mute", 4) == 0) {
        for (int i = 0; i < 300; i++) {
            putchar('\xe9'); /* Latin-1 */
        }
        return 3;
    }
    *strrchr(events, '/') = '\0';
    Str number = arena_format(&arena, "%lld", (long long)process_own_number());
    if (!directory_open(events, &directory, &err) || !put_words(&directory, words, &err) ||
        !file_lock_take(&directory, LOCAL_EVENTS ".lock", number, &arena, &lock, &found, &err) ||
        !append_file_open(&directory, LOCAL_EVENTS, &file, &err)) {
        return 101;
    }
    int n = last_number(&file);
    put_event(&file, &n, "\"begin\",\"run\":\"x\"");
    put_event(&file, &n, "\"start\",\"step\":\"web#a\"");
    if (strncmp(run, "kill", 4) == 0) {
        raise(SIGKILL);
    } else if (strncmp(run, "hang", 4) == 0) {
        hang(&file, &n);
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
    void *fetched_context;
    uint32_t fetches;
} Fixture;

static void append_message(GrpcCall *call, Str message)
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

static void call_ended(GrpcCall *call, GrpcStatus status, Str text)
{
}

static const GrpcHandler handler = { .message = append_message, .ended = call_ended };

static void ready(void *context)
{
    loop_stop(((Fixture *)context)->world.loop);
}

static GrpcClient *client_of(void *context)
{
    const Fixture *f = context;
    return f->is_connected ? f->client : NULL;
}

static void connect_to_server(Fixture *f)
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

static bool report(void *context, Str run, Str text, uint64_t *sequence, Error *err)
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
    *sequence = f->report_count;
    loop_stop(f->world.loop);
    return true;
}

static void fetch(void *context, Str manifest, Str version, OrdersFetchDone *fetched,
                  void *fetched_context)
{
    Fixture *f = context;
    assert_str(version, "v1");
    f->fetches++;
    f->fetched = fetched;
    f->fetched_context = fetched_context;
}

static void answer_fetch(Fixture *f, const char *path)
{
    Error err;
    error_set(&err, ERROR_UNAVAILABLE, "no server");
    assert_non_null(f->fetched);
    TAKE(f->fetched)
    (TAKE(f->fetched_context), path, path == NULL ? NULL : "/list", path == NULL ? &err : NULL);
}

static void open_orders(Fixture *f)
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

static int set_up(void **state)
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

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    orders_close(f->orders);
    if (f->fetched != NULL) {
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

static void restart(Fixture *f)
{
    orders_close(TAKE(f->orders));
    f->report_count = 0;
    open_orders(f);
}

/* The server has this order, among others. */
static void put_key(Fixture *f, const char *id, const char *run, const char *kind, const char *more)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text = arena_format(&arena,
                            "{\"format\":\"eden.order/1\",\"run\":\"%s\",\"kind\":\"%s\","
                            "\"created_ms\":5,\"by\":\"user:ann\"%s}",
                            run, kind, more);
    Str key = arena_format(&arena, "/eden/orders/web1/%s", id);
    WatchedEntry *found = watched_image_find(&f->image, key);
    if (found != NULL) {
        found->value = arena_copy(&f->image.arena, text);
    } else {
        watched_image_add(&f->image, &(WatchedEntry){ .key = key, .value = text });
    }
}

#define COMMAND  ",\"command\":[\"true\"]"
#define MANIFEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SITE     ",\"version\":\"v1\",\"manifest\":\"" MANIFEST "\""

static void put_exec(Fixture *f, const char *run)
{
    put_key(f, run, run, "exec", COMMAND);
}

static void put_apply(Fixture *f, const char *run)
{
    put_key(f, run, run, "apply", SITE);
}

/* The server has no orders anymore. */
static void withdraw(Fixture *f)
{
    watched_image_clear(&f->image);
    watched_image_init(&f->image);
    orders_set(f->orders, &f->image);
}

static void take(Fixture *f)
{
    orders_set(f->orders, &f->image);
}

/* The last report about the run; NULL: none. */
static const Report *last_report(const Fixture *f, const char *run)
{
    const Report *found = NULL;
    for (uint32_t i = 0; i < f->report_count; i++) {
        found = strcmp(f->reports[i].run, run) == 0 ? &f->reports[i] : found;
    }
    return found;
}

/* Waits until this is reported, and returns it. */
static const Report *wait_for(Fixture *f, const char *run, NodeOutcome outcome)
{
    const Report *found;
    while ((found = last_report(f, run)) == NULL || found->outcome != outcome) {
        world_run(&f->world);
    }
    return found;
}

static uint32_t count_reports(const Fixture *f, const char *run, NodeOutcome outcome)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->report_count; i++) {
        count += strcmp(f->reports[i].run, run) == 0 && f->reports[i].outcome == outcome;
    }
    return count;
}

/* From the disk. */
static LocalRun *load(Fixture *f, const char *run)
{
    LocalRun *loaded;
    Error err;
    if (!local_run_load(&f->agent, str_from_c(run), &loaded, &err)) {
        fail_msg("%s", err.text);
    }
    return loaded;
}

static bool has_directory(Fixture *f, const char *run)
{
    AUTO_CLEAR(Directory) runs = { .descriptor = -1 };
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    return directory_open_child(&f->agent, LOCAL_RUNS, &runs, &err) &&
           directory_open_child(&runs, run, &directory, &err);
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void a_run_is_reported_from_its_order_to_its_end(void **state)
{
    Fixture *f = *state;
    put_apply(f, "ok-1");
    take(f);
    const Report *waiting = wait_for(f, "ok-1", NODE_WAITING);
    assert_string_equal(waiting->reason, "fetching version v1");
    answer_fetch(f, f->scratch->path);
    wait_for(f, "ok-1", NODE_RUNNING);
    const Report *end = wait_for(f, "ok-1", NODE_CHANGED);
    assert_int_equal(end->attempts, 1);
    assert_int_equal(end->logged, 3);
    assert_int_equal(end->changed, 2);
    assert_int_equal(f->lines, 3);
    assert_int_equal(f->fetches, 1);
}

static void a_runner_gets_what_templates_see(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    Str text;
    put_key(f, "words-1", "words-1", "apply", SITE ",\"event\":{\"name\":\"down\"}");
    take(f);
    answer_fetch(f, f->scratch->path);
    wait_for(f, "words-1", NODE_CHANGED);
    LocalRun *run = load(f, "words-1");
    assert_true(local_run_open(&f->agent, run, &directory, &err));
    local_run_free(run);
    assert_true(directory_read(&directory, &f->scratch->arena, "words", 10000, &text, &err));
    assert_true(str_find(text, STR("--servers\n/list\n"), 0) != STR_NOT_FOUND);
    assert_true(str_find(text, STR("/words-1/event.json\n"), 0) != STR_NOT_FOUND);
    assert_true(directory_read(&directory, &f->scratch->arena, LOCAL_EVENT, 10000, &text, &err));
    assert_str(text, "{\"name\":\"down\"}");
}

static void a_result_is_reported_after_its_events_and_once(void **state)
{
    Fixture *f = *state;
    f->is_connected = false;
    put_exec(f, "ok-1");
    take(f);
    wait_for(f, "ok-1", NODE_RUNNING);
    world_pass(&f->world, 300);
    assert_int_equal(count_reports(f, "ok-1", NODE_CHANGED), 0);
    f->is_connected = true;
    orders_connected(f->orders);
    wait_for(f, "ok-1", NODE_CHANGED);
    orders_room(f->orders);
    world_pass(&f->world, 50);
    assert_int_equal(count_reports(f, "ok-1", NODE_CHANGED), 1);

    /* It is not yet in the outbox on the disk. */
    restart(f);
    take(f);
    wait_for(f, "ok-1", NODE_CHANGED);
    orders_stored(f->orders, f->report_count);
    restart(f);
    take(f);
    world_pass(&f->world, 50);
    assert_int_equal(f->report_count, 0);
}

static void a_full_outbox_delays_reports(void **state)
{
    Fixture *f = *state;
    f->is_full = true;
    put_exec(f, "ok-1");
    put_key(f, "bad-1", "bad-1", "exec", "");
    take(f);
    world_pass(&f->world, 300);
    assert_int_equal(f->report_count, 0);
    f->is_full = false;
    orders_room(f->orders);
    wait_for(f, "ok-1", NODE_CHANGED);
    wait_for(f, "bad-1", NODE_FAILED);
}

static void useless_runner_output_is_explained(void **state)
{
    Fixture *f = *state;
    put_exec(f, "mute-1");
    take(f);
    const Report *end = wait_for(f, "mute-1", NODE_FAILED);
    assert_non_null(strstr(end->reason, "the runner exited with status 3: \\xe9"));
    put_exec(f, "kill-1");
    take(f);
    end = wait_for(f, "kill-1", NODE_FAILED);
    assert_string_equal(end->reason, "the runner was killed by SIGKILL while step 'web#a' ran");
}

static void a_canceled_run_is_interrupted(void **state)
{
    Fixture *f = *state;
    put_exec(f, "hang-1");
    take(f);
    wait_for(f, "hang-1", NODE_RUNNING);
    while (f->lines < 2) { /* it has begun */
        world_pass(&f->world, 10);
    }
    put_key(f, "hang-1", "hang-1", "exec", COMMAND ",\"canceled\":true");
    take(f);
    wait_for(f, "hang-1", NODE_CANCELED);
    LocalRun *run = load(f, "hang-1");
    assert_int_equal(run->state.signals, 1);
    local_run_free(run);
}

static void the_next_agent_finds_the_runner(void **state)
{
    Fixture *f = *state;
    put_exec(f, "hang-1");
    take(f);
    while (f->lines < 2) {
        world_pass(&f->world, 10);
    }
    restart(f);
    take(f);
    world_pass(&f->world, 50);
    assert_int_equal(last_report(f, "hang-1")->outcome, NODE_RUNNING);
    put_key(f, "hang-1", "hang-1", "exec", COMMAND ",\"canceled\":true");
    take(f);
    const Report *end = wait_for(f, "hang-1", NODE_CANCELED);
    assert_int_equal(end->attempts, 1);
    assert_int_equal(end->logged, 3);
}

/* The runner dies while the agent is down. */
static void lose_runner(Fixture *f, const char *run)
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

static void a_lost_command_is_not_repeated(void **state)
{
    Fixture *f = *state;
    put_exec(f, "hang-1");
    take(f);
    while (f->lines < 2) {
        world_pass(&f->world, 10);
    }
    orders_close(TAKE(f->orders));
    lose_runner(f, "hang-1");
    open_orders(f);
    take(f);
    const Report *end = wait_for(f, "hang-1", NODE_FAILED);
    assert_string_equal(end->reason, "it was interrupted, and commands are not repeated");
}

static void a_lost_site_run_is_applied_again(void **state)
{
    Fixture *f = *state;
    put_apply(f, "hang-1");
    take(f);
    answer_fetch(f, f->scratch->path);
    while (f->lines < 2) {
        world_pass(&f->world, 10);
    }
    orders_close(TAKE(f->orders));
    lose_runner(f, "hang-1");
    open_orders(f);
    f->report_count = 0;
    take(f);
    wait_for(f, "hang-1", NODE_WAITING);
    answer_fetch(f, f->scratch->path);
    const Report *running = wait_for(f, "hang-1", NODE_RUNNING);
    assert_int_equal(running->attempts, 2);
    while (f->lines < 4) {
        world_pass(&f->world, 10);
    }
    orders_close(TAKE(f->orders));
    lose_runner(f, "hang-1");
    open_orders(f);
}

static void unreadable_events_count_as_possibly_begun(void **state)
{
    Fixture *f = *state;
    put_exec(f, "hang-1");
    take(f);
    while (f->lines < 2) {
        world_pass(&f->world, 10);
    }
    orders_close(TAKE(f->orders));
    lose_runner(f, "hang-1");
    assert_int_equal(remove(scratch_place(f->scratch, "agent/runs/hang-1/" LOCAL_EVENTS)), 0);
    assert_int_equal(mkdir(scratch_place(f->scratch, "agent/runs/hang-1/" LOCAL_EVENTS), 0700), 0);
    open_orders(f);
    take(f);
    wait_for(f, "hang-1", NODE_FAILED);
}

static void a_damaged_run_is_not_executed_again(void **state)
{
    static const char *const files[] = { "state.json", "result.json", "order.json" };
    Fixture *f = *state;
    put_exec(f, "ok-1");
    take(f);
    wait_for(f, "ok-1", NODE_CHANGED);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        const char *name =
            arena_copy_c(&arena, arena_format(&arena, "agent/runs/ok-1/%s", files[i]));
        const char *kept = scratch_place(f->scratch, "kept");
        orders_close(TAKE(f->orders));
        assert_int_equal(rename(scratch_place(f->scratch, name), kept), 0);
        if (i < 2) {
            scratch_put(f->scratch, name, "{\"format\":\"eden.x/1\"");
        }
        f->report_count = 0;
        open_orders(f);
        take(f);
        const Report *refused = wait_for(f, "ok-1", NODE_FAILED);
        assert_non_null(strstr(refused->reason, "the state of the run on this node is damaged"));
        take(f);
        assert_int_equal(f->report_count, 1);
        assert_int_equal(f->lines, 3);
        assert_int_equal(rename(kept, scratch_place(f->scratch, name)), 0);
    }
    withdraw(f);
    assert_false(has_directory(f, "ok-1"));
}

static void nothing_starts_until_the_runs_on_disk_are_known(void **state)
{
    Fixture *f = *state;
    const char *runs = scratch_place(f->scratch, "agent/runs");
    const char *kept = scratch_place(f->scratch, "kept");
    put_exec(f, "ok-1");
    take(f);
    wait_for(f, "ok-1", NODE_CHANGED);
    orders_close(TAKE(f->orders));
    assert_int_equal(rename(runs, kept), 0);
    scratch_put(f->scratch, "agent/runs", "not a directory");
    f->report_count = 0;
    open_orders(f);
    put_exec(f, "ok-2");
    take(f);
    world_pass(&f->world, 50);
    assert_int_equal(f->report_count, 0);
    assert_int_equal(remove(runs), 0);
    assert_int_equal(rename(kept, runs), 0);
    take(f);
    wait_for(f, "ok-2", NODE_CHANGED);
    assert_int_equal(wait_for(f, "ok-1", NODE_CHANGED)->attempts, 1);
    assert_int_equal(count_reports(f, "ok-1", NODE_RUNNING), 0);
}

static void an_unreadable_order_is_rejected_once(void **state)
{
    Fixture *f = *state;
    put_exec(f, "hang-1");
    take(f);
    wait_for(f, "hang-1", NODE_RUNNING);
    put_key(f, "bad-1", "bad-1", "exec", "");
    put_key(f, "bad-2", "hang-1", "exec", COMMAND); /* of another run */
    put_key(f, "..", "x", "exec", COMMAND);
    take(f);
    take(f);
    assert_int_equal(count_reports(f, "bad-1", NODE_FAILED), 1);
    assert_int_equal(count_reports(f, "bad-2", NODE_FAILED), 1);
    assert_null(last_report(f, ".."));
    assert_true(has_directory(f, "hang-1"));
    put_exec(f, "bad-1"); /* the server has corrected it */
    put_key(f, "hang-1", "hang-1", "exec", COMMAND ",\"canceled\":true");
    take(f);
    wait_for(f, "bad-1", NODE_CHANGED);
    wait_for(f, "hang-1", NODE_CANCELED);
}

static void a_full_disk_delays_an_order(void **state)
{
    Fixture *f = *state;
    struct rlimit before, none = { 0 };
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    put_exec(f, "ok-1");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    take(f);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(f->report_count, 0);
    orders_room(f->orders);
    wait_for(f, "ok-1", NODE_CHANGED);
}

static void a_full_disk_delays_a_start(void **state)
{
    Fixture *f = *state;
    struct rlimit before, none = { 0 };
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    put_apply(f, "ok-1");
    take(f);
    answer_fetch(f, f->scratch->path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    world_pass(&f->world, 50);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(count_reports(f, "ok-1", NODE_RUNNING), 0);
    orders_room(f->orders);
    const Report *end = wait_for(f, "ok-1", NODE_CHANGED);
    assert_int_equal(end->attempts, 1);
}

static void a_withdrawn_order_is_forgotten_before_it_starts(void **state)
{
    Fixture *f = *state;
    put_apply(f, "ok-1");
    take(f);
    wait_for(f, "ok-1", NODE_WAITING);
    assert_true(has_directory(f, "ok-1"));
    withdraw(f);
    assert_false(has_directory(f, "ok-1"));
}

static void a_second_site_waits_for_the_first_and_a_command_does_not(void **state)
{
    Fixture *f = *state;
    put_apply(f, "hang-1");
    put_apply(f, "ok-2");
    put_exec(f, "ok-3");
    take(f);
    answer_fetch(f, f->scratch->path);
    const Report *waiting = wait_for(f, "ok-2", NODE_WAITING);
    assert_string_equal(waiting->reason, "waiting for run hang-1");
    wait_for(f, "ok-3", NODE_CHANGED);
    wait_for(f, "hang-1", NODE_RUNNING);
    while (f->lines < 5) {
        world_pass(&f->world, 10);
    }
    put_key(f, "hang-1", "hang-1", "apply", SITE ",\"canceled\":true");
    take(f);
    wait_for(f, "hang-1", NODE_CANCELED);
    answer_fetch(f, f->scratch->path);
    wait_for(f, "ok-2", NODE_CHANGED);
}

static void a_site_that_cannot_be_fetched_is_explained(void **state)
{
    Fixture *f = *state;
    put_apply(f, "ok-1");
    take(f);
    answer_fetch(f, NULL);
    while (strcmp(wait_for(f, "ok-1", NODE_WAITING)->reason,
                  "cannot fetch version v1: no server") != 0) {
        world_run(&f->world);
    }
    put_key(f, "ok-1", "ok-1", "apply", SITE ",\"canceled\":true");
    take(f);
    const Report *end = wait_for(f, "ok-1", NODE_CANCELED);
    assert_string_equal(end->reason, "it was canceled before it started");
    assert_int_equal(f->fetches, 1);
}

static void old_runs_are_removed_when_the_server_knows_them(void **state)
{
    Fixture *f = *state;
    char run[32];
    for (int i = 0; i < LOCAL_RUNS_KEPT + 3; i++) {
        snprintf(run, sizeof run, "late-%02d", i);
        put_key(f, run, run, "exec", COMMAND ",\"expires_ms\":6");
    }
    take(f);
    assert_int_equal(f->report_count, LOCAL_RUNS_KEPT + 3);
    assert_int_equal(last_report(f, "late-00")->outcome, NODE_SKIPPED);
    withdraw(f);
    assert_true(has_directory(f, "late-00")); /* its result may be lost */
    orders_stored(f->orders, f->report_count);
    withdraw(f);
    assert_false(has_directory(f, "late-00"));
    assert_false(has_directory(f, "late-02"));
    assert_true(has_directory(f, "late-03"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    if (argc > 5 && strcmp(argv[1], "apply") == 0) {
        return act_as_runner(argv[3], argv[5], argv);
    }
    const struct CMUnitTest tests[] = {
        TEST(a_run_is_reported_from_its_order_to_its_end),
        TEST(a_runner_gets_what_templates_see),
        TEST(a_result_is_reported_after_its_events_and_once),
        TEST(a_full_outbox_delays_reports),
        TEST(useless_runner_output_is_explained),
        TEST(a_canceled_run_is_interrupted),
        TEST(the_next_agent_finds_the_runner),
        TEST(a_lost_command_is_not_repeated),
        TEST(a_lost_site_run_is_applied_again),
        TEST(unreadable_events_count_as_possibly_begun),
        TEST(a_damaged_run_is_not_executed_again),
        TEST(nothing_starts_until_the_runs_on_disk_are_known),
        TEST(an_unreadable_order_is_rejected_once),
        TEST(a_full_disk_delays_an_order),
        TEST(a_full_disk_delays_a_start),
        TEST(a_withdrawn_order_is_forgotten_before_it_starts),
        TEST(a_second_site_waits_for_the_first_and_a_command_does_not),
        TEST(a_site_that_cannot_be_fetched_is_explained),
        TEST(old_runs_are_removed_when_the_server_knows_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
