/* The methods of every service, from methods.def. */
#pragma once

#include "net/grpc.h"

/* Who may call, any of them. */
enum {
    CALLER_LOCAL = 1 << 0,  /* an operator on the server's own machine, by the Unix socket */
    CALLER_NODE = 1 << 1,   /* a node that is approved and not revoked */
    CALLER_SELF = 1 << 2,   /* such a node, about itself: the first field of the request, "node", is
                             * its name or empty */
    CALLER_SERVER = 1 << 3, /* such a node that is a server */
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
    uint32_t request_max; /* bytes of one message */
    unsigned callers;
    const char *help;
} MethodRow;

extern const MethodRow method_rows[METHOD_COUNT];
