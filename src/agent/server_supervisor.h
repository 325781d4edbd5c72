/* Keeps the server on this machine running, if there is one: runs `eden serve` as a child of the
 * agent, restarts it when it exits, never runs it twice, and stops it in order. Loop thread.
 *
 *     absent -> running -> waiting -> running ...
 *        |         |          |
 *        v         v          v
 *    elsewhere  stopping -> stopped
 *
 * There is a server if `eden init` has created its settings. The child exits with the agent, even
 * if the agent is killed; until then it holds the store, and a new agent retries. If the server is
 * started by another service, such as a separate unit, the agent only reports that there is one. */
#pragma once

#include "sys/child.h"
#include "sys/loop.h"

typedef struct ServerSupervisor ServerSupervisor;

enum {
    SUPERVISOR_GRACE_MS = 15 * 1000,  /* time to stop gracefully before it is killed */
    SUPERVISOR_STABLE_MS = 60 * 1000, /* uptime after which earlier exits no longer count */
    SUPERVISOR_WAIT_MS = 500,         /* minimum delay before a restart */
};

typedef enum SupervisorState {
    SUPERVISOR_ABSENT,
    SUPERVISOR_RUNNING,
    SUPERVISOR_WAITING,
    SUPERVISOR_STOPPING,
    SUPERVISOR_STOPPED,
    SUPERVISOR_EXTERNAL, /* started by another service */
} SupervisorState;
const char *supervisor_state_name(SupervisorState state);

typedef struct ServerSupervisorOptions {
    Loop *loop;
    const char *state_dir, *run_dir; /* borrowed, like all strings here */
    const char *program;             /* NULL: that of this process */
    const char *log_level, *log_format;
    bool is_external; /* the server is started by another service */
} ServerSupervisorOptions;

/* Does nothing until server_supervisor_check(). */
ServerSupervisor *server_supervisor_new(const ServerSupervisorOptions *options);
/* Kills a running child. NULL is allowed. */
void server_supervisor_free(ServerSupervisor *supervisor);
DEFINE_AUTO(ServerSupervisor, server_supervisor_free)

/* Checks whether there is a server. */
void server_supervisor_check(ServerSupervisor *supervisor);
/* Final; `stopped` is called once, in a later loop iteration. */
void server_supervisor_stop(ServerSupervisor *supervisor, LoopRun *stopped, void *context);

typedef struct SupervisorStatus {
    SupervisorState state;
    pid_t pid;        /* while running; otherwise 0 */
    int64_t since_ms; /* Unix time of the last state change */
    uint32_t exits;   /* number of unexpected exits */
    const char *why;  /* reason for the last exit; "" if none */
} SupervisorStatus;
SupervisorStatus server_supervisor_status(const ServerSupervisor *supervisor);
