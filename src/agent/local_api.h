/* The agent's API for commands on this machine: HTTP and JSON on a Unix socket, for root and for
 * the user that the agent runs as. Loop thread.
 *
 *     GET   /v1/agent          its status: "eden.agent-status/1"
 *     POST  /v1/agent/renew    renew the certificate now
 *     POST  /v1/agent/reload   read its files and facts again
 *     POST  /v1/agent/leave    leave the cluster, and have the server remove the node
 *     POST  /v1/agent/forget   leave without notifying the server */
#pragma once

#include "base/error.h"
#include "base/own.h"

typedef struct Agent Agent;
typedef struct LocalApi LocalApi;

/* Listens on `path`. Fails with ERROR_CONFLICT if another process already does. */
MUST_CHECK bool local_api_open(Agent *agent, const char *path, LocalApi **out, Error *err);
void local_api_close(LocalApi *api); /* NULL is allowed */
DEFINE_AUTO(LocalApi, local_api_close)

/* Called when the membership ends: fails requests that depend on it. */
void local_api_no_node(LocalApi *api);
