#include "agent/server_keeper.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/sm.h"
#include "membership/lost_settings.h"
#include "rpc/backoff.h"
#include "sys/directory.h"
#include "sys/process.h"

#define SERVER_PLACE    "server" /* in the state directory; same as in server/create_cluster.h */
#define SERVER_SETTINGS "server.json"
#define SERVER_FAILURE  "failure" /* in SERVER_PLACE of the run directory */

struct ServerKeeper {
    ServerKeeperOptions options;
    Sm sm;
    Child *child;
    LoopTimer timer;
    int64_t since_ms, started_ms; /* Unix time; loop time */
    uint32_t ends, failures;      /* total; consecutive */
    char why[600];
    LoopRun *stopped;
    void *context;
};

static const SmState states[] = {
    [KEEPER_ABSENT] = { "absent", SM_TO(KEEPER_RUNNING) | SM_TO(KEEPER_WAITING) |
                                      SM_TO(KEEPER_STOPPED) | SM_TO(KEEPER_ELSEWHERE) },
    [KEEPER_RUNNING] = { "running", SM_TO(KEEPER_WAITING) | SM_TO(KEEPER_STOPPING) },
    [KEEPER_WAITING] = { "waiting", SM_TO(KEEPER_RUNNING) | SM_TO(KEEPER_ABSENT) |
                                        SM_TO(KEEPER_WAITING) | SM_TO(KEEPER_STOPPED) },
    [KEEPER_STOPPING] = { "stopping", SM_TO(KEEPER_STOPPED) },
    [KEEPER_STOPPED] = { "stopped", 0 },
    [KEEPER_ELSEWHERE] = { "elsewhere", SM_TO(KEEPER_ABSENT) | SM_TO(KEEPER_STOPPED) },
};
static const SmTable table = { "server keeper", states, COUNT_OF(states), NULL };

const char *keeper_state_name(KeeperState state)
{
    return states[state].name;
}

static void move(ServerKeeper *keeper, KeeperState state)
{
    keeper->since_ms = loop_wall_ms(keeper->options.loop);
    sm_move(&keeper->sm, state);
}

static bool open_place(const ServerKeeper *keeper, Directory *out)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    Error err;
    return directory_open(keeper->options.state_dir, &state, &err) &&
           directory_open_child(&state, SERVER_PLACE, out, &err);
}

static bool has_server(const ServerKeeper *keeper)
{
    AUTO_CLEAR(Directory) server = { .descriptor = -1 };
    return open_place(keeper, &server) && directory_has(&server, SERVER_SETTINGS);
}

/* Without its settings file, a server's machine would look as if it had none. */
static void tell_lost(ServerKeeper *keeper)
{
    AUTO_CLEAR(Directory) server = { .descriptor = -1 };
    Error err;
    if (keeper->child != NULL || !open_place(keeper, &server) || !settings_are_lost(&server)) {
        return; /* a running server writes it again */
    }
    lost_settings_error(&server, &err);
    if (strcmp(keeper->why, err.text) != 0) {
        snprintf(keeper->why, sizeof keeper->why, "%s", err.text);
        log_error("cannot start the server of this machine", LOG_C("error", err.text));
    }
}

static void wait(ServerKeeper *keeper)
{
    const ServerKeeperOptions *options = &keeper->options;
    keeper->failures++;
    int64_t delay = KEEPER_WAIT_MS + backoff_ms(keeper->failures, loop_random(options->loop));
    move(keeper, KEEPER_WAITING);
    loop_timer_start(&keeper->timer, delay);
    log_warning("server exited; restarting it", LOG_C("reason", keeper->why),
                LOG_INT("in_ms", delay));
}

/* The error left by the server; a killed one leaves none. */
static Str read_failure(const ServerKeeper *keeper, Arena *arena)
{
    AUTO_CLEAR(Directory) run = { .descriptor = -1 };
    AUTO_CLEAR(Directory) server = { .descriptor = -1 };
    Str text;
    Error err;
    return directory_open(keeper->options.run_dir, &run, &err) &&
                   directory_open_child(&run, SERVER_PLACE, &server, &err) &&
                   directory_read(&server, arena, SERVER_FAILURE, sizeof err.text, &text, &err)
               ? text
               : STR_EMPTY;
}

static void note_end(ServerKeeper *keeper, ChildEnd end)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    if (end.by_signal) {
        snprintf(keeper->why, sizeof keeper->why, "killed by %" STR_FMT,
                 STR_ARG(process_signal_name(&arena, end.number)));
    } else {
        Str failure = end.number == 0 ? STR_EMPTY : read_failure(keeper, &arena);
        snprintf(keeper->why, sizeof keeper->why, "exited with status %d%s%" STR_FMT, end.number,
                 failure.len > 0 ? ": " : "", STR_ARG(failure));
    }
}

