#include "agent/agent.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/agent_inner.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/utc.h"
#include "datastore/member_settings.h"
#include "sys/own_unit.h"
#include "sys/process.h"
#include "sys/process_memory.h"

#define SERVER_DIRECTORY "server" /* in the state directory */
#define SERVER_SETTINGS  "server.json"

static void report_status(Agent *agent)
{
    if (agent->options.changed != NULL) {
        agent->options.changed(agent->options.context);
    }
}

/* Not while closing: it would start a session. */
static void schedule_check(Agent *agent)
{
    if (agent->closed == NULL) {
        loop_timer_start(&agent->settle_timer, AGENT_SETTLE_MS);
    }
}

/* --- Node membership ------------------------------------------------------------------------- */

static void membership_changed(void *context)
{
    report_status(context);
}

static void end_membership(Agent *agent, const Error *why)
{
    log_info("node membership ended", LOG_C("error", why->text));
    local_api_no_node(agent->api);
    membership_close(TAKE(agent->membership));
    agent->why = *why;
    if (agent->done != NULL) {
        NodeLeaveDone *done = TAKE(agent->done);
        done(agent->leave_context, why);
    }
}

/* node.json is written last when joining, so other files without it mean that it was lost. */
static void explain_missing_settings(Agent *agent)
{
    bool is_server = server_supervisor_status(agent->supervisor).state != SUPERVISOR_ABSENT;
    char what[sizeof agent->why.text];
    if (agent->why.kind == ERROR_NONE || agent->why.kind == ERROR_DENIED ||
        !directory_has(&agent->directory, AGENT_STATE)) {
        return;
    }
    snprintf(what, sizeof what, "%s", agent->why.text);
    error_set(&agent->why, ERROR_INVALID,
              "%s; " AGENT_STATE
              " marks this machine as a node: restore the file from a copy, or %s",
              what,
              is_server ? "create a backup, move the state directory away and restore the backup"
                        : "'eden leave --force', then 'eden join'");
}

static void begin_membership(Agent *agent)
{
    if (agent->options.repair != NULL &&
        server_supervisor_status(agent->supervisor).state != SUPERVISOR_ABSENT) {
        agent->options.repair(agent->options.context);
    }
    MembershipOptions options = { .loop = agent->options.loop,
                                  .directory = &agent->directory,
                                  .path = agent->own_path,
                                  .state = &agent->state,
                                  .state_dir = agent->options.state_dir,
                                  .config_dir = agent->options.config_dir,
                                  .root = agent->options.root,
                                  .run_limits = agent->options.run_limits,
                                  .changed = membership_changed,
                                  .context = agent };
    if (membership_open(&options, &agent->membership, &agent->why)) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        MembershipStatus status;
        membership_status(agent->membership, &arena, &status);
        log_info("node membership started", LOG_C("node", status.state->node),
                 LOG_C("cluster", status.state->cluster));
        return;
    }
    explain_missing_settings(agent);
    if (agent->why.kind == ERROR_NOT_FOUND && directory_has(&agent->directory, AGENT_CREDENTIAL)) {
        /* Leaving deletes node.json first. */
        error_set(&agent->why, ERROR_NOT_FOUND,
                  "%s/" AGENT_STATE " is missing, but " AGENT_CREDENTIAL
                  " of a node exists. Unless this machine was leaving, the file was lost: restore "
                  "it from a copy; or run 'eden nodes remove' on a server, then 'eden join'",
                  agent->directory.path);
        log_warning("this machine is not a node", LOG_C("error", agent->why.text));
    } else if (agent->why.kind == ERROR_NOT_FOUND) {
        log_info("this machine is not a node yet; 'eden join' adds it to a cluster");
    } else {
        log_error("this machine cannot act as a node", LOG_C("error", agent->why.text));
        loop_timer_start(&agent->settle_timer, AGENT_RETRY_MS);
    }
}

static void check_membership(Agent *agent)
{
    Error err;
    if (agent->membership != NULL && !membership_reload(agent->membership, &err)) {
        if (err.kind == ERROR_NOT_FOUND || err.kind == ERROR_CONFLICT) {
            end_membership(agent, &err);
        } else {
            log_error("cannot read the files of this node", LOG_C("error", err.text));
        }
    }
    if (agent->membership == NULL) {
        begin_membership(agent);
    }
}

/* --- Leaving --------------------------------------------------------------------------------- */

/* The result is passed only to the caller that requested it, regardless of later changes to the
 * files. */
