/* A server: starts store, trust and listeners, and stops them in order. Loop thread only.
 *
 * It listens only after it has read the members of the cluster. Removed and revoked nodes are
 * disconnected in the same iteration of the loop in which the store reports it. */
#pragma once

#include "base/error.h"
#include "sys/loop.h"

typedef struct Server Server;

typedef struct ServerOptions {
    Loop *loop;
    const char *state_dir;
    const char *socket;           /* path of a Unix socket for local operators; may be NULL */
    void (*ready)(void *context); /* called once: it is listening */
    /* A fatal error, before or after `ready`; the owner must close the server. */
    void (*failed)(void *context, const Error *err);
    void *context;
} ServerOptions;

/* Fails with ERROR_NOT_FOUND if there is no cluster, ERROR_CONFLICT if a server is already running,
 * and on file errors. No callback runs during this call. */
MUST_CHECK bool server_open(const ServerOptions *options, Server **out, Error *err);
/* Accepts no new calls; calls in progress may finish within the grace period, then they are
 * canceled; store writes in progress are still executed. `closed` is called in a later iteration of
 * the loop, after everything, including the server, was freed. May be called after `failed`; only
 * once. */
void server_close(Server *server, int64_t grace_ms, LoopRun *closed, void *context);

/* The server reports that it is not ready, but continues to serve, so that load balancers stop
 * sending requests before it is closed. */
void server_drain(Server *server);

/* Once it is ready. */
uint16_t server_rpc_port(const Server *server);
uint16_t server_api_port(const Server *server);
