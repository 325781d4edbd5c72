/* What commands of this machine ask its agent, as HTTP and JSON on a Unix socket. For root and for
 * the user that the agent runs as. Loop thread.
 *
 *     GET   /v1/agent          how it is: "eden.agent-status/1"
 *     POST  /v1/agent/renew    get another certificate now
 *     POST  /v1/agent/reload   look at its files and facts again
 *     POST  /v1/agent/leave    be no node any more, and have the server remove it
 *     POST  /v1/agent/forget   the same without asking the server */
#pragma once

#include "base/error.h"
#include "base/own.h"

typedef struct Agent Agent;
typedef struct LocalApi LocalApi;

/* Listens on `path`. Fails with ERROR_CONFLICT when somebody does already. */
MUST_CHECK bool local_api_open(Agent *agent, const char *path, LocalApi **out, Error *err);
void local_api_close(LocalApi *api); /* NULL is fine */
DEFINE_AUTO(LocalApi, local_api_close)

/* The membership is gone: nothing comes of what was asked of it. */
void local_api_no_node(LocalApi *api);
