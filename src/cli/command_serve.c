/* eden serve: runs the server of a cluster. */
#include <stdlib.h>

#include "base/log.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "lang/duration.h"
#include "server/create_cluster.h"
#include "server/server.h"
#include "sys/daemon.h"
#include "sys/directory.h"
#include "sys/privilege.h"
#include "sys/process_memory.h"

enum {
    GRACE_MS = 5000,         /* for calls in progress at shutdown */
    CONNECTIONS_MAX = 40000, /* with TLS: two listeners, each with its default maximum */
};

typedef struct ServeProcess {
    Loop *loop;
    Daemon *daemon;
    Server *server;  /* NULL once closed */
    LoopTimer drain; /* delays the closing of the listeners */
    int64_t drain_ms;
    bool is_closing;
    bool has_failed;
    Error failure;
} ServeProcess;

static void on_closed(void *context)
{
    ServeProcess *process = context;
    process->server = NULL;
    loop_stop(process->loop);
}

static void close_server(ServeProcess *process, int64_t grace_ms)
{
    if (!process->is_closing) {
        process->is_closing = true;
        loop_timer_stop(&process->drain);
        daemon_stopping(process->daemon);
        log_info("stopping");
        server_close(process->server, grace_ms, on_closed, process);
    }
}

static void on_ready(void *context)
{
    ServeProcess *process = context;
    uint16_t rpc = server_rpc_port(process->server), api = server_api_port(process->server);
    log_info("listening", LOG_INT("rpc_port", rpc), LOG_INT("api_port", api));
    daemon_status(process->daemon, "listening on ports %u (nodes) and %u (API)", rpc, api);
    daemon_ready(process->daemon);
}

static void on_failed(void *context, const Error *err)
{
    ServeProcess *process = context;
    log_error("fatal error", LOG_C("error", err->text));
    process->has_failed = true;
    process->failure = *err;
    close_server(process, 0);
}

static void on_drained(void *context)
{
    close_server(context, GRACE_MS);
}

/* A second signal skips the wait. */
static void on_stop(void *context)
{
    ServeProcess *process = context;
    if (process->drain_ms == 0 || loop_timer_started(&process->drain)) {
        on_drained(process);
    } else if (!process->is_closing) {
        log_info("shutting down", LOG_INT("after_ms", process->drain_ms));
        daemon_status(process->daemon, "shutting down");
        server_drain(process->server);
        loop_timer_start(&process->drain, process->drain_ms);
    }
}

/* Creates the directory of the socket, owned by the owner of the server's state directory. A server
 * that was started as root switches to that user here. */
static bool prepare_directories(const Invocation *invocation, const char *run_dir, Error *err)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    AUTO_CLEAR(Directory) run = { .descriptor = -1 };
    AUTO_CLEAR(Directory) sockets = { .descriptor = -1 };
    const char *state_dir = invocation_text(invocation, "state-dir");
    Str path = arena_format(invocation->arena, "%s/" SERVER_DIRECTORY, state_dir);
    uid_t user;
    gid_t group;
    if (!directory_open(path.data, &state, err)) {
        return err->kind == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_NOT_FOUND,
                               "no cluster in %s; create one with 'eden init'", state_dir)
                   : false;
    }
    if (!directory_owner(&state, &user, &group, err)) {
        return false;
    }
    if (running_as_root() &&
        (!directory_make(run_dir, &run, err) || !directory_set_mode(&run, 0755, err) ||
         !directory_make_child(&run, SERVER_DIRECTORY, &sockets, err) ||
         !directory_set_mode(&sockets, 0755, err) || !directory_give(&sockets, user, group, err))) {
        return false;
    }
    if (!privileges_drop(user, group, err)) {
        return false;
    }
    directory_close(&sockets);
    path = arena_format(invocation->arena, "%s/" SERVER_DIRECTORY, run_dir);
    return directory_make(path.data, &sockets, err);
}

/* Writes the error to a file for the parent process, such as the agent, which otherwise only sees
 * the exit code. Removes the file if there is no error. */
