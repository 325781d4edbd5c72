/* Leaving a cluster: asks a server to remove this node, and determines whether it was
 * removed. Loop thread.
 *
 * The server disconnects a removed node, often before its response is sent. So if the
 * connection breaks, the next one decides: a server that rejects this node has removed it. */
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
void departure_free(Departure *departure); /* NULL is allowed */
DEFINE_AUTO(Departure, departure_free)

/* The session is in another state; `why` when it waits. */
void departure_moved(Departure *departure, SessionNodeState state, const Error *why);
