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
    /* For servers: a call arrived and is authorized. grpc_call_header is only valid here. */
    void (*started)(GrpcCall *call);
    void (*message)(GrpcCall *call, Str message); /* `message` is valid until it returns */
    /* for servers: the client has sent its last request */
    void (*half_closed)(GrpcCall *call);
    void (*writable)(GrpcCall *call); /* a full queue has space again */
    /* For clients: the server's status, or the reason why there is none. For servers:
     * GRPC_CANCELLED or GRPC_DEADLINE_EXCEEDED if the client did not wait for the response. */
    void (*ended)(GrpcCall *call, GrpcStatus status, Str text);
} GrpcHandler;

/* An entry of a server's method table. */
typedef struct GrpcMethod {
    const char *path; /* "/package.Service/Method" */
    GrpcKind kind;
    uint32_t request_max; /* maximum size of one message in bytes */
    const GrpcHandler *handler;
    const void *data; /* not interpreted here; for the layer above */
} GrpcMethod;

/* Arbitrary data for the owner of the handler. */
void grpc_call_set_data(GrpcCall *call, void *data);
void *grpc_call_data(const GrpcCall *call);

/* Copies the message. Fails with ERROR_LIMIT if the queue is full (`writable` follows), and with
 * ERROR_UNAVAILABLE if the call has ended or accepts no more messages. A queue that is not full
 * accepts one message of any size. The calls of a connection share a limit: a peer that does not
 * read many of them delays its other calls. */
MUST_CHECK bool grpc_call_send(GrpcCall *call, Str message, Error *err);
bool grpc_call_is_writable(const GrpcCall *call);
/* Stops `message` until grpc_call_resume. May be called from `message`. */
void grpc_call_pause(GrpcCall *call);
void grpc_call_resume(GrpcCall *call);
/* Ends the call immediately, without any further callback, not even `ended`. */
void grpc_call_cancel(GrpcCall *call);

/* --- Server ---------------------------------------------------------------------------------- */

/* Ends the call with a status, after what is queued. `ended` follows. */
void grpc_call_finish(GrpcCall *call, GrpcStatus status, Str text);
/* Like grpc_call_finish, with the status that corresponds to an error. */
void grpc_call_fail(GrpcCall *call, const Error *err);
const GrpcMethod *grpc_call_method(const GrpcCall *call);
const Peer *grpc_call_peer(const GrpcCall *call);
void *grpc_call_context(const GrpcCall *call); /* the context passed to the server */
/* The value of a request header by its lowercase name; empty if there is none. */
Str grpc_call_header(const GrpcCall *call, const char *name);

/* --- Client ---------------------------------------------------------------------------------- */

/* Signals that no more requests follow. */
void grpc_call_end_sending(GrpcCall *call);
