/* The agent: the daemon of every machine. Starts its parts, and stops them in
 * order. Loop thread, which must be the main thread.
 *
 * On a node it holds the session with a server (membership.h); after `eden init`
 * it keeps the server running (server_keeper.h); otherwise it waits until the
 * machine becomes either. Local commands call it through its socket (local_api.h). */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/own.h"
#include "sys/loop.h"

#define AGENT_SOCKET "agent.sock" /* in the run directory */
#define AGENT_LOCK   "lock"       /* in the agent's directory: one agent at a time */

enum {
    AGENT_SETTLE_MS = 200,      /* changes of files within this are looked at together */
    AGENT_RETRY_MS = 30 * 1000, /* until files are read again that could not be */
    AGENT_REST_MS = 10 * 1000,  /* until what only starting needed is given back */
};

typedef struct Agent Agent;

typedef struct AgentOptions {
    Loop *loop;
    const char *state_dir, *run_dir, *config_dir; /* borrowed, as all texts here */
    const char *root;                             /* whose facts are told: "/" */
    const char *log_level, *log_format;           /* of the server that it starts */
    bool server_elsewhere;                        /* something else starts the server */
    /* Files of the node may be lost, on the machine of a server that has what it takes to make them.
     * NULL: they are left so. */
    void (*mend)(void *context);
    /* What agent_line says is another. Not from within a function of its owner. */
    void (*changed)(void *context);
    /* Another program is in place of this one, and who keeps the agent would start that: it should
     * be closed. From the loop; once. */
    void (*outdated)(void *context);
    void *context;
} AgentOptions;

/* Fails with ERROR_CONFLICT when another agent runs here, and as the file system does. */
MUST_CHECK bool agent_open(const AgentOptions *options, Agent **out, Error *err);
/* Everything may have changed: files, facts, whether there is a server, the program itself. */
void agent_reload(Agent *agent);
/* Ends the session, keeps what is to be told, stops the server; `closed` is called in a later turn,
 * when stopped, and everything removed, this too. */
void agent_close(Agent *agent, LoopRun *closed, void *context);

/* What it does, in one line for people. */
void agent_line(const Agent *agent, Buf *out);
