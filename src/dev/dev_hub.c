/* Starts and stops the nodes, forwards notifications between them and the owner, and relays the API
 * port. Everything that it started ends with its process. */
#include "dev/dev_hub.h"

#include <stdint.h>

#include "base/arena.h"
#include "dev/dev_channel.h"
#include "dev/dev_plan.h"
#include "net/relay.h"
#include "sys/cgroup.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/container.h"
#include "sys/container_init.h"
#include "sys/file.h"
#include "sys/fork_child.h"
#include "sys/line_reader.h"
#include "sys/link.h"
#include "sys/process.h"

/* --- Nodes ------------------------------------------------------------------------------------ */

/* A node runs in a child process (sys/fork_child.h), which sets up its root, network and namespaces
 * and then runs the agent, or systemd, in them. Commands such as init and join run in the same
 * namespaces. */
typedef struct DevNode {
    const char *path; /* directory of the cluster */
    uint32_t index, count;
    uint16_t port;
    const char *group;  /* cgroup in which systemd boots; NULL: no systemd */
    const char *shared; /* see DevOptions */
} DevNode;

enum {
    ONCE_MS = 90 * 1000,   /* time limit of one-time commands: init, join */
    OUTPUT_MAX = 64 * 1024 /* maximum size of their output */
};

typedef struct NodeProcess {
    const DevNode *node;
    Arena *arena;
    LineReader channel;
    Overlay *overlay;
    int log;
    int group; /* -1: no systemd */
} NodeProcess;

/* Reads a line from the hub; returns false if the hub has exited. */
static bool read_hub_line(NodeProcess *process, Str *line)
{
    Error err;
    return line_reader_next(&process->channel, line, &err) == LINE_READ;
}

static bool start_agent(NodeProcess *process, Error *err)
{
    const DevNode *node = process->node;
    Arena *arena = process->arena;
    const char *directory = dev_node_directory(arena, node->path, node->index);
    const OverlayBind binds[] = {
        { .path = "/var/lib/eden" },
        { .path = "/etc/eden" },
        { .path = "/run/eden", .outside = dev_run_dir(arena, node->path, node->index) },
        { .path = node->shared, .outside = node->shared, .is_read_only = true },
    };
    ContainerSettings settings = {
        .directory = arena_format(arena, "%s/space", directory).data,
        .name = dev_node_name(arena, node->index),
        .link = DEV_LINK,
        .address = dev_node_address(arena, node->index),
        .prefix = DEV_PREFIX,
        .hosts = dev_hosts(arena, node->count),
        .machine_id = arena_format(arena, "%016llx%016llx", (unsigned long long)random_seed(),
                                   (unsigned long long)random_seed()),
        .binds = binds,
        .bind_count = COUNT_OF(binds) - (node->shared == NULL ? 1 : 0),
    };
    return container_open_log(arena_format(arena, "%s/log", directory).data, &process->log, err) &&
           (node->group == NULL || cgroup_open(arena, node->group, &process->group, err)) &&
           container_enter(arena, &settings, &process->overlay, err);
}

static bool boot(const NodeProcess *process, Error *err)
{
    ContainerInit init = { .program = container_init_program(),
                           .group = process->group,
                           .run = "/run/eden",
                           .log = process->log };
    return process->group < 0 || container_init_boot(&init, err);
}