static void ended(void *context, ChildEnd end)
{
    ServerKeeper *keeper = context;
    bool was_asked = keeper->sm.state == KEEPER_STOPPING;
    child_free(TAKE(keeper->child));
    note_end(keeper, end);
    loop_timer_stop(&keeper->timer);
    if (was_asked) {
        log_info("server stopped", LOG_C("how", keeper->why));
        move(keeper, KEEPER_STOPPED);
        keeper->stopped(keeper->context);
        return;
    }
    keeper->ends++;
    if (loop_now_ms(keeper->options.loop) - keeper->started_ms >= KEEPER_GOOD_MS) {
        keeper->failures = 0;
    }
    wait(keeper);
}

static void start(ServerKeeper *keeper)
{
    const ServerKeeperOptions *options = &keeper->options;
    char parent[24];
    snprintf(parent, sizeof parent, "%lld", (long long)process_own_number());
    const char *const argv[] = {
        "eden",   "serve", "--state-dir", options->state_dir, "--run-dir",    options->run_dir,
        "--with", parent,  "--log-level", options->log_level, "--log-format", options->log_format,
        NULL
    };
    ChildOptions child = { .loop = options->loop,
                           .program =
                               options->program == NULL ? CHILD_SAME_PROGRAM : options->program,
                           .argv = argv,
                           .ended = ended,
                           .context = keeper };
    Error err;
    if (!child_start(&child, &keeper->child, &err)) {
        snprintf(keeper->why, sizeof keeper->why, "%.100s", err.text);
        wait(keeper);
        return;
    }
    keeper->started_ms = loop_now_ms(options->loop);
    move(keeper, KEEPER_RUNNING);
    log_info("server started", LOG_INT("pid", child_number(keeper->child)));
}

/* --- Public API ------------------------------------------------------------------------------ */

static void timer_runs(void *context)
{
    ServerKeeper *keeper = context;
    if (keeper->sm.state == KEEPER_STOPPING) {
        log_warning("server did not stop in time; killing it");
        child_kill(keeper->child);
    } else if (keeper->sm.state == KEEPER_STOPPED) {
        keeper->stopped(keeper->context);
    } else if (has_server(keeper)) {
        start(keeper);
    } else {
        move(keeper, KEEPER_ABSENT);
        tell_lost(keeper);
    }
}

ServerKeeper *server_keeper_new(const ServerKeeperOptions *options)
{
    ServerKeeper *keeper = memory_new(sizeof *keeper);
    keeper->options = *options;
    keeper->since_ms = loop_wall_ms(options->loop);
    sm_init(&keeper->sm, &table, keeper, "server", KEEPER_ABSENT);
    loop_timer_init(&keeper->timer, options->loop, timer_runs, keeper);
    return keeper;
}

void server_keeper_free(ServerKeeper *keeper)
{
    if (keeper == NULL) {
        return;
    }
    loop_timer_stop(&keeper->timer);
    child_free(keeper->child);
    free(keeper);
}

void server_keeper_look(ServerKeeper *keeper)
{
    if (!has_server(keeper)) {
        tell_lost(keeper);
    }
    if (keeper->sm.state == KEEPER_ABSENT && has_server(keeper)) {
        if (keeper->options.elsewhere) {
            move(keeper, KEEPER_ELSEWHERE);
        } else {
            start(keeper);
        }
    } else if (keeper->sm.state == KEEPER_ELSEWHERE && !has_server(keeper)) {
        move(keeper, KEEPER_ABSENT);
    }
}

void server_keeper_stop(ServerKeeper *keeper, LoopRun *stopped, void *context)
{
    keeper->stopped = stopped;
    keeper->context = context;
    loop_timer_stop(&keeper->timer);
    if (keeper->child == NULL) {
        move(keeper, KEEPER_STOPPED);
        loop_timer_start(&keeper->timer, 0);
        return;
    }
    move(keeper, KEEPER_STOPPING);
    child_ask_to_end(keeper->child);
    loop_timer_start(&keeper->timer, KEEPER_GRACE_MS);
}

KeeperStatus server_keeper_status(const ServerKeeper *keeper)
{
    return (KeeperStatus){ .state = (KeeperState)keeper->sm.state,
                           .number = keeper->child == NULL ? 0 : child_number(keeper->child),
                           .since_ms = keeper->since_ms,
                           .ends = keeper->ends,
                           .why = keeper->why };
}