static void save_failure(const Invocation *invocation, const Error *err)
{
    AUTO_CLEAR(Directory) sockets = { .descriptor = -1 };
    Str path = arena_format(invocation->arena, "%s/" SERVER_DIRECTORY,
                            invocation_text(invocation, "run-dir"));
    Error ignored;
    if (directory_open(path.data, &sockets, &ignored)) {
        (void)!(err == NULL ? directory_remove(&sockets, SERVER_FAILURE, &ignored)
                            : directory_write(&sockets, SERVER_FAILURE, str_from_c(err->text),
                                              false, &ignored));
    }
}

static int fail(Invocation *invocation, const Error *err)
{
    save_failure(invocation, err);
    return daemon_command_fail(invocation, "E0821", err);
}

/* Sets `*parent` to 0 if --parent-pid was not given. */
static bool read_parent(Invocation *invocation, pid_t *parent)
{
    const char *text = invocation_text(invocation, "parent-pid");
    uint64_t number = 0;
    if (text != NULL &&
        (!str_to_u64(str_from_c(text), &number) || number < 2 || number > INT32_MAX)) {
        usage_error(invocation, "--parent-pid must be a process id");
        return false;
    }
    *parent = (pid_t)number;
    return true;
}

static int serve_run(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    const char *run_dir = invocation_text(invocation, "run-dir");
    const char *drain = invocation_text(invocation, "drain");
    int64_t drain_ms = 0;
    pid_t parent;
    Error err;
    if (!read_parent(invocation, &parent)) {
        return EXIT_USAGE;
    }
    if (drain != NULL && !duration_parse(str_from_c(drain), &drain_ms)) {
        return usage_error(invocation, "--drain: '%s' is not a duration (example: 10s)", drain);
    }
    daemon_command_log(invocation);
    daemon_command_protect(CONNECTIONS_MAX);
    if (!prepare_directories(invocation, run_dir, &err)) {
        return daemon_command_fail(invocation, "E0821", &err);
    }
    privileges_forbid_dumps(); /* switching users resets this */
    if (parent != 0 && !privileges_end_with_parent(parent)) {
        return EXIT_OK; /* the parent process has exited */
    }
    save_failure(invocation, NULL);
    AUTO(Loop) *loop = loop_new();
    ServeProcess process = { .loop = loop, .drain_ms = drain_ms };
    loop_timer_init(&process.drain, loop, on_drained, &process);
    ServerOptions options = {
        .loop = loop,
        .state_dir = invocation_text(invocation, "state-dir"),
        .socket = arena_format(arena, "%s/" SERVER_DIRECTORY "/" SERVER_SOCKET, run_dir).data,
        .ready = on_ready,
        .failed = on_failed,
        .context = &process,
    };
    process_heap_keep();
    if (!server_open(&options, &process.server, &err)) {
        return fail(invocation, &err);
    }
    process.daemon = daemon_new(loop, &(DaemonEvents){ .stop = on_stop, .context = &process });
    while (process.server != NULL) {
        loop_run(loop);
    }
    daemon_free(process.daemon);
    return process.has_failed ? fail(invocation, &process.failure) : EXIT_OK;
}

static const Option options[] = {
    STATE_DIR_OPTION,
    RUN_DIR_OPTION,
    { .name = "parent-pid", .argument = "PID", .help = "shut down when this parent process exits" },
    { .name = "drain",
      .argument = "TIME",
      .help =
          "on shutdown, how long /readyz reports 'not ready' before the server stops listening" },
    LOG_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden serve", "run until stopped" },
    { "eden serve --log-level debug --log-format json", "log more, as JSON" },
    { 0 },
};

const Command command_serve = {
    .name = "serve",
    .group = GROUP_CLUSTER,
    .help = "Run the cluster server.",
    .text =
        "Stores the state of the cluster. Nodes connect to port 1337 and authenticate with\n"
        "certificates; the API and joining machines use port 1338; commands on this machine use\n"
        "a Unix socket. 'eden agent' starts the server on a machine set up with 'eden init'; if\n"
        "started manually, it runs in the foreground.\n"
        "\n"
        "If started as root, it switches to the user that owns its directory under --state-dir,\n"
        "without any capabilities. SIGTERM and Ctrl-C shut it down gracefully: requests in\n"
        "progress finish, nodes are redirected to another server, and the store is closed.",
    .options = options,
    .examples = examples,
    .run = serve_run,
};
