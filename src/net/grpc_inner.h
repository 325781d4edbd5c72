/* Internal declarations shared by gRPC servers and clients. */
#pragma once

#include "net/grpc.h"
#include "net/grpc_decoder.h"
#include "net/origin_counts.h"

enum {
    GRPC_LINGER_MS = 30000, /* for a peer to take the last words of a call */
};

typedef struct GrpcSession GrpcSession;

typedef struct GrpcLimits {
    size_t queue_max;   /* bytes of a call that wait for the peer before it counts as full */
    size_t session_max; /* bytes that calls of one connection hold, in and out; and of a node, in */
} GrpcLimits;

/* What is counted across connections. */
typedef struct GrpcMemory {
    size_t held, max;
} GrpcMemory;

/* What differs between the sides. */
typedef struct GrpcSide {
    void (*headers)(GrpcCall *call, const Http2Headers *headers);
    void (*peer_ended)(GrpcCall *call);
    void (*closed)(GrpcCall *call, uint32_t code);
    void (*ready)(GrpcSession *session);
    void (*over)(GrpcSession *session, const Error *why);
} GrpcSide;

/* One connection. */
struct GrpcSession {
    Http2 *http2;
    Loop *loop;
    const GrpcSide *side;
    void *owner; /* the server or the client; NULL when that is gone */
    GrpcLimits limits;
    GrpcMemory *memory; /* NULL: not counted, or gone */
    size_t held;        /* bytes of messages that are coming in */
    LoopTask wake;      /* tells full calls that there is room again */
    GrpcSession *next, *previous;
    OriginCounts *nodes; /* connections and memory of each node; NULL: the peer is not counted */
    uint64_t node;       /* the peer, as a number */
    uint32_t busy;
    bool freed, has_full;
};

struct GrpcCall {
    Http2Stream stream; /* the first, so that one is the other */
    GrpcSession *session;
    const GrpcMethod *method; /* a server's; NULL as long as it has not been accepted */
    const GrpcHandler *handler;
    void *data;
    const Http2Headers *headers; /* during `started` */
    GrpcDecoder decoder;
    Buf input;      /* what came while it was paused */
    size_t charged; /* of the session's `held` */
    LoopTimer timer;
    LoopTask resume;
    int64_t deadline_ms; /* INT64_MAX: none */
    int64_t arrive_ms;   /* until when a single request must be there; INT64_MAX: no limit */
    GrpcKind kind;
    uint32_t messages; /* received, as far as it matters: 0, 1, many */
    uint32_t busy;
    GrpcStatus status; /* of a client's trailers */
    char *text;
    bool is_server, answered, finished, over, paused, full, has_status, peer_ended, told_end;
    bool has_response, released;
};

GrpcSession *grpc_session_new(Connection *connection, const Http2Options *http2,
                              const GrpcSide *side, void *owner, GrpcLimits limits,
                              GrpcMemory *memory);
/* Ends the connection; its calls end with the reason of the side. */
void grpc_session_free(GrpcSession *session);

/* A zeroed call that is ready for http2. */
GrpcCall *grpc_call_new(GrpcSession *session, bool is_server);
void grpc_call_release(GrpcCall *call); /* the stream is closed, or never was */
/* Tells `ended`, once. */
void grpc_call_tell_end(GrpcCall *call, GrpcStatus status, Str text);
/* Something came that cannot be: ends the call both ways. */
void grpc_call_break(GrpcCall *call, GrpcStatus status, const char *text);
void grpc_call_arm_timer(GrpcCall *call);
void grpc_call_start_decoder(GrpcCall *call, uint32_t message_max);

static inline GrpcCall *grpc_call_of(Http2Stream *stream)
{
    return (GrpcCall *)stream;
}
