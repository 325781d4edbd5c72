/* Internal declarations of the agent. */
#pragma once

#include "agent/agent.h"
#include "agent/datastore_supervisor.h"
#include "agent/local_api.h"
#include "agent/membership.h"
#include "agent/server_supervisor.h"
#include "agent/upgrade_restart.h"
#include "sys/clock_watch.h"
#include "sys/file_lock.h"
#include "sys/path_watch.h"

struct Agent {
    AgentOptions options;
    Arena arena; /* strings that live as long as the agent */
    int64_t started_ms;
    Directory state, directory; /* the state directory; the agent's own directory in it */
    FileLock lock;
    const char *own_path, *server_path;
    PathWatch *state_files, *own_files, *server_files, *config_files; /* each may be NULL */
    LoopTimer settle_timer; /* delays reading changed files */
    ClockWatch clock;
    UpgradeRestart upgrade_restart;
    LoopTimer rest; /* fires some time after the start */
    DatastoreSupervisor *datastore;
    ServerSupervisor *supervisor;
    LocalApi *api;
    Membership *membership; /* NULL: this machine is not a node */
    Error why;              /* why it is not; ERROR_NOT_FOUND: it never joined */
    NodeLeaveDone *done;    /* callback of a leave in progress, or NULL */
    void *leave_context;
    LoopTimer leave_timer;
    LoopRun *closed;
    void *closed_context;
};

/* Leaves the cluster: asks the server to remove the node, unless `notify_server` is false, then
 * deletes the node's files. `done` is called once, in a later loop iteration; NULL means success.
 * Fails with ERROR_CONFLICT if this machine is not a node or is a server, ERROR_UNAVAILABLE if the
 * server is unreachable. */
MUST_CHECK bool agent_leave(Agent *agent, bool notify_server, NodeLeaveDone *done, void *context,
                            Error *err);

/* Appends "eden.agent-status/1". */
void agent_status_print(const Agent *agent, Buf *out);
