/* The agent: the daemon on every machine. Starts its parts, and stops them in order. Must run on
 * the loop thread, which must be the main thread.
 *
 * On a node it maintains the session with a server (membership.h); after `eden init` it keeps the
 * server running (server_supervisor.h); otherwise it waits until the machine becomes either. Local
 * commands call it through its socket (local_api.h). */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/own.h"
#include "sys/cgroup.h"
#include "sys/loop.h"

#define AGENT_SOCKET "agent.sock" /* in the run directory */
#define AGENT_LOCK   "lock"       /* in the agent's directory: only one agent at a time */

enum {
    AGENT_SETTLE_MS = 200,      /* file changes within this time are handled together */
    AGENT_RETRY_MS = 30 * 1000, /* delay before unreadable files are read again */
    AGENT_REST_MS = 10 * 1000,  /* delay before memory needed only at startup is released */
};

typedef struct Agent Agent;

typedef struct AgentOptions {
    Loop *loop;
    const char *state_dir, *run_dir, *config_dir; /* borrowed, like all strings here */
    const char *root;                             /* root directory for facts: "/" */
    const char *log_level, *log_format;           /* passed to the server that it starts */
    bool server_is_external;                      /* the server is started by another service */
    CgroupLimits run_limits;                      /* of each run of the cluster */
    /* Recreates lost files of the node on the machine of a server. May be NULL. */
    void (*repair)(void *context);
    /* The result of agent_line() has changed. Never called from within a function of the agent. */
    void (*changed)(void *context);
    /* The program was replaced, and the service manager will start the new one: the agent should be
     * closed. Called once, from the loop. */
    void (*outdated)(void *context);
    void *context;
} AgentOptions;

/* Fails with ERROR_CONFLICT if another agent is running here, or with file system errors. */
MUST_CHECK bool agent_open(const AgentOptions *options, Agent **out, Error *err);
/* Rereads everything: files, facts, whether there is a server, and whether the program was
 * replaced. */
void agent_reload(Agent *agent);
/* Ends the session, saves pending records and stops the server. `closed` is called in a later loop
 * iteration, when everything is stopped and the agent is freed. */
void agent_close(Agent *agent, LoopRun *closed, void *context);

/* Appends the agent's status as one line of text. */
void agent_line(const Agent *agent, Buf *out);
