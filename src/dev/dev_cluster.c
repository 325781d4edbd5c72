/* The owner of a temporary cluster, in the user's process. A child process, the hub (dev_hub.h),
 * runs the nodes and reports over a socket; closing that socket ends the cluster, even if this
 * process is killed. */
#include "dev/dev_cluster.h"

#include <signal.h>

#include "dev/dev_channel.h"
#include "dev/dev_directory.h"
#include "dev/dev_hub.h"
#include "dev/dev_plan.h"
#include "sys/child.h"
#include "sys/container_init.h"
#include "sys/daemon.h"
#include "sys/descendants.h"
#include "sys/file.h"
#include "sys/fork_child.h"
#include "sys/privilege.h"
#include "sys/process.h"
#include "sys/terminal.h"

enum {
    START_MS = 60 * 1000,
    START_SYSTEMD_MS = 180 * 1000,
    LOG_MAX = 1 << 20, /* how much of a node's log to read, in bytes */
    LOG_TAIL = 2000,
    NOTICE_MS = 1000,            /* most commands exit immediately, so the message is delayed */
    STOP_TIMEOUT_MS = 10 * 1000, /* grace period for an interrupted command */
};

struct DevCluster {
    Arena *arena;
    DevOptions options;
    DevDirectory directory;
    DevHub hub;
    pid_t hub_process;
    Loop *loop;
    Daemon *signals;
    DevChannel *channel;
    LoopTimer limit;
    uint16_t port; /* 0: not known yet */
    int64_t processes[DEV_NODES_MAX];
    bool has_session[DEV_NODES_MAX]; /* nodes that have had a session */
    bool is_ready;                   /* nodes may exit from now on */
    bool stop_requested;
    bool has_failed;
    Error failure;
    Child *child;
    bool is_subreaper; /* this process is the subreaper of the child's orphans */
    LoopTimer stop_timer;
    /* the command was interrupted, and the delay was reported */
    bool child_is_interrupted, delay_is_reported;
    bool child_is_killed, is_interrupted;
    bool child_has_ended;
    ChildExit child_exit;
};

/* --- Messages from the hub ------------------------------------------------------------------- */

static void fail(DevCluster *cluster, ErrorKind kind, Str text)
{
    if (!cluster->has_failed) {
        cluster->has_failed = true;
        error_set(&cluster->failure, kind, "%" STR_FMT, STR_ARG(text));
    }
    loop_stop(cluster->loop);
}

/* Returns the end of a node's log, for a message. */
static Str log_tail(const DevCluster *cluster, uint32_t node)
{
    Arena *arena = cluster->arena;
    const char *directory = dev_node_directory(arena, cluster->directory.path, node);
    Str text;
    Error err;
    if (!file_read(arena, arena_format(arena, "%s/log", directory).data, LOG_MAX, &text, &err)) {
        return STR_EMPTY;
    }
    return process_summary(arena,
                           text.len > LOG_TAIL ? str_from_offset(text, text.len - LOG_TAIL) : text);
}

static void on_node_exit(DevCluster *cluster, uint32_t index)
{
    const char *name = dev_node_name(cluster->arena, index);
    if (!cluster->is_ready || index == 0) {
        fail(cluster, ERROR_UNAVAILABLE,
             arena_format(cluster->arena, "%s has exited: %" STR_FMT, name,
                          STR_ARG(log_tail(cluster, index))));
    } else if (cluster->options.on_node_exit != NULL) {
        cluster->options.on_node_exit(cluster->options.context, name);
    }
}

/* "STATUS=node 'node1' of 'dev': session with node1 (...)". */
static void on_node_note(DevCluster *cluster, uint32_t index, Str note)
{
    if (str_find(note, STR("session with "), 0) != STR_NOT_FOUND) {
        cluster->has_session[index] = true;
        loop_stop(cluster->loop);
    }
}

static bool read_number(Str *rest, uint64_t max, uint64_t *out)
{
    Str word;
    return str_split_next(rest, ' ', &word) && str_to_u64(word, out) && *out < max;
}

static void on_hub_line(void *context, Str line)
{
    DevCluster *cluster = context;
    Str rest = line, verb;
    uint64_t index, value;
    if (!str_split_next(&rest, ' ', &verb)) {
        return;
    }
    if (str_eq_c(verb, DEV_FAILED) && read_number(&rest, ERROR_BUG + 1, &value)) {
        fail(cluster, (ErrorKind)value, rest);
    } else if (str_eq_c(verb, "port") && read_number(&rest, UINT16_MAX + 1ULL, &value)) {
        cluster->port = (uint16_t)value;
    } else if (!read_number(&rest, cluster->options.nodes, &index)) {
        return;
    } else if (str_eq_c(verb, "node") && read_number(&rest, INT32_MAX, &value)) {
        cluster->processes[index] = (int64_t)value;
    } else if (str_eq_c(verb, "note")) {
        on_node_note(cluster, (uint32_t)index, rest);
    } else if (str_eq_c(verb, "ended")) {
        on_node_exit(cluster, (uint32_t)index);
    }
}

