/* A list of waiting callers, by node. */
#include "service/ping_waits.h"

#include <stdlib.h>

#include "base/memory.h"

struct PingWait {
    PingWait *next;
    PingWaits *waits;
    LoopTimer timer;
    SessionPinged *done;
    void *context;
};

static void end(PingWait *wait, const SessionPing *ping, const Error *err)
{
    loop_timer_stop(&wait->timer);
    wait->done(wait->context, ping, err);
    free(wait);
}

static void expire(void *context)
{
    PingWait *wait = context;
    PingWait **at = &wait->waits->first;
    Error err;
    while (*at != wait) {
        at = &(*at)->next;
    }
    *at = wait->next;
    error_set(&err, ERROR_TIMEOUT, "the node has a session, but did not respond within %d s",
              PING_MS / 1000);
    end(wait, NULL, &err);
}

void ping_waits_add(PingWaits *waits, Loop *loop, SessionPinged *done, void *context)
{
    PingWait *wait = memory_new(sizeof *wait);
    wait->next = waits->first;
    wait->waits = waits;
    wait->done = done;
    wait->context = context;
    waits->first = wait;
    loop_timer_init(&wait->timer, loop, expire, wait);
    loop_timer_start(&wait->timer, PING_MS);
}

static void end_all(PingWaits *waits, const SessionPing *ping, const Error *err)
{
    PingWait *wait = waits->first;
    waits->first = NULL;
    while (wait != NULL) {
        PingWait *next = wait->next;
        end(wait, ping, err);
        wait = next;
    }
}

void ping_waits_complete(PingWaits *waits, const SessionPing *ping)
{
    end_all(waits, ping, NULL);
}

void ping_waits_fail(PingWaits *waits, const Error *err)
{
    end_all(waits, NULL, err);
}
