#include "agent/server_supervisor.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/sm.h"
#include "membership/lost_settings.h"
#include "rpc/backoff.h"
#include "sys/directory.h"
#include "sys/process.h"

#define SERVER_DIRECTORY "server" /* in the state directory; same as in server/create_cluster.h */
#define SERVER_SETTINGS  "server.json"
#define SERVER_FAILURE   "failure" /* in SERVER_DIRECTORY of the run directory */

struct ServerSupervisor {
    ServerSupervisorOptions options;
    Sm sm;
    Child *child;
    LoopTimer timer;
    int64_t since_ms, started_ms; /* Unix time; loop time */
    uint32_t exits, failures;     /* total; consecutive */
    char why[600];
    LoopRun *stopped;
    void *context;
};

static const SmState states[] = {
    [SUPERVISOR_ABSENT] = { "absent", SM_TO(SUPERVISOR_RUNNING) | SM_TO(SUPERVISOR_WAITING) |
                                          SM_TO(SUPERVISOR_STOPPED) | SM_TO(SUPERVISOR_EXTERNAL) },
    [SUPERVISOR_RUNNING] = { "running", SM_TO(SUPERVISOR_WAITING) | SM_TO(SUPERVISOR_STOPPING) },
    [SUPERVISOR_WAITING] = { "waiting", SM_TO(SUPERVISOR_RUNNING) | SM_TO(SUPERVISOR_ABSENT) |
                                            SM_TO(SUPERVISOR_WAITING) | SM_TO(SUPERVISOR_STOPPED) },
    [SUPERVISOR_STOPPING] = { "stopping", SM_TO(SUPERVISOR_STOPPED) },
    [SUPERVISOR_STOPPED] = { "stopped", 0 },
    [SUPERVISOR_EXTERNAL] = { "elsewhere", SM_TO(SUPERVISOR_ABSENT) | SM_TO(SUPERVISOR_STOPPED) },
};
static const SmTable table = { "server supervisor", states, COUNT_OF(states), NULL };

const char *supervisor_state_name(SupervisorState state)
{
    return states[state].name;
}

static void move(ServerSupervisor *supervisor, SupervisorState state)
{
    supervisor->since_ms = loop_wall_ms(supervisor->options.loop);
    sm_move(&supervisor->sm, state);
}

static bool open_directory(const ServerSupervisor *supervisor, Directory *out)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    Error err;
    return directory_open(supervisor->options.state_dir, &state, &err) &&
           directory_open_child(&state, SERVER_DIRECTORY, out, &err);
}

static bool has_server(const ServerSupervisor *supervisor)
{
    AUTO_CLEAR(Directory) server = { .descriptor = -1 };
    return open_directory(supervisor, &server) && directory_has(&server, SERVER_SETTINGS);
}

/* Without its settings file, a server would no longer be recognized as one. */
static void report_lost(ServerSupervisor *supervisor)
{
    AUTO_CLEAR(Directory) server = { .descriptor = -1 };
    Error err;
    if (supervisor->child != NULL || !open_directory(supervisor, &server) ||
        !settings_are_lost(&server)) {
        return; /* a running server writes the file again */
    }
    lost_settings_error(&server, &err);
    if (strcmp(supervisor->why, err.text) != 0) {
        snprintf(supervisor->why, sizeof supervisor->why, "%s", err.text);
        log_error("cannot start the server on this machine", LOG_C("error", err.text));
    }
}

static void wait(ServerSupervisor *supervisor)
{
    const ServerSupervisorOptions *options = &supervisor->options;
    supervisor->failures++;
    int64_t delay =
        SUPERVISOR_WAIT_MS + backoff_ms(supervisor->failures, loop_random(options->loop));
    move(supervisor, SUPERVISOR_WAITING);
    loop_timer_start(&supervisor->timer, delay);
    log_warning("server exited; restarting it", LOG_C("reason", supervisor->why),
                LOG_INT("in_ms", delay));
}

/* Reads the error that the server left; a killed one leaves none. */
static Str read_failure(const ServerSupervisor *supervisor, Arena *arena)
{
    AUTO_CLEAR(Directory) run = { .descriptor = -1 };
    AUTO_CLEAR(Directory) server = { .descriptor = -1 };
    Str text;
    Error err;
    return directory_open(supervisor->options.run_dir, &run, &err) &&
                   directory_open_child(&run, SERVER_DIRECTORY, &server, &err) &&
                   directory_read(&server, arena, SERVER_FAILURE, sizeof err.text, &text, &err)
               ? text
               : STR_EMPTY;
}

static void record_exit(ServerSupervisor *supervisor, ChildExit end)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    if (end.by_signal) {
        snprintf(supervisor->why, sizeof supervisor->why, "killed by %" STR_FMT,
                 STR_ARG(process_signal_name(&arena, end.status)));
    } else {
        Str failure = end.status == 0 ? STR_EMPTY : read_failure(supervisor, &arena);
        snprintf(supervisor->why, sizeof supervisor->why, "exited with status %d%s%" STR_FMT,
                 end.status, failure.len > 0 ? ": " : "", STR_ARG(failure));
    }
}

