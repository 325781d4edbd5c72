/* eden agent: the daemon that runs on every node. */
#include "agent/agent.h"
#include "base/log.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "cli/run_limits.h"
#include "server/agent_files.h"
#include "sys/daemon.h"

typedef struct AgentProcess {
    Loop *loop;
    const char *state_dir;
    Daemon *daemon;
    Agent *agent; /* NULL once closed */
    bool is_closing;
    Buf line; /* last status sent to systemd */
} AgentProcess;

static void on_closed(void *context)
{
    AgentProcess *process = context;
    process->agent = NULL;
    loop_stop(process->loop);
}

static void on_stop(void *context)
{
    AgentProcess *process = context;
    if (!process->is_closing) {
        process->is_closing = true;
        log_info("stopping");
        daemon_stopping(process->daemon);
        agent_close(process->agent, on_closed, process);
    }
}

static void on_upgrade(void *context)
{
    const AgentProcess *process = context;
    daemon_status(process->daemon, "restarting into the upgraded program");
    on_stop(context);
}

static void on_reload(void *context)
{
    AgentProcess *process = context;
    if (!process->is_closing) {
        log_info("reloading");
        daemon_reloading(process->daemon);
        agent_reload(process->agent);
        daemon_ready(process->daemon);
    }
}

static void update_status(AgentProcess *process)
{
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    agent_line(process->agent, &line);
    if (!str_eq(buf_str(&line), buf_str(&process->line))) {
        buf_reset(&process->line);
        buf_put(&process->line, buf_str(&line));
        daemon_status(process->daemon, "%s", buf_c(&process->line));
    }
}

static void on_change(void *context)
{
    AgentProcess *process = context;
    if (process->agent != NULL && process->daemon != NULL && !process->is_closing) {
        update_status(process);
    }
}

static void restore_files(void *context)
{
    const AgentProcess *process = context;
    Error err;
    if (!agent_files_restore(process->state_dir, loop_wall_ms(process->loop), &err)) {
        log_error("cannot recreate a file of this node", LOG_C("error", err.text));
    }
}

static int agent_run(Invocation *invocation)
{
    AUTO(Loop) *loop = NULL;
    CgroupLimits limits;
    Error err;
    if (!run_limits_get(invocation, &limits)) {
        return EXIT_USAGE;
    }
    daemon_command_log(invocation);
    daemon_command_protect(0);
    loop = loop_new();
    AgentProcess process = { .loop = loop,
                             .state_dir = invocation_text(invocation, "state-dir"),
                             .line = buf_make(BUF_UNLIMITED) };
    AgentOptions options = {
        .loop = loop,
        .state_dir = process.state_dir,
        .run_dir = invocation_text(invocation, "run-dir"),
        .config_dir = invocation_text(invocation, "config-dir"),
        .root = "/",
        .log_level = invocation_text(invocation, "log-level"),
        .log_format = invocation_text(invocation, "log-format"),
        .server_is_external = invocation_flag(invocation, "no-server"),
        .run_limits = limits,
        .repair = restore_files,
        .changed = on_change,
        .outdated = on_upgrade,
        .context = &process,
    };
    /* Block signals before the first log message: a process that reads the log may send a signal
     * immediately. It is handled once the loop runs. */
    process.daemon = daemon_new(
        loop, &(DaemonEvents){ .stop = on_stop, .reload = on_reload, .context = &process });
    if (!agent_open(&options, &process.agent, &err)) {
        daemon_free(process.daemon);
        return daemon_command_fail(invocation, "E0831", &err);
    }
    update_status(&process);
    daemon_ready(process.daemon);
    while (process.agent != NULL) {
        loop_run(loop);
    }
    daemon_free(process.daemon);
    buf_clear(&process.line);
    return EXIT_OK;
}

static const Option options[] = {
    STATE_DIR_OPTION,
    RUN_DIR_OPTION,
    { .name = "config-dir",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .fallback = "/etc/eden",
      .help = "configuration directory of this machine" },
    { .name = "no-server",
      .help = "do not run 'eden serve' as a child process; use this if the server has its own "
              "systemd unit" },
    RUN_LIMIT_OPTIONS,
    LOG_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden agent", "run until stopped" },
    { 0 },
};

const Command command_agent = {
    .name = "agent",
    .group = GROUP_CLUSTER,
    .help = "Run the agent on this machine.",
    .text =
        "The agent maintains a session with a server of the cluster: it sends this machine's\n"
        "facts when they change, queues results on disk until a server has accepted them, renews\n"
        "its certificate, and fails over to other servers. On a machine set up with 'eden init',\n"
        "it also runs 'eden serve' as a child process, unless --no-server is given, as in\n"
        "eden.service. On a machine that is not a node, it waits for 'eden join'.\n"
        "\n"
        "The agent runs as root and listens on agent.sock in --run-dir, which only root can\n"
        "access. On SIGHUP, it reloads its files and facts. If eden has been upgraded and\n"
        "systemd supervises the agent, it also exits once no child process is running, and\n"
        "systemd starts the new version. SIGTERM and Ctrl-C stop the agent and the server it\n"
        "started. No data is lost if the agent is stopped or killed: unsent results stay on\n"
        "disk.",
    .options = options,
    .examples = examples,
    .run = agent_run,
};
