/* Internal declarations shared by gRPC servers and clients. */
#pragma once

#include "net/grpc.h"
#include "net/grpc_decoder.h"
#include "net/origin_counts.h"

enum {
    GRPC_LINGER_MS = 30000, /* time for a peer to receive the final response of a call */
};

typedef struct GrpcSession GrpcSession;

typedef struct GrpcLimits {
    size_t queue_max; /* bytes that a call may queue before it reports a full queue */
    /* limits on bytes held: by the calls of one connection (both directions), and by one node
     * (received) */
    size_t session_max;
} GrpcLimits;

/* Memory counted across connections. */
typedef struct GrpcMemory {
    size_t held, max;
} GrpcMemory;

/* The differences between servers and clients. */
typedef struct GrpcSide {
    void (*headers)(GrpcCall *call, const Http2Headers *headers);
    void (*peer_ended)(GrpcCall *call);
    void (*closed)(GrpcCall *call, uint32_t code);
    void (*ready)(GrpcSession *session);
    void (*session_closed)(GrpcSession *session, const Error *why);
} GrpcSide;

/* One connection. */
struct GrpcSession {
    Http2 *http2;
    Loop *loop;
    const GrpcSide *side;
    void *owner; /* the server or the client; NULL once that is freed */
    GrpcLimits limits;
    GrpcMemory *memory; /* NULL if not counted, or freed */
    size_t held;        /* bytes of incoming messages */
    LoopTask wake;      /* notifies blocked calls that there is space again */
    GrpcSession *next, *previous;
    OriginCounts *nodes; /* connections and memory per node; NULL if the peer is not counted */
    uint64_t node;       /* the peer's key in `nodes` */
    uint32_t busy;
    bool freed, has_full_call;
};

struct GrpcCall {
    Http2Stream stream; /* must be first, so that one can be cast to the other */
    GrpcSession *session;
    const GrpcMethod *method; /* set on servers once the call is accepted */
    const GrpcHandler *handler;
    void *data;
    const Http2Headers *headers; /* only during `started` */
    GrpcDecoder decoder;
    Buf input;      /* received while paused */
    size_t charged; /* its share of the session's `held` */
    LoopTimer timer;
    LoopTask resume;
    int64_t deadline_ms; /* INT64_MAX: no deadline */
    int64_t arrive_ms;   /* deadline for the arrival of a unary request; INT64_MAX: no limit */
    GrpcKind kind;
    uint32_t messages; /* number of messages received; counts up to 2 */
    uint32_t busy;
    GrpcStatus status; /* on clients: the status in the trailers */
    char *text;
    bool is_server, answered, finished, ended, paused, full, has_status, peer_ended, end_reported;
    bool has_response, released;
};

GrpcSession *grpc_session_new(Connection *connection, const Http2Options *http2,
                              const GrpcSide *side, void *owner, GrpcLimits limits,
                              GrpcMemory *memory);
/* Closes the connection. Its calls end with the error that is passed to GrpcSide.session_closed. */
void grpc_session_free(GrpcSession *session);

/* Returns a zeroed call, ready for http2. */
GrpcCall *grpc_call_new(GrpcSession *session, bool is_server);
void grpc_call_release(GrpcCall *call); /* called when the stream is closed or was never opened */
/* Calls `ended`, at most once. */
void grpc_call_report_end(GrpcCall *call, GrpcStatus status, Str text);
/* Ends the call in both directions after a protocol error. */
void grpc_call_break(GrpcCall *call, GrpcStatus status, const char *text);
void grpc_call_arm_timer(GrpcCall *call);
void grpc_call_start_decoder(GrpcCall *call, uint32_t message_max);

static inline GrpcCall *grpc_call_of(Http2Stream *stream)
{
    return (GrpcCall *)stream;
}
