/* The methods of every service, from methods.def. */
#pragma once

#include "net/grpc.h"

/* Permitted callers, as bits. */
enum {
    CALLER_LOCAL = 1 << 0, /* an operator on the server's own machine, through the Unix socket */
    CALLER_NODE = 1 << 1,  /* an approved node that is not revoked */
    /* CALLER_NODE, and the request must be about the caller: its first field, "node", is the
     * caller's name or empty */
    CALLER_SELF = 1 << 2,
    CALLER_SERVER = 1 << 3, /* CALLER_NODE, and the node is a server */
};

typedef enum Method {
#define METHOD(constant, service, method, kind, request_max, callers, help) METHOD_##constant,
#include "rpc/methods.def"
#undef METHOD
    METHOD_COUNT
} Method;

typedef struct MethodRow {
    const char *path; /* "/eden.v1.Store/Txn" */
    GrpcKind kind;
    uint32_t request_max; /* maximum size of a request, in bytes */
    unsigned callers;
    const char *help;
} MethodRow;

extern const MethodRow method_rows[METHOD_COUNT];
