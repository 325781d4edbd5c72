/* gRPC calls, as seen by servers (grpc_server.h) and clients (grpc_client.h). Loop thread.
 *
 * A call carries messages in both directions and ends with a status. Its events are
 * reported to the functions of its GrpcHandler; any of them may use the call, end it, and
 * free the client. `ended` is called exactly once and last, never within a function called
 * by the handler's owner; after it, or after grpc_call_cancel, the call is freed.
 *
 * Nothing grows without bound. A sender stops when grpc_call_send reports that the queue
 * is full, and continues with `writable`. A receiver that cannot keep up pauses the call;
 * then the peer's window fills and the peer has to wait. */
#pragma once

#include "net/grpc_status.h"
#include "net/http2.h"

typedef struct GrpcCall GrpcCall;

typedef enum GrpcKind {
    GRPC_UNARY,
    GRPC_CLIENT_STREAM, /* many requests, one response */
    GRPC_SERVER_STREAM, /* one request, many responses */
    GRPC_BIDI_STREAM,
} GrpcKind;

/* Every function may be NULL. */
typedef struct GrpcHandler {
    /* A server's: a call came in and is allowed; grpc_call_header works here only. */
    void (*started)(GrpcCall *call);
    void (*message)(GrpcCall *call, Str message); /* borrowed for the call of the function */
    void (*half_closed)(GrpcCall *call);          /* a server's: there are no more requests */
    void (*writable)(GrpcCall *call);             /* a full queue has room again */
    /* A client's: the peer's status, or what came in between. A server's: GRPC_CANCELLED or
     * GRPC_DEADLINE_EXCEEDED when the peer did not wait for the answer. */
    void (*ended)(GrpcCall *call, GrpcStatus status, Str text);
} GrpcHandler;

/* A row of a server's table. */
typedef struct GrpcMethod {
    const char *path; /* "/package.Service/Method" */
    GrpcKind kind;
    uint32_t request_max; /* bytes of one message */
    const GrpcHandler *handler;
    const void *data; /* whatever the layer above wants to find in its row */
} GrpcMethod;

/* For what the owner of the handler keeps with a call. */
void grpc_call_set_data(GrpcCall *call, void *data);
void *grpc_call_data(const GrpcCall *call);

/* Takes a copy. Fails with ERROR_LIMIT, taking nothing, when the queue is full: then `writable`
 * follows; and with ERROR_UNAVAILABLE when the call is over or nothing may follow any more. A
 * queue that is not full takes any one message. Calls of one connection share what may wait in all:
 * a peer that leaves many of them unread holds up its others. */
MUST_CHECK bool grpc_call_send(GrpcCall *call, Str message, Error *err);
bool grpc_call_is_writable(const GrpcCall *call);
/* No messages are told until it is resumed; also from within `message`. */
void grpc_call_pause(GrpcCall *call);
void grpc_call_resume(GrpcCall *call);
/* Ends the call at once; nothing is told of it any more, not even `ended`. */
void grpc_call_cancel(GrpcCall *call);

/* --- On a server ----------------------------------------------------------------------------- */

/* Ends the call with a status, behind what is queued. `ended` follows. */
void grpc_call_finish(GrpcCall *call, GrpcStatus status, Str text);
/* The same with the status that belongs to an error. */
void grpc_call_fail(GrpcCall *call, const Error *err);
const GrpcMethod *grpc_call_method(const GrpcCall *call);
const Peer *grpc_call_peer(const GrpcCall *call);
void *grpc_call_context(const GrpcCall *call); /* the server's */
/* A field of the request's header, by its lower-case name; empty: there is none. */
Str grpc_call_header(const GrpcCall *call, const char *name);

/* --- On a client ----------------------------------------------------------------------------- */

/* No more requests. */
void grpc_call_end_sending(GrpcCall *call);