static bool run_once(NodeProcess *process, const char *const *words, Str input, Error *err)
{
    const char *const environment[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", NULL };
    const char **argv = (const char **)words;
    ProcessSpec spec = {
        .env = environment, .input = input, .timeout_ms = ONCE_MS, .output_max = OUTPUT_MAX
    };
    ProcessResult result;
    argv[0] = CHILD_SAME_PROGRAM;
    spec.argv = argv;
    if (!process_run(process->arena, &spec, &result, err)) {
        return false;
    }
    if (result.ending == PROCESS_EXITED && result.exit_code == 0) {
        return true;
    }
    process_failure(process->arena, &result, ONCE_MS, err);
    return error_wrap(err, "eden %s", argv[1]);
}

/* "join TOKEN PIN". */
static bool join(NodeProcess *process, Error *err)
{
    Str line, word, token, pin;
    if (!read_hub_line(process, &line)) {
        return error_set(err, ERROR_UNAVAILABLE, "the hub has exited");
    }
    Str rest = line;
    if (!str_split_next(&rest, ' ', &word) || !str_split_next(&rest, ' ', &token) ||
        !str_split_next(&rest, ' ', &pin)) {
        return error_set(err, ERROR_BUG, "unknown command for a node: '%" STR_FMT "'",
                         STR_ARG(line));
    }
    Arena *arena = process->arena;
    token = arena_copy(arena, token);
    return run_once(
        process,
        dev_join_argv(arena, process->node->port, process->node->index, arena_copy_c(arena, pin)),
        token, err);
}

static void report_failure(const NodeProcess *process, int channel, Error *err)
{
    Error ignored;
    error_wrap(err, "%s", dev_node_name(process->arena, process->node->index));
    Str line = arena_format(process->arena, DEV_FAILED " %d %s\n", (int)err->kind, err->text);
    (void)!file_write_all(channel, line, &ignored);
}

/* See ForkChildRun; `context` is a DevNode. */
static int dev_node_run(void *context, int channel)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    NodeProcess process = { .node = context, .arena = &arena, .log = -1, .group = -1 };
    process.channel = line_reader_make(channel, DEV_LINE_MAX);
    const DevNode *node = process.node;
    Str line;
    Error err;
    if (!read_hub_line(&process, &line)) { /* wait until the network is up */
        return 1;
    }
    if (!start_agent(&process, &err) ||
        !(node->index == 0 ? run_once(&process, dev_init_argv(&arena, node->port), STR_EMPTY, &err)
                           : join(&process, &err)) ||
        !boot(&process, &err)) {
        report_failure(&process, channel, &err);
        return 1;
    }
    ContainerDaemon agent = { .program = CHILD_SAME_PROGRAM,
                              .argv = dev_agent_argv(&arena),
                              .log = process.log,
                              .overlay = process.overlay };
    return container_supervise(&agent, channel);
}

#define BRIDGE "eden0"

typedef struct Hub Hub;

typedef struct Node {
    Hub *hub;
    DevNode settings; /* settings of its process */
    pid_t pid;        /* 0: none */
    DevChannel *channel;
} Node;

struct Hub {
    const DevHub *settings;
    Arena arena;
    Loop *loop;
    Relay *relay;
    DevChannel *owner;
    Node *nodes;
};

/* --- Messages --------------------------------------------------------------------------------- */

static void on_node_line(void *context, Str line)
{
    const Node *node = context;
    DevChannel *owner = node->hub->owner;
    if (str_starts(line, STR(DEV_FAILED " "))) {
        dev_channel_send(owner, "%" STR_FMT, STR_ARG(line));
    } else {
        dev_channel_send(owner, "note %u %" STR_FMT, node->settings.index, STR_ARG(line));
    }
}

static void on_node_exit(void *context)
{
    const Node *node = context;
    dev_channel_send(node->hub->owner, "ended %u", node->settings.index);
}

/* "join TOKEN PIN", for all nodes but the server. */
static void on_owner_line(void *context, Str line)
{
    const Hub *hub = context;
    for (uint32_t i = 1; i < hub->settings->count; i++) {
        dev_channel_send(hub->nodes[i].channel, "%" STR_FMT, STR_ARG(line));
    }
}

static void on_owner_exit(void *context)
{
    const Hub *hub = context;
    loop_stop(hub->loop);
}

/* --- Starting --------------------------------------------------------------------------------- */

/* Must be called before the hub leaves the network namespace of its clients. */
static bool open_port(Hub *hub, Error *err)
{
    const DevHub *settings = hub->settings;
    if (relay_open(hub->loop, settings->port, &hub->relay, err)) {
        return true;
    }
    return !settings->is_port_fixed && err->kind == ERROR_CONFLICT &&
           relay_open(hub->loop, 0, &hub->relay, err);
}

