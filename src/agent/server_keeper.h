/* Keeps the server of this machine running, if there is one: runs `eden serve` as a child of the
 * agent, restarts it when it exits, never runs it twice, and stops it in order. Loop thread.
 *
 *     absent -> running -> waiting -> running ...
 *        |         |          |
 *        v         v          v
 *    elsewhere  stopping -> stopped
 *
 * There is a server if `eden init` has created its settings. The child exits with the agent,
 * however that ends; a child of an agent that was killed holds the store until it exits, and
 * until then the new agent retries. If the server is run otherwise, for example by a separate
 * unit, the agent only knows that there is one. */
#pragma once

#include "sys/child.h"
#include "sys/loop.h"

typedef struct ServerKeeper ServerKeeper;

enum {
    KEEPER_GRACE_MS = 15 * 1000, /* to stop in order; then it is killed */
    KEEPER_GOOD_MS = 60 * 1000,  /* so long running makes earlier ends forgotten */
    KEEPER_WAIT_MS = 500,        /* at least, before it is started again */
};

typedef enum KeeperState {
    KEEPER_ABSENT,
    KEEPER_RUNNING,
    KEEPER_WAITING,
    KEEPER_STOPPING,
    KEEPER_STOPPED,
    KEEPER_ELSEWHERE, /* there is one, and it is not ours to start */
} KeeperState;
const char *keeper_state_name(KeeperState state);

typedef struct ServerKeeperOptions {
    Loop *loop;
    const char *state_dir, *run_dir; /* borrowed, as all texts here */
    const char *program;             /* NULL: this process's own */
    const char *log_level, *log_format;
    bool elsewhere; /* somebody else starts it */
} ServerKeeperOptions;

/* Does nothing before server_keeper_look. */
ServerKeeper *server_keeper_new(const ServerKeeperOptions *options);
/* Kills a child that runs. NULL is allowed. */
void server_keeper_free(ServerKeeper *keeper);
DEFINE_AUTO(ServerKeeper, server_keeper_free)

/* Whether there is a server may have changed. */
void server_keeper_look(ServerKeeper *keeper);
/* For good; `stopped` is called once, in a later turn. */
void server_keeper_stop(ServerKeeper *keeper, LoopRun *stopped, void *context);

typedef struct KeeperStatus {
    KeeperState state;
    pid_t number;     /* while it runs; else 0 */
    int64_t since_ms; /* since 1970, of the state */
    uint32_t ends;    /* how often it has ended by itself */
    const char *why;  /* it ended the last time; "" when it never did */
} KeeperStatus;
KeeperStatus server_keeper_status(const ServerKeeper *keeper);
