/* How a simulated agent answers orders: as agent/orders.h does, but nothing is executed and nothing is
 * stored. It reports that it waits and that it runs, uploads the events of the run, and reports the
 * result once the server has them. A site has four steps, all of them correct. The command `lines RATE SECONDS`
 * logs so many lines per second for so long, sent every UPLOAD_SETTLE_MS, one call at a time; with 0
 * seconds, RATE lines at once. */
#pragma once

#include "agent/session_link.h"

typedef struct SimulatedNode {
    Loop *loop;
    Outbox *outbox;
    SessionLink *link;
    Str name;
} SimulatedNode;

/* A change to the orders of the node, which must outlive the run. */
void simulated_order(const SimulatedNode *node, const Change *change);