static void on_hub_exit(void *context)
{
    fail(context, ERROR_UNAVAILABLE, STR("the process that runs the nodes has exited"));
}

/* --- Opening and closing --------------------------------------------------------------------- */

static void kill_child(DevCluster *cluster)
{
    loop_timer_stop(&cluster->stop_timer);
    cluster->child_is_killed = true;
    child_kill(cluster->child); /* kills its descendants too */
}

static void kill_after_grace(void *context)
{
    DevCluster *cluster = context;
    if (cluster->delay_is_reported) {
        kill_child(cluster);
        return;
    }
    cluster->delay_is_reported = true;
    loop_timer_start(&cluster->stop_timer, STOP_TIMEOUT_MS - NOTICE_MS);
    if (cluster->options.on_interrupt_delay != NULL) {
        cluster->options.on_interrupt_delay(cluster->options.context, child_pid(cluster->child),
                                            STOP_TIMEOUT_MS - NOTICE_MS);
    }
}

/* A second interrupt kills the command. */
static void wait_for_child(DevCluster *cluster)
{
    if (cluster->child_is_interrupted) {
        kill_child(cluster);
    } else {
        cluster->child_is_interrupted = true;
        loop_timer_start(&cluster->stop_timer, NOTICE_MS);
    }
}

static void on_terminate(void *context)
{
    DevCluster *cluster = context;
    cluster->stop_requested = true;
    if (cluster->child != NULL) {
        child_terminate(cluster->child);
        wait_for_child(cluster);
    }
    loop_stop(cluster->loop);
}

/* The user's command receives SIGINT directly from the terminal. */
static void on_interrupt(void *context)
{
    DevCluster *cluster = context;
    if (cluster->child == NULL) {
        on_terminate(cluster);
    } else if (!terminal_is_raw()) {
        cluster->is_interrupted = true;
        wait_for_child(cluster);
    }
}

static int start_ms(const DevCluster *cluster)
{
    return cluster->options.systemd ? START_SYSTEMD_MS : START_MS;
}

static void on_start_timeout(void *context)
{
    DevCluster *cluster = context;
    for (uint32_t i = 0; i < cluster->options.nodes; i++) {
        if (!cluster->has_session[i]) {
            fail(cluster, ERROR_TIMEOUT,
                 arena_format(cluster->arena, "%s did not start within %d s: %" STR_FMT,
                              dev_node_name(cluster->arena, i), start_ms(cluster) / 1000,
                              STR_ARG(log_tail(cluster, i))));
        }
    }
}

/* Services run as separate users, which do not exist in a user namespace. */
static bool check_systemd(Error *err)
{
    if (!running_as_root()) {
        return error_set(err, ERROR_DENIED,
                         "--systemd requires root: services run as separate users");
    }
    return container_init_program() != NULL ||
           error_set(err, ERROR_UNAVAILABLE,
                     "--systemd requires systemd, which is not installed on this machine");
}

bool dev_cluster_open(Arena *arena, const DevOptions *options, DevCluster **out, Error *err)
{
    DevCluster *cluster = ARENA_NEW(arena, DevCluster);
    int channel;
    cluster->arena = arena;
    cluster->options = *options;
    if ((options->systemd && !check_systemd(err)) ||
        !dev_directory_create(arena, options->nodes, &cluster->directory, err)) {
        return false;
    }
    if (options->systemd &&
        !dev_directory_add_groups(&cluster->directory, arena, options->nodes, err)) {
        dev_directory_remove(&cluster->directory);
        return false;
    }
    cluster->hub = (DevHub){ .path = cluster->directory.path,
                             .count = options->nodes,
                             .port = options->port,
                             .is_port_fixed = options->is_port_fixed,
                             .is_root = running_as_root(),
                             .group = cluster->directory.group,
                             .shared = options->shared };
    ForkChildOptions hub = { .run = dev_hub_run, .context = &cluster->hub };
    if (!fork_child_start(&hub, &cluster->hub_process, &channel, err)) {
        dev_directory_remove(&cluster->directory);
        return false;
    }
    cluster->loop = loop_new();
    cluster->signals = daemon_new(cluster->loop, &(DaemonEvents){ .stop = on_terminate,
                                                                  .interrupt = on_interrupt,
                                                                  .reload = on_terminate,
                                                                  .context = cluster });
    DevChannelOptions channel_options = {
        .loop = cluster->loop, .on_line = on_hub_line, .on_closed = on_hub_exit, .context = cluster
    };
    cluster->channel = dev_channel_open(&channel_options, channel);
    loop_timer_init(&cluster->limit, cluster->loop, on_start_timeout, cluster);
    loop_timer_start(&cluster->limit, start_ms(cluster));
    loop_timer_init(&cluster->stop_timer, cluster->loop, kill_after_grace, cluster);
    *out = cluster;
    return true;
}