static void ended(void *context, ChildExit end)
{
    ServerSupervisor *supervisor = context;
    bool was_stopped = supervisor->sm.state == SUPERVISOR_STOPPING;
    child_free(TAKE(supervisor->child));
    record_exit(supervisor, end);
    loop_timer_stop(&supervisor->timer);
    if (was_stopped) {
        log_info("server stopped", LOG_C("reason", supervisor->why));
        move(supervisor, SUPERVISOR_STOPPED);
        supervisor->stopped(supervisor->context);
        return;
    }
    supervisor->exits++;
    if (loop_now_ms(supervisor->options.loop) - supervisor->started_ms >= SUPERVISOR_STABLE_MS) {
        supervisor->failures = 0;
    }
    wait(supervisor);
}

static void start(ServerSupervisor *supervisor)
{
    const ServerSupervisorOptions *options = &supervisor->options;
    char parent[24];
    snprintf(parent, sizeof parent, "%lld", (long long)process_own_pid());
    const char *const argv[] = { "eden",
                                 "serve",
                                 "--state-dir",
                                 options->state_dir,
                                 "--run-dir",
                                 options->run_dir,
                                 "--parent-pid",
                                 parent,
                                 "--log-level",
                                 options->log_level,
                                 "--log-format",
                                 options->log_format,
                                 NULL };
    ChildOptions child = { .loop = options->loop,
                           .program =
                               options->program == NULL ? CHILD_SAME_PROGRAM : options->program,
                           .argv = argv,
                           .ended = ended,
                           .context = supervisor };
    Error err;
    if (!child_start(&child, &supervisor->child, &err)) {
        snprintf(supervisor->why, sizeof supervisor->why, "%.100s", err.text);
        wait(supervisor);
        return;
    }
    supervisor->started_ms = loop_now_ms(options->loop);
    move(supervisor, SUPERVISOR_RUNNING);
    log_info("server started", LOG_INT("pid", child_pid(supervisor->child)));
}

/* --- Public API ------------------------------------------------------------------------------ */

static void timer_expired(void *context)
{
    ServerSupervisor *supervisor = context;
    if (supervisor->sm.state == SUPERVISOR_STOPPING) {
        log_warning("server did not stop in time; killing it");
        child_kill(supervisor->child);
    } else if (supervisor->sm.state == SUPERVISOR_STOPPED) {
        supervisor->stopped(supervisor->context);
    } else if (has_server(supervisor)) {
        start(supervisor);
    } else {
        move(supervisor, SUPERVISOR_ABSENT);
        report_lost(supervisor);
    }
}

ServerSupervisor *server_supervisor_new(const ServerSupervisorOptions *options)
{
    ServerSupervisor *supervisor = memory_new(sizeof *supervisor);
    supervisor->options = *options;
    supervisor->since_ms = loop_wall_ms(options->loop);
    sm_init(&supervisor->sm, &table, supervisor, "server", SUPERVISOR_ABSENT);
    loop_timer_init(&supervisor->timer, options->loop, timer_expired, supervisor);
    return supervisor;
}

void server_supervisor_free(ServerSupervisor *supervisor)
{
    if (supervisor == NULL) {
        return;
    }
    loop_timer_stop(&supervisor->timer);
    child_free(supervisor->child);
    free(supervisor);
}

void server_supervisor_check(ServerSupervisor *supervisor)
{
    if (!has_server(supervisor)) {
        report_lost(supervisor);
    }
    if (supervisor->sm.state == SUPERVISOR_ABSENT && has_server(supervisor)) {
        if (supervisor->options.is_external) {
            move(supervisor, SUPERVISOR_EXTERNAL);
        } else {
            start(supervisor);
        }
    } else if (supervisor->sm.state == SUPERVISOR_EXTERNAL && !has_server(supervisor)) {
        move(supervisor, SUPERVISOR_ABSENT);
    }
}

void server_supervisor_stop(ServerSupervisor *supervisor, LoopRun *stopped, void *context)
{
    supervisor->stopped = stopped;
    supervisor->context = context;
    loop_timer_stop(&supervisor->timer);
    if (supervisor->child == NULL) {
        move(supervisor, SUPERVISOR_STOPPED);
        loop_timer_start(&supervisor->timer, 0);
        return;
    }
    move(supervisor, SUPERVISOR_STOPPING);
    child_terminate(supervisor->child);
    loop_timer_start(&supervisor->timer, SUPERVISOR_GRACE_MS);
}

SupervisorStatus server_supervisor_status(const ServerSupervisor *supervisor)
{
    return (SupervisorStatus){ .state = (SupervisorState)supervisor->sm.state,
                               .pid = supervisor->child == NULL ? 0 : child_pid(supervisor->child),
                               .since_ms = supervisor->since_ms,
                               .exits = supervisor->exits,
                               .why = supervisor->why };
}
