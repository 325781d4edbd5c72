/* A node sets up its root, network and namespaces in one child process and then runs the agent, or
 * systemd, in it. Commands such as init and join run in the same namespaces. */
#include "dev/dev_node.h"

#include "base/arena.h"
#include "dev/dev_hub.h"
#include "dev/dev_plan.h"
#include "sys/cgroup.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/container.h"
#include "sys/container_init.h"
#include "sys/file.h"
#include "sys/line_reader.h"
#include "sys/process.h"

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
    const char *own = dev_node_directory(arena, node->path, node->number);
    const OverlayPlace places[] = {
        { .path = "/var/lib/eden" },
        { .path = "/etc/eden" },
        { .path = "/run/eden", .outside = dev_run_dir(arena, node->path, node->number) },
        { .path = node->shared, .outside = node->shared, .is_read_only = true },
    };
    ContainerSettings settings = {
        .directory = arena_format(arena, "%s/space", own).data,
        .name = dev_node_name(arena, node->number),
        .link = DEV_LINK,
        .address = dev_node_address(arena, node->number),
        .prefix = DEV_PREFIX,
        .hosts = dev_hosts(arena, node->count),
        .machine_id = arena_format(arena, "%016llx%016llx", (unsigned long long)random_seed(),
                                   (unsigned long long)random_seed()),
        .places = places,
        .place_count = COUNT_OF(places) - (node->shared == NULL ? 1 : 0),
    };
    return container_open_log(arena_format(arena, "%s/log", own).data, &process->log, err) &&
           (node->group == NULL || cgroup_open(arena, node->group, &process->group, err)) &&
           container_become(arena, &settings, &process->overlay, err);
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
        dev_join_argv(arena, process->node->port, process->node->number, arena_copy_c(arena, pin)),
        token, err);
}

static void report_failure(const NodeProcess *process, int channel, Error *err)
{
    Error lost;
    error_wrap(err, "%s", dev_node_name(process->arena, process->node->number));
    Str line = arena_format(process->arena, DEV_FAILED " %d %s\n", (int)err->kind, err->text);
    (void)!file_write_all(channel, line, &lost);
}

int dev_node_run(void *context, int channel)
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
        !(node->number == 0 ? run_once(&process, dev_init_argv(&arena, node->port), STR_EMPTY, &err)
                            : join(&process, &err)) ||
        !boot(&process, &err)) {
        report_failure(&process, channel, &err);
        return 1;
    }
    ContainerDaemon agent = { .program = CHILD_SAME_PROGRAM,
                              .argv = dev_agent_argv(&arena),
                              .log = process.log,
                              .overlay = process.overlay };
    return container_keep(&agent, channel);
}
