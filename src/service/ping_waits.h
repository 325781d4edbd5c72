/* Callers that wait for a node to answer a ping. Loop thread only. */
#pragma once

#include "rpc/session_server.h"

typedef struct PingWait PingWait;

typedef struct PingWaits {
    PingWait *first;
} PingWaits;

enum {
    PING_MS = 10 * 1000 /* maximum time until the response */
};

/* Adds a caller. `done` is called once: by one of the functions below, or with ERROR_TIMEOUT. */
void ping_waits_add(PingWaits *waits, Loop *loop, SessionPinged *done, void *context);
/* Completes all callers that wait for the node. */
void ping_waits_complete(PingWaits *waits, const SessionPing *ping);
void ping_waits_fail(PingWaits *waits, const Error *err);