static void forget_node(void *context)
{
    Agent *agent = context;
    NodeLeaveDone *done = TAKE(agent->done);
    Error err;
    error_set(&err, ERROR_NOT_FOUND, "this node has left the cluster");
    if (agent->membership != NULL) {
        end_membership(agent, &err);
    }
    bool ok = membership_forget(&agent->directory, &err);
    done(agent->leave_context, ok ? NULL : &err);
    schedule_check(agent);
}

static void node_removed(void *context, const Error *err)
{
    Agent *agent = context;
    if (err == NULL) {
        forget_node(agent);
    } else {
        NodeLeaveDone *done = TAKE(agent->done);
        done(agent->leave_context, err);
    }
}

bool agent_leave(Agent *agent, bool notify_server, NodeLeaveDone *done, void *context, Error *err)
{
    if (agent->membership == NULL && !directory_has(&agent->directory, AGENT_STATE)) {
        return error_set(err, ERROR_CONFLICT, "this machine is not a node of a cluster");
    }
    if (server_supervisor_status(agent->supervisor).state != SUPERVISOR_ABSENT) {
        return error_set(err, ERROR_CONFLICT,
                         "this machine is a server of its cluster and cannot leave it");
    }
    if (agent->done != NULL) {
        return error_set(err, ERROR_CONFLICT, "this node is already leaving");
    }
    if (!notify_server) {
        loop_timer_start(&agent->leave_timer, 0);
    } else if (agent->membership == NULL) {
        return error_set(err, ERROR_UNAVAILABLE, "%s", agent->why.text);
    } else if (!membership_leave(agent->membership, node_removed, agent, err)) {
        return false;
    }
    agent->done = done;
    agent->leave_context = context;
    return true;
}

/* --- Watching files -------------------------------------------------------------------------- */

static void agent_file_changed(void *context, const char *name)
{
    if (name == NULL || strcmp(name, AGENT_STATE) == 0) {
        schedule_check(context);
    }
}

static void state_changed(void *context, const char *name)
{
    Agent *agent = context;
    if (name == NULL || strcmp(name, SERVER_DIRECTORY) == 0) {
        path_watch_free(TAKE(agent->server_files)); /* the directory may have been replaced */
        schedule_check(agent);
    }
}

static void server_file_changed(void *context, const char *name)
{
    if (name == NULL || strcmp(name, SERVER_SETTINGS) == 0 ||
        strcmp(name, DATASTORE_SETTINGS) == 0) {
        schedule_check(context);
    }
}

static void config_changed(void *context, const char *name)
{
    schedule_check(context);
}

/* A missing directory is watched as soon as it exists. */
static void watch_files(Agent *agent)
{
    const AgentOptions *options = &agent->options;
    Loop *loop = options->loop;
    Error err;
    if (agent->state_files == NULL && !path_watch_new(loop, options->state_dir, state_changed,
                                                      agent, &agent->state_files, &err)) {
        log_warning("cannot watch the state directory", LOG_C("error", err.text));
    }
    if (agent->own_files == NULL && !path_watch_new(loop, agent->own_path, agent_file_changed,
                                                    agent, &agent->own_files, &err)) {
        log_warning("cannot watch the agent's directory", LOG_C("error", err.text));
    }
    if (agent->server_files == NULL) {
        (void)!path_watch_new(loop, agent->server_path, server_file_changed, agent,
                              &agent->server_files, &err);
    }
    if (agent->config_files == NULL) {
        (void)!path_watch_new(loop, options->config_dir, config_changed, agent,
                              &agent->config_files, &err);
    }
}

static void check_all(void *context)
{
    Agent *agent = context;
    watch_files(agent);
    datastore_supervisor_check(agent->datastore);
    server_supervisor_check(agent->supervisor);
    check_membership(agent);
    report_status(agent);
}

void agent_reload(Agent *agent)
{
    schedule_check(agent);
    if (agent->membership != NULL) {
        membership_check(agent->membership);
    }
    upgrade_restart_check(&agent->upgrade_restart);
}

static void list_excluded(void *context, int64_t out[UPGRADE_RESTART_EXCLUDED])
{
    const Agent *agent = context;
    out[0] = server_supervisor_status(agent->supervisor).pid;
    out[1] = datastore_supervisor_pid(agent->datastore);
}

static void outdated(void *context)
{
    const Agent *agent = context;
    agent->options.outdated(agent->options.context);
}

static void clock_jumped(void *context, int64_t by_ms)
{
    const Agent *agent = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    int64_t now_ms = loop_wall_ms(agent->options.loop);
    log_warning("system clock jumped", LOG_INT("by_ms", by_ms),
                LOG_STR("from", utc_text(&arena, now_ms - by_ms)),
                LOG_STR("to", utc_text(&arena, now_ms)));
}

