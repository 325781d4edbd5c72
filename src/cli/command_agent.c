/* eden agent: the daemon of every machine, in the foreground. */
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
    Agent *agent; /* NULL: it is closed */
    bool closing;
    Buf line; /* as systemd was told last */
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
        log_info("the agent stops");
        daemon_stopping(work->daemon);
        agent_close(work->agent, closed, work);
    }
}

static void outdated(void *context)
{
    const Work *work = context;
    daemon_status(work->daemon, "makes way for a newer program");
    asked_to_stop(context);
}

static void asked_to_reload(void *context)
{
    Work *work = context;
    if (!work->closing) {
        log_info("the agent looks at its files again");
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
    if (!agent_files_mend(work->state_dir, loop_wall_ms(work->loop), &err)) {
        log_error("cannot create a file of this node again", LOG_C("why", err.text));
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
    /* Before anything is logged: who reads that may send a signal. It is handled once the loop runs. */
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
      .help = "do not start 'eden serve'; something else does, such as its unit" },
    LOG_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden agent", "until it is asked to stop" },
    { 0 },
};

const Command command_agent = {
    .name = "agent",
    .group = GROUP_CLUSTER,
    .help = "Run the daemon of this machine.",
    .text =
        "Holds a session with a server of the cluster: tells the facts of this machine when they\n"
        "change, keeps what it has to tell until a server has it, renews its certificate, and\n"
        "tries the servers one after the other when there is none. Where 'eden init' was run it\n"
        "starts 'eden serve' and keeps it running, unless --no-server leaves that to something\n"
        "else, as eden.service does. On a machine that is no node yet it waits for 'eden join'.\n"
        "\n"
        "It runs as root and listens on agent.sock in --run-dir, for root alone. SIGHUP makes it\n"
        "look at its files and facts again; if its program was replaced and systemd keeps it, it\n"
        "ends as soon as nothing runs below it, and is started as the new one. SIGTERM or Ctrl-C\n"
        "stop it in order, with the server that it has started. Nothing that was to be told is\n"
        "lost by stopping or killing it.",
    .options = options,
    .examples = examples,
    .run = agent_run,
};
