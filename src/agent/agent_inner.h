/* Internal declarations of the agent. */
#pragma once

#include "agent/agent.h"
#include "agent/local_api.h"
#include "agent/membership.h"
#include "agent/server_keeper.h"
#include "agent/succession.h"
#include "sys/clock_watch.h"
#include "sys/file_lock.h"
#include "sys/path_watch.h"

struct Agent {
    AgentOptions options;
    Arena arena; /* texts that live as long as the agent */
    int64_t started_ms;
    Directory state, directory; /* the second: the agent's own */
    FileLock lock;
    const char *own_path, *server_path;
    PathWatch *state_files, *own_files, *server_files, *config_files; /* each may be NULL */
    LoopTimer settle; /* until files are looked at */
    ClockWatch clock;
    Succession succession;
    LoopTimer rest; /* until it has been started for a while */
    ServerKeeper *keeper;
    LocalApi *api;
    Membership *membership; /* NULL: this machine is no node */
    Error why;              /* it is none; ERROR_NOT_FOUND: nobody has made it one */
    DepartureLeft *left;    /* who waits for having left; else NULL */
    void *left_context;
    LoopTimer leave_timer;
    LoopRun *closed;
    void *closed_context;
};

/* This machine becomes no node: the server is asked to remove it, or not, and then its files go.
 * `left` is called once, in a later turn: with NULL it is none. Fails with ERROR_CONFLICT where it is
 * none or is a server, ERROR_UNAVAILABLE when the server cannot be asked. */
MUST_CHECK bool agent_leave(Agent *agent, bool ask, DepartureLeft *left, void *context, Error *err);

/* "eden.agent-status/1" */
void agent_status_print(const Agent *agent, Buf *out);
