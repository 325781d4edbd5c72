/* A server: store, trust and listeners, put together, and taken apart in order. Loop thread.
 *
 * It listens once it knows who belongs to the cluster: nobody is let in before. Whoever is removed
 * or revoked is cut off with the turn of the loop in which the store says so. */
#pragma once

#include "base/error.h"
#include "sys/loop.h"

typedef struct Server Server;

typedef struct ServerOptions {
    Loop *loop;
    const char *state_dir;
    const char *socket; /* for operators on this machine, the path of a Unix socket; NULL: none */
    void (*ready)(void *context); /* once: it listens */
    /* It cannot go on, before or after that; to be closed. */
    void (*failed)(void *context, const Error *err);
    void *context;
} ServerOptions;

/* Fails with ERROR_NOT_FOUND when there is no cluster, ERROR_CONFLICT when it runs already, and for
 * what it cannot read. Nothing is called within. */
MUST_CHECK bool server_open(const ServerOptions *options, Server **out, Error *err);
/* No new calls; those under way may end within the time, then they are cut; what the store was
 * asked is still done. `closed` is called in a later turn, when stopped, and everything removed, this too. Also
 * after `failed`, and once only. */
void server_close(Server *server, int64_t grace_ms, LoopRun *closed, void *context);

/* From now on it says that it is not ready, to those who ask, and goes on: so that they send nobody
 * any more before it is closed. */
void server_drain(Server *server);

/* Once it is ready. */
uint16_t server_rpc_port(const Server *server);
uint16_t server_api_port(const Server *server);
