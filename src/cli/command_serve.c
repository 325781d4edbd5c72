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
#include "sys/own_pages.h"
#include "sys/privilege.h"

enum {
    GRACE_MS = 5000, /* for calls in progress at shutdown */
};

typedef struct Serving {
    Loop *loop;
    Daemon *daemon;
    Server *server;  /* NULL once closed */
    LoopTimer drain; /* delays closing the listeners */
    int64_t drain_ms;
    bool closing;
    bool has_failed;
    Error failure;
} Serving;

static void closed(void *context)
{
    Serving *serving = context;
    serving->server = NULL;
    loop_stop(serving->loop);
}

static void close_server(Serving *serving, int64_t grace_ms)
{
    if (!serving->closing) {
        serving->closing = true;
        loop_timer_stop(&serving->drain);
        daemon_stopping(serving->daemon);
        log_info("stopping");
        server_close(serving->server, grace_ms, closed, serving);
    }
}

static void ready(void *context)
{
    Serving *serving = context;
    uint16_t rpc = server_rpc_port(serving->server), api = server_api_port(serving->server);
    log_info("listening", LOG_INT("rpc_port", rpc), LOG_INT("api_port", api));
    daemon_status(serving->daemon, "listening on ports %u (nodes) and %u (API)", rpc, api);
    daemon_ready(serving->daemon);
}

static void failed(void *context, const Error *err)
{
    Serving *serving = context;
    log_error("fatal error", LOG_C("why", err->text));
    serving->has_failed = true;
    serving->failure = *err;
    close_server(serving, 0);
}

static void drained(void *context)
{
    close_server(context, GRACE_MS);
}

/* A second request skips the wait. */
static void asked_to_stop(void *context)
{
    Serving *serving = context;
    if (serving->drain_ms == 0 || loop_timer_started(&serving->drain)) {
        drained(serving);
    } else if (!serving->closing) {
        log_info("shutting down", LOG_INT("after_ms", serving->drain_ms));
        daemon_status(serving->daemon, "shutting down");
        server_drain(serving->server);
        loop_timer_start(&serving->drain, serving->drain_ms);
    }
}

/* The socket's directory belongs to the owner of the server's state, which is the user to run as:
 * if started as root, drops to that user here. */
static bool take_place(const Invocation *invocation, const char *run_dir, Error *err)
{
    AUTO_CLEAR(Directory) own = { .descriptor = -1 };
    AUTO_CLEAR(Directory) run = { .descriptor = -1 };
    AUTO_CLEAR(Directory) sockets = { .descriptor = -1 };
    const char *state_dir = invocation_text(invocation, "state-dir");
    Str path = arena_format(invocation->arena, "%s/" SERVER_DIRECTORY, state_dir);
    uid_t user;
    gid_t group;
    if (!directory_open(path.data, &own, err)) {
        return err->kind == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_NOT_FOUND,
                               "no cluster in %s; create one with 'eden init'", state_dir)
                   : false;
    }
    if (!directory_owner(&own, &user, &group, err)) {
        return false;
    }
    if (privileges_are_root() &&
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

/* Leaves the reason for the parent process, such as the agent, which only sees the exit code. */
static void note_failure(const Invocation *invocation, const Error *err)
{
    AUTO_CLEAR(Directory) sockets = { .descriptor = -1 };
    Str path = arena_format(invocation->arena, "%s/" SERVER_DIRECTORY,
                            invocation_text(invocation, "run-dir"));
    Error unheard;
    if (directory_open(path.data, &sockets, &unheard)) {
        (void)!(err == NULL ? directory_remove(&sockets, SERVER_FAILURE, &unheard)
                            : directory_write(&sockets, SERVER_FAILURE, str_from_c(err->text),
                                              false, &unheard));
    }
}

static int fail(Invocation *invocation, const Error *err)
{
    note_failure(invocation, err);
    return daemon_command_fail(invocation, "E0821", err);
}

/* `*parent` is 0 if there is none to follow. */
static bool read_parent(Invocation *invocation, pid_t *parent)
{
    const char *text = invocation_text(invocation, "with");
    uint64_t number = 0;
    if (text != NULL &&
        (!str_to_u64(str_from_c(text), &number) || number < 2 || number > INT32_MAX)) {
        usage_error(invocation, "--with must be a process id");
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
    daemon_command_protect();
    if (!take_place(invocation, run_dir, &err)) {
        return daemon_command_fail(invocation, "E0821", &err);
    }
    privileges_forbid_dumps(); /* changing the user has reset this */
    if (parent != 0 && !privileges_end_with_parent(parent)) {
        return EXIT_OK; /* the parent process is gone */
    }
    note_failure(invocation, NULL);
    AUTO(Loop) *loop = loop_new();
    Serving serving = { .loop = loop, .drain_ms = drain_ms };
    loop_timer_init(&serving.drain, loop, drained, &serving);
    ServerOptions options = {
        .loop = loop,
        .state_dir = invocation_text(invocation, "state-dir"),
        .socket = arena_format(arena, "%s/" SERVER_DIRECTORY "/" SERVER_SOCKET, run_dir).data,
        .ready = ready,
        .failed = failed,
        .context = &serving,
    };
    own_heap_keep();
    if (!server_open(&options, &serving.server, &err)) {
        return fail(invocation, &err);
    }
    serving.daemon =
        daemon_new(loop, &(DaemonEvents){ .stop = asked_to_stop, .context = &serving });
    while (serving.server != NULL) {
        loop_run(loop);
    }
    daemon_free(serving.daemon);
    return serving.has_failed ? fail(invocation, &serving.failure) : EXIT_OK;
}

static const Option options[] = {
    STATE_DIR_OPTION,
    RUN_DIR_OPTION,
    { .name = "with", .argument = "PID", .help = "shut down when this parent process exits" },
    { .name = "drain",
      .argument = "TIME",
      .help = "when stopped, report it at /readyz for this long before closing" },
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
    .help = "Run the server of a cluster.",
    .text =
        "Stores the state of the cluster and serves nodes on port 1337, which authenticate with\n"
        "certificates, the API and joining machines on port 1338, and commands of this machine on "
        "a\n"
        "Unix socket. 'eden agent' starts it where 'eden init' was run; started by hand, it runs "
        "in\n"
        "the foreground.\n"
        "\n"
        "If started as root, it switches to the user that owns its directory below --state-dir,\n"
        "without any capabilities. SIGTERM and Ctrl-C shut it down gracefully: calls in progress\n"
        "finish, nodes are told to use another server, the store is closed.",
    .options = options,
    .examples = examples,
    .run = serve_run,
};
