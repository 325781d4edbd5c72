/* Leaving a cluster in order: asks a server to remove this node, and knows whether it has. Loop
 * thread.
 *
 * The server cuts off whoever is removed, often before its answer is out. So when the connection
 * breaks, what the next one meets tells: a server that refuses this node has removed it. */
#pragma once

#include "net/grpc_client.h"
#include "rpc/session_node.h"

typedef struct Departure Departure;

enum {
    DEPARTURE_MS = 20 * 1000, /* for all of it */
};

/* `err` is NULL when the node is none any more. */
typedef void DepartureLeft(void *context, const Error *err);

typedef struct DepartureOptions {
    Loop *loop;
    GrpcClient *client;  /* of the session; used within departure_new alone */
    Str node;            /* as is this */
    DepartureLeft *left; /* once, in a later turn; the departure may be freed there */
    void *context;
} DepartureOptions;

/* Asks. Fails with ERROR_UNAVAILABLE when the connection takes no more calls. */
MUST_CHECK bool departure_new(const DepartureOptions *options, Departure **out, Error *err);
void departure_free(Departure *departure); /* NULL is fine */
DEFINE_AUTO(Departure, departure_free)

/* The session is in another state; `why` when it waits. */
void departure_moved(Departure *departure, SessionNodeState state, const Error *why);
