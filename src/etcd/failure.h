/* Classifies failed calls to etcd: whether the request may have been applied, and whether another
 * member should be tried. Pure. */
#pragma once

#include "base/error.h"
#include "net/grpc_status.h"

typedef enum EtcdVerdict {
    ETCD_REJECTED, /* not applied, and would be rejected again */
    ETCD_RETRY,    /* not applied, but may succeed later */
    ETCD_UNKNOWN,  /* may have been applied, or may be applied later */
} EtcdVerdict;

typedef struct EtcdFailure {
    EtcdVerdict verdict;
    bool is_member_fault; /* this member is faulty: try another one */
    Error err;
} EtcdFailure;

/* `status` must not be GRPC_OK. */
EtcdFailure etcd_failure(GrpcStatus status, Str text);