static bool make_network(Hub *hub, Error *err)
{
    Address server;
    const char *text =
        arena_format(&hub->arena, "%s:%u", dev_node_address(&hub->arena, 0), relay_port(hub->relay))
            .data;
    if ((!hub->settings->is_root && !fork_child_become_root(err)) ||
        !fork_child_leave_network(err)) {
        return false;
    }
    return (link_make_bridge(BRIDGE, err) &&
            link_add_address(BRIDGE, dev_address(&hub->arena, DEV_HUB_ADDRESS), DEV_PREFIX, err) &&
            link_set_up(BRIDGE, err) && address_parse(str_from_c(text), 0, &server, err) &&
            relay_start(hub->relay, &server, err)) ||
           error_wrap(err, "cannot create the nodes' network, which requires the modules "
                           "bridge and veth");
}

static bool start_node(Hub *hub, uint32_t index, Error *err)
{
    Node *node = &hub->nodes[index];
    int channel;
    node->hub = hub;
    node->settings =
        (DevNode){ .path = hub->settings->path,
                   .index = index,
                   .count = hub->settings->count,
                   .port = relay_port(hub->relay),
                   .group = hub->settings->group == NULL
                                ? NULL
                                : dev_node_directory(&hub->arena, hub->settings->group, index),
                   .shared = hub->settings->shared };
    ForkChildOptions options = { .new_namespaces = true,
                                 .run = dev_node_run,
                                 .context = &node->settings };
    DevChannelOptions channel_options = {
        .loop = hub->loop, .on_line = on_node_line, .on_closed = on_node_exit, .context = node
    };
    if (!fork_child_start(&options, &node->pid, &channel, err)) {
        return false;
    }
    node->channel = dev_channel_open(&channel_options, channel);
    const char *veth_name = arena_format(&hub->arena, "eden%u", index + 1).data;
    if (!link_create_veth(veth_name, BRIDGE, DEV_LINK, node->pid, err)) {
        return false;
    }
    dev_channel_send(hub->owner, "node %u %ld", index, (long)node->pid);
    dev_channel_send(node->channel, "go");
    return true;
}

static bool start_nodes(Hub *hub, Error *err)
{
    for (uint32_t i = 0; i < hub->settings->count; i++) {
        if (!start_node(hub, i, err)) {
            return error_wrap(err, "%s", dev_node_name(&hub->arena, i));
        }
    }
    return true;
}

static void end_nodes(Hub *hub)
{
    for (uint32_t i = 0; i < hub->settings->count; i++) {
        if (hub->nodes[i].pid != 0) {
            dev_channel_close(hub->nodes[i].channel);
            fork_child_kill(hub->nodes[i].pid);
        }
    }
    for (uint32_t i = 0; i < hub->settings->count; i++) {
        if (hub->nodes[i].pid != 0) {
            fork_child_wait(hub->nodes[i].pid);
        }
    }
}

static bool start(Hub *hub, Error *err)
{
    if (!open_port(hub, err) || !make_network(hub, err)) {
        return false;
    }
    dev_channel_send(hub->owner, "port %u", relay_port(hub->relay));
    return start_nodes(hub, err);
}

/* Remaining processes end with this one. */
int dev_hub_run(void *context, int channel)
{
    Hub hub = { .settings = context };
    Error err;
    arena_init(&hub.arena, ARENA_UNLIMITED);
    hub.loop = loop_new();
    hub.nodes = ARENA_ARRAY(&hub.arena, Node, hub.settings->count);
    DevChannelOptions channel_options = {
        .loop = hub.loop, .on_line = on_owner_line, .on_closed = on_owner_exit, .context = &hub
    };
    hub.owner = dev_channel_open(&channel_options, channel);
    bool ok = start(&hub, &err);
    if (!ok) {
        dev_channel_send(hub.owner, DEV_FAILED " %d %s", (int)err.kind, err.text);
    }
    loop_run(hub.loop); /* until everything is sent to the owner */
    end_nodes(&hub);
    return ok ? 0 : 1;
}
