/* gRPC on the wire: status codes, messages in trailers, timeouts. Pure. */
#pragma once

#include "base/buf.h"
#include "base/enum_names.h"
#include "base/error.h"

typedef enum GrpcStatus {
    GRPC_OK,
    GRPC_CANCELLED,
    GRPC_UNKNOWN,
    GRPC_INVALID_ARGUMENT,
    GRPC_DEADLINE_EXCEEDED,
    GRPC_NOT_FOUND,
    GRPC_ALREADY_EXISTS,
    GRPC_PERMISSION_DENIED,
    GRPC_RESOURCE_EXHAUSTED,
    GRPC_FAILED_PRECONDITION,
    GRPC_ABORTED,
    GRPC_OUT_OF_RANGE,
    GRPC_UNIMPLEMENTED,
    GRPC_INTERNAL,
    GRPC_UNAVAILABLE,
    GRPC_DATA_LOSS,
    GRPC_UNAUTHENTICATED,
} GrpcStatus;

enum {
    GRPC_TEXT_MAX = 1024, /* bytes of a message before escaping; longer ones are truncated */
};

DECLARE_ENUM_NAMES(GrpcStatus, grpc_status)

/* The status for an error of ours, and the reverse. GRPC_OK is not an error. */
GrpcStatus grpc_status_from_error(ErrorKind kind);
ErrorKind grpc_status_kind(GrpcStatus status);
/* For a response without a gRPC status, from its HTTP status. */
GrpcStatus grpc_status_from_http(Str http_status);
/* For a stream that the peer reset; maps the error codes of RFC 9113. */
GrpcStatus grpc_status_from_reset(uint32_t code);
/* Unknown numbers become GRPC_UNKNOWN. Fails for anything but a number. */
bool grpc_status_parse(Str digits, GrpcStatus *out);

/* grpc-message: '%' and everything but printable ASCII are written as %XX. */
void grpc_text_escape(Str text, Buf *out);
/* A '%' without two hex digits is copied unchanged. */
void grpc_text_unescape(Str text, Buf *out);

/* grpc-timeout: up to eight digits and a unit. The result is in milliseconds, rounded up, at most
 * GRPC_TIMEOUT_MAX_MS. Returns false for anything else. */
#define GRPC_TIMEOUT_MAX_MS ((int64_t)365 * 24 * 3600 * 1000)
bool grpc_timeout_parse(Str text, int64_t *out_ms);
void grpc_timeout_format(int64_t timeout_ms, char out[16]);
