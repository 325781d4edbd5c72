/* eden agent: the daemon that runs on every node. */
#include "agent/agent.h"
#include "base/log.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "server/agent_files.h"
#include "sys/daemon.h"

typedef struct Work {
    Loop *loop;
    const char *state_dir;
    Daemon *daemon;
    Agent *agent; /* NULL once closed */
    bool closing;
    Buf line; /* last status sent to systemd */
} Work;

static void closed(void *context)
{
    Work *work = context;
    work->agent = NULL;
    loop_stop(work->loop);
}

static void asked_to_stop(void *context)
{
    Work *work = context;
    if (!work->closing) {
        work->closing = true;
        log_info("stopping");
        daemon_stopping(work->daemon);
        agent_close(work->agent, closed, work);
    }
}

static void outdated(void *context)
{
    const Work *work = context;
    daemon_status(work->daemon, "restarting into the upgraded program");
    asked_to_stop(context);
}

static void asked_to_reload(void *context)
{
    Work *work = context;
    if (!work->closing) {
        log_info("reloading");
        daemon_reloading(work->daemon);
        agent_reload(work->agent);
        daemon_ready(work->daemon);
    }
}

static void tell_status(Work *work)
{
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    agent_line(work->agent, &line);
    if (!str_eq(buf_str(&line), buf_str(&work->line))) {
        buf_reset(&work->line);
        buf_put(&work->line, buf_str(&line));
        daemon_status(work->daemon, "%s", buf_c(&work->line));
    }
}

static void changed(void *context)
{
    Work *work = context;
    if (work->agent != NULL && work->daemon != NULL && !work->closing) {
        tell_status(work);
    }
}

static void mend(void *context)
{
    const Work *work = context;
    Error err;
    if (!agent_files_restore(work->state_dir, loop_wall_ms(work->loop), &err)) {
        log_error("cannot recreate a file of this node", LOG_C("why", err.text));
    }
}

static int agent_run(Invocation *invocation)
{
    AUTO(Loop) *loop = NULL;
    Error err;
    daemon_command_log(invocation);
    daemon_command_protect();
    loop = loop_new();
    Work work = { .loop = loop,
                  .state_dir = invocation_text(invocation, "state-dir"),
                  .line = buf_make(BUF_UNLIMITED) };
    AgentOptions options = {
        .loop = loop,
        .state_dir = work.state_dir,
        .run_dir = invocation_text(invocation, "run-dir"),
        .config_dir = invocation_text(invocation, "config-dir"),
        .root = "/",
        .log_level = invocation_text(invocation, "log-level"),
        .log_format = invocation_text(invocation, "log-format"),
        .server_elsewhere = invocation_flag(invocation, "no-server"),
        .mend = mend,
        .changed = changed,
        .outdated = outdated,
        .context = &work,
    };
    /* Must come before the first log message: a process that reads the log may send a signal at
     * once. The signal is handled when the loop runs. */
    work.daemon = daemon_new(
        loop,
        &(DaemonEvents){ .stop = asked_to_stop, .reload = asked_to_reload, .context = &work });
    if (!agent_open(&options, &work.agent, &err)) {
        daemon_free(work.daemon);
        return daemon_command_fail(invocation, "E0831", &err);
    }
    tell_status(&work);
    daemon_ready(work.daemon);
    while (work.agent != NULL) {
        loop_run(loop);
    }
    daemon_free(work.daemon);
    buf_clear(&work.line);
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
      .help = "do not run 'eden serve' as a child process; use this if it has its own unit" },
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
    .help = "Run the agent of this machine.",
    .text =
        "The agent keeps a session with a server of the cluster: it sends the facts of this "
        "machine\n"
        "when they change, queues results on disk until a server has accepted them, renews its\n"
        "certificate, and fails over to other servers. On a machine set up with 'eden init' it "
        "also\n"
        "runs 'eden serve' as a child process, unless --no-server leaves that to something else,\n"
        "as eden.service does. On a machine that is not a node it waits for 'eden join'.\n"
        "\n"
        "It runs as root and listens on agent.sock in --run-dir, which only root may use. SIGHUP\n"
        "makes it reload its files and facts; if its program was replaced and systemd supervises\n"
        "it, it exits once no child process is running, and systemd starts the new version. "
        "SIGTERM\n"
        "and Ctrl-C stop it and the server it started. Stopping or killing it loses no data: "
        "unsent\n"
        "results stay on disk.",
    .options = options,
    .examples = examples,
    .run = agent_run,
};
