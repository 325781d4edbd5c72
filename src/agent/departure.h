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
    DEPARTURE_MS = 20 * 1000, /* timeout for everything */
};

/* `err` is NULL if the node was removed. */
typedef void DepartureLeft(void *context, const Error *err);

typedef struct DepartureOptions {
    Loop *loop;
    GrpcClient *client;  /* connection of the session; used only within departure_new() */
    Str node;            /* the same */
    DepartureLeft *left; /* called once, in a later loop iteration; may free the departure */
    void *context;
} DepartureOptions;

/* Sends the request. Fails with ERROR_UNAVAILABLE if the connection accepts no more calls. */
MUST_CHECK bool departure_new(const DepartureOptions *options, Departure **out, Error *err);
void departure_free(Departure *departure); /* NULL is allowed */
DEFINE_AUTO(Departure, departure_free)

/* The state of the session has changed; `why` if it is waiting. */
void departure_moved(Departure *departure, SessionNodeState state, const Error *why);
