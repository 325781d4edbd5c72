/* Callers that wait for a node to answer a ping. Loop thread. */
#pragma once

#include "rpc/session_server.h"

typedef struct PingWait PingWait;

typedef struct PingWaits {
    PingWait *first;
} PingWaits;

enum {
    PING_MS = 10 * 1000 /* so long an answer is waited for */
};

/* `done` is called once: by one of the others, or with ERROR_TIMEOUT. */
void ping_waits_add(PingWaits *waits, Loop *loop, SessionPinged *done, void *context);
/* All of them, of whom none waits afterwards. */
void ping_waits_answer(PingWaits *waits, const SessionPing *ping);
void ping_waits_fail(PingWaits *waits, const Error *err);