static void release_memory(void *context)
{
    process_memory_release();
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static bool take_lock(Agent *agent, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Directory) run = { .descriptor = -1 };
    arena_init(&arena, ARENA_UNLIMITED);
    const AgentOptions *options = &agent->options;
    Str holder = arena_format(&arena, "%lld", (long long)process_own_pid()), found;
    if (!directory_make(options->state_dir, &agent->state, err) ||
        !directory_make_child(&agent->state, AGENT_DIRECTORY, &agent->directory, err)) {
        return false;
    }
    if (!file_lock_take(&agent->directory, AGENT_LOCK, holder, &arena, &agent->lock, &found, err)) {
        return err->kind == ERROR_CONFLICT
                   ? error_set(err, ERROR_CONFLICT,
                               "an agent is already running on %s (pid %" STR_FMT ")",
                               options->state_dir, STR_ARG(found))
                   : false;
    }
    return directory_make(options->run_dir, &run, err) && directory_set_mode(&run, 0755, err);
}

static void free_agent(Agent *agent)
{
    loop_timer_stop(&agent->settle_timer);
    loop_timer_stop(&agent->leave_timer);
    clock_watch_stop(&agent->clock);
    loop_timer_stop(&agent->rest);
    upgrade_restart_stop(&agent->upgrade_restart);
    path_watch_free(agent->state_files);
    path_watch_free(agent->own_files);
    path_watch_free(agent->server_files);
    path_watch_free(agent->config_files);
    membership_close(agent->membership);
    local_api_close(agent->api);
    server_supervisor_free(agent->supervisor);
    datastore_supervisor_free(agent->datastore);
    file_lock_release(&agent->lock);
    directory_close(&agent->directory);
    directory_close(&agent->state);
    arena_clear(&agent->arena);
    free(agent);
}

static const char *make_path(Agent *agent, const char *directory, const char *name)
{
    return arena_copy_c(&agent->arena, arena_format(&agent->arena, "%s/%s", directory, name));
}

bool agent_open(const AgentOptions *options, Agent **out, Error *err)
{
    Agent *agent = memory_new(sizeof *agent);
    agent->options = *options;
    agent->started_ms = loop_wall_ms(options->loop);
    agent->state.descriptor = agent->directory.descriptor = agent->lock.descriptor = -1;
    arena_init(&agent->arena, ARENA_UNLIMITED);
    agent->own_path = make_path(agent, options->state_dir, AGENT_DIRECTORY);
    agent->server_path = make_path(agent, options->state_dir, SERVER_DIRECTORY);
    loop_timer_init(&agent->settle_timer, options->loop, check_all, agent);
    loop_timer_init(&agent->rest, options->loop, release_memory, agent);
    loop_timer_init(&agent->leave_timer, options->loop, forget_node, agent);
    clock_watch_init(&agent->clock, options->loop, clock_jumped, agent);
    upgrade_restart_init(&agent->upgrade_restart,
                         &(UpgradeRestartOptions){ .loop = options->loop,
                                                   .kernel = "/",
                                                   .will_be_restarted = own_unit_is_main_process(),
                                                   .excluded = list_excluded,
                                                   .due = outdated,
                                                   .context = agent });
    if (!take_lock(agent, err) ||
        !local_api_open(agent, make_path(agent, options->run_dir, AGENT_SOCKET), &agent->api,
                        err)) {
        free_agent(agent);
        return false;
    }
    agent->datastore = datastore_supervisor_new(options->loop, options->state_dir);
    agent->supervisor = server_supervisor_new(
        &(ServerSupervisorOptions){ .loop = options->loop,
                                    .state_dir = options->state_dir,
                                    .run_dir = options->run_dir,
                                    .log_level = options->log_level,
                                    .log_format = options->log_format,
                                    .is_external = options->server_is_external });
    watch_files(agent);
    server_supervisor_check(agent->supervisor);
    begin_membership(agent);
    loop_timer_start(&agent->rest, AGENT_REST_MS);
    *out = agent;
    return true;
}

static void server_stopped(void *context)
{
    Agent *agent = context;
    LoopRun *closed = agent->closed;
    void *closed_context = agent->closed_context;
    free_agent(agent);
    closed(closed_context);
}

/* The session is closed first, so that the server sees an orderly exit. Callers waiting for a
 * certificate are completed before the socket is closed. */
void agent_close(Agent *agent, LoopRun *closed, void *context)
{
    agent->closed = closed;
    agent->closed_context = context;
    loop_timer_stop(&agent->settle_timer);
    loop_timer_stop(&agent->leave_timer);
    upgrade_restart_stop(&agent->upgrade_restart);
    membership_close(TAKE(agent->membership));
    local_api_close(TAKE(agent->api));
    server_supervisor_stop(agent->supervisor, server_stopped, agent);
}