/* Closing the channel makes the hub stop its nodes and exit. */
void dev_cluster_close(DevCluster *cluster)
{
    if (cluster == NULL) {
        return;
    }
    child_free(cluster->child);
    loop_timer_stop(&cluster->limit);
    loop_timer_stop(&cluster->stop_timer);
    dev_channel_close(cluster->channel);
    daemon_free(cluster->signals);
    loop_free(cluster->loop);
    fork_child_wait(cluster->hub_process);
    if (cluster->is_subreaper) {
        (void)descendants_end();
    }
    dev_directory_remove(&cluster->directory);
}

/* --- Waiting --------------------------------------------------------------------------------- */

static bool have_sessions(const DevCluster *cluster, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!cluster->has_session[i]) {
            return false;
        }
    }
    return true;
}

static bool stop_error(const DevCluster *cluster, Error *err)
{
    if (cluster->has_failed) {
        *err = cluster->failure;
        return false;
    }
    return error_set(err, ERROR_UNAVAILABLE, "stopped by request");
}

static bool wait_for_sessions(DevCluster *cluster, uint32_t count, Error *err)
{
    while (!have_sessions(cluster, count) && !cluster->has_failed && !cluster->stop_requested) {
        loop_run(cluster->loop);
    }
    return (!cluster->has_failed && !cluster->stop_requested) || stop_error(cluster, err);
}

bool dev_cluster_wait_server(DevCluster *cluster, Error *err)
{
    return wait_for_sessions(cluster, 1, err);
}

void dev_cluster_join(DevCluster *cluster, Str token, Str ca_pin)
{
    dev_channel_send(cluster->channel, "join %" STR_FMT " %" STR_FMT, STR_ARG(token),
                     STR_ARG(ca_pin));
}

bool dev_cluster_wait_nodes(DevCluster *cluster, Error *err)
{
    return wait_for_sessions(cluster, cluster->options.nodes, err);
}

bool dev_cluster_is_interrupted(const DevCluster *cluster)
{
    return cluster->stop_requested;
}

const char *dev_cluster_run_dir(const DevCluster *cluster)
{
    return dev_run_dir(cluster->arena, cluster->directory.path, 0);
}

bool dev_cluster_publish(DevCluster *cluster, Str ca_pin, Str token, Value *description, Error *err)
{
    DevDescription data = { .path = cluster->directory.path,
                            .port = cluster->port,
                            .count = cluster->options.nodes,
                            .processes = cluster->processes,
                            .ca_pin = ca_pin,
                            .token = token };
    cluster->is_ready = true;
    loop_timer_stop(&cluster->limit);
    *description = dev_describe(cluster->arena, &data);
    return dev_directory_publish(&cluster->directory, cluster->arena, *description, err);
}

bool dev_cluster_wait(DevCluster *cluster, Error *err)
{
    while (!cluster->has_failed && !cluster->stop_requested) {
        loop_run(cluster->loop);
    }
    return !cluster->has_failed || stop_error(cluster, err);
}

static void on_child_exit(void *context, ChildExit end)
{
    DevCluster *cluster = context;
    cluster->child_has_ended = true;
    cluster->child_exit = end;
    loop_timer_stop(&cluster->stop_timer);
    loop_stop(cluster->loop);
}

bool dev_cluster_run(DevCluster *cluster, const char *const *argv, const char *const *variables,
                     int *code, Error *err)
{
    ChildOptions options = { .loop = cluster->loop,
                             .program = argv[0],
                             .argv = argv,
                             .is_foreground = true,
                             .env = process_environment(cluster->arena, variables),
                             .ended = on_child_exit,
                             .context = cluster };
    descendants_adopt();
    cluster->is_subreaper = true;
    if (!child_start(&options, &cluster->child, err)) {
        return false;
    }
    while (!cluster->child_has_ended && !cluster->has_failed) {
        loop_run(cluster->loop);
    }
    ChildExit end = cluster->child_exit;
    if (cluster->child_is_killed && cluster->is_interrupted) {
        end = (ChildExit){ .by_signal = true, .status = SIGINT };
    }
    *code = end.by_signal ? 128 + end.status : end.status;
    return cluster->child_has_ended || stop_error(cluster, err);
}
