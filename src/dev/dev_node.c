#include "dev/dev_node.h"

#include "base/arena.h"
#include "dev/dev_hub.h"
#include "dev/dev_plan.h"
#include "sys/cgroup.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/line_reader.h"
#include "sys/process.h"
#include "sys/twin.h"
#include "sys/twin_init.h"

enum {
    ONCE_MS = 90 * 1000,   /* for what is done once: founding, joining */
    OUTPUT_MAX = 64 * 1024 /* bytes of that */
};

typedef struct Work {
    const DevNode *node;
    Arena *arena;
    LineReader channel;
    Overlay *overlay;
    int log;
    int group; /* -1: no systemd */
} Work;

/* What the hub says; false when it is gone. */
static bool hear(Work *work, Str *line)
{
    Error err;
    return line_reader_next(&work->channel, line, &err) == LINE_READ;
}

static bool become(Work *work, Error *err)
{
    const DevNode *node = work->node;
    Arena *arena = work->arena;
    const char *own = dev_node_folder(arena, node->folder, node->number);
    const OverlayPlace places[] = {
        { .path = "/var/lib/eden" },
        { .path = "/etc/eden" },
        { .path = "/run/eden", .outside = dev_run_dir(arena, node->folder, node->number) },
    };
    TwinSettings settings = {
        .folder = arena_format(arena, "%s/space", own).data,
        .name = dev_node_name(arena, node->number),
        .link = DEV_LINK,
        .address = dev_node_address(arena, node->number),
        .prefix = DEV_PREFIX,
        .hosts = dev_hosts(arena, node->count),
        .machine_id = arena_format(arena, "%016llx%016llx", (unsigned long long)random_seed(),
                                   (unsigned long long)random_seed()),
        .places = places,
        .place_count = COUNT_OF(places),
    };
    return twin_open_log(arena_format(arena, "%s/log", own).data, &work->log, err) &&
           (node->group == NULL || cgroup_open(arena, node->group, &work->group, err)) &&
           twin_become(arena, &settings, &work->overlay, err);
}

static bool boot(const Work *work, Error *err)
{
    TwinInit init = {
        .program = twin_init_program(), .group = work->group, .run = "/run/eden", .log = work->log
    };
    return work->group < 0 || twin_init_boot(&init, err);
}

static bool run_once(Work *work, const char *const *words, Str input, Error *err)
{
    const char *const environment[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", NULL };
    const char **argv = (const char **)words;
    ProcessSpec spec = {
        .env = environment, .input = input, .timeout_ms = ONCE_MS, .output_max = OUTPUT_MAX
    };
    ProcessResult result;
    argv[0] = CHILD_SAME_PROGRAM;
    spec.argv = argv;
    if (!process_run(work->arena, &spec, &result, err)) {
        return false;
    }
    if (result.ending == PROCESS_EXITED && result.exit_code == 0) {
        return true;
    }
    process_failure(work->arena, &result, ONCE_MS, err);
    return error_wrap(err, "eden %s", argv[1]);
}

/* "join TOKEN PIN". */
static bool join(Work *work, Error *err)
{
    Str line, word, token, pin;
    if (!hear(work, &line)) {
        return error_set(err, ERROR_UNAVAILABLE, "the hub has exited");
    }
    Str rest = line;
    if (!str_split_next(&rest, ' ', &word) || !str_split_next(&rest, ' ', &token) ||
        !str_split_next(&rest, ' ', &pin)) {
        return error_set(err, ERROR_BUG, "unknown command for a node: '%" STR_FMT "'",
                         STR_ARG(line));
    }
    Arena *arena = work->arena;
    token = arena_copy(arena, token);
    return run_once(
        work, dev_join_words(arena, work->node->port, work->node->number, arena_copy_c(arena, pin)),
        token, err);
}

static void tell_failure(const Work *work, int channel, Error *err)
{
    Error lost;
    error_wrap(err, "%s", dev_node_name(work->arena, work->node->number));
    Str line = arena_format(work->arena, DEV_FAILED " %d %s\n", (int)err->kind, err->text);
    (void)!file_write_all(channel, line, &lost);
}

int dev_node_run(void *context, int channel)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Work work = { .node = context, .arena = &arena, .log = -1, .group = -1 };
    work.channel = line_reader_make(channel, DEV_LINE_MAX);
    const DevNode *node = work.node;
    Str line;
    Error err;
    if (!hear(&work, &line)) { /* until the cable is there */
        return 1;
    }
    if (!become(&work, &err) ||
        !(node->number == 0 ? run_once(&work, dev_init_words(&arena, node->port), STR_EMPTY, &err)
                            : join(&work, &err)) ||
        !boot(&work, &err)) {
        tell_failure(&work, channel, &err);
        return 1;
    }
    TwinDaemon agent = { .program = CHILD_SAME_PROGRAM,
                         .argv = dev_agent_words(&arena),
                         .log = work.log,
                         .overlay = work.overlay };
    return twin_keep(&agent, channel);
}
