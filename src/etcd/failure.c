#include "etcd/failure.h"

#include "base/str.h"

typedef struct KnownFailure {
    const char *text; /* its start */
    EtcdVerdict verdict;
    bool is_member_fault;
    ErrorKind kind;
} KnownFailure;

/* Many errors of etcd have the same status, and differ only in their texts. */
static const KnownFailure known[] = {
    { "etcdserver: mvcc: required revision has been compacted", ETCD_REJECTED, false,
      ERROR_NOT_FOUND },
    { "etcdserver: mvcc: required revision is a future revision", ETCD_REJECTED, false,
      ERROR_INVALID },
    { "etcdserver: mvcc: database space exceeded", ETCD_REJECTED, false, ERROR_UNAVAILABLE },
    { "etcdserver: requested lease not found", ETCD_REJECTED, false, ERROR_NOT_FOUND },
    { "etcdserver: lease already exists", ETCD_REJECTED, false, ERROR_CONFLICT },
    { "etcdserver: request is too large", ETCD_REJECTED, false, ERROR_LIMIT },
    { "etcdserver: too many operations in txn request", ETCD_REJECTED, false, ERROR_LIMIT },
    /* Rejected before they are proposed to the cluster. */
    { "etcdserver: too many requests", ETCD_RETRY, false, ERROR_UNAVAILABLE },
    { "etcdserver: no leader", ETCD_RETRY, true, ERROR_UNAVAILABLE },
    { "etcdserver: rpc not supported for learner", ETCD_RETRY, true, ERROR_UNAVAILABLE },
    { "etcdserver: not capable", ETCD_RETRY, true, ERROR_UNAVAILABLE },
    { "etcdserver: leader changed", ETCD_UNKNOWN, false, ERROR_UNAVAILABLE },
    { "etcdserver: request timed out", ETCD_UNKNOWN, true, ERROR_UNAVAILABLE },
    { "etcdserver: server stopped", ETCD_UNKNOWN, true, ERROR_UNAVAILABLE },
    { "etcdserver: corrupt cluster", ETCD_UNKNOWN, true, ERROR_UNAVAILABLE },
};

static KnownFailure classify(GrpcStatus status, Str text)
{
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (str_starts(text, str_from_c(known[i].text))) {
            return known[i];
        }
    }
    switch (status) {
    case GRPC_INVALID_ARGUMENT:
    case GRPC_OUT_OF_RANGE:
    case GRPC_UNIMPLEMENTED:
        return (KnownFailure){ .verdict = ETCD_REJECTED, .kind = ERROR_INVALID };
    case GRPC_NOT_FOUND: return (KnownFailure){ .verdict = ETCD_REJECTED, .kind = ERROR_NOT_FOUND };
    case GRPC_ALREADY_EXISTS:
    case GRPC_FAILED_PRECONDITION:
        return (KnownFailure){ .verdict = ETCD_REJECTED, .kind = ERROR_CONFLICT };
    case GRPC_PERMISSION_DENIED:
    case GRPC_UNAUTHENTICATED:
        return (KnownFailure){ .verdict = ETCD_REJECTED, .kind = ERROR_DENIED };
    /* The response is too large for us: the request was applied. */
    case GRPC_RESOURCE_EXHAUSTED:
        return (KnownFailure){ .verdict = ETCD_UNKNOWN, .kind = ERROR_LIMIT };
    default:
        return (KnownFailure){ .verdict = ETCD_UNKNOWN,
                               .is_member_fault = true,
                               .kind = ERROR_UNAVAILABLE };
    }
}

EtcdFailure etcd_failure(GrpcStatus status, Str text)
{
    KnownFailure row = classify(status, text);
    EtcdFailure failure = { .verdict = row.verdict, .is_member_fault = row.is_member_fault };
    error_set(&failure.err, row.kind, "%" STR_FMT, STR_ARG(text));
    return failure;
}
