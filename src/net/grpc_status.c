#include "net/grpc_status.h"

#include <stdio.h>

DEFINE_ENUM_NAMES(
    GrpcStatus, grpc_status, [GRPC_OK] = "OK", [GRPC_CANCELLED] = "CANCELLED",
    [GRPC_UNKNOWN] = "UNKNOWN", [GRPC_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
    [GRPC_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED", [GRPC_NOT_FOUND] = "NOT_FOUND",
    [GRPC_ALREADY_EXISTS] = "ALREADY_EXISTS", [GRPC_PERMISSION_DENIED] = "PERMISSION_DENIED",
    [GRPC_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
    [GRPC_FAILED_PRECONDITION] = "FAILED_PRECONDITION", [GRPC_ABORTED] = "ABORTED",
    [GRPC_OUT_OF_RANGE] = "OUT_OF_RANGE", [GRPC_UNIMPLEMENTED] = "UNIMPLEMENTED",
    [GRPC_INTERNAL] = "INTERNAL", [GRPC_UNAVAILABLE] = "UNAVAILABLE",
    [GRPC_DATA_LOSS] = "DATA_LOSS", [GRPC_UNAUTHENTICATED] = "UNAUTHENTICATED")

static const GrpcStatus of_kind[] = {
    [ERROR_NONE] = GRPC_OK,
    [ERROR_INVALID] = GRPC_INVALID_ARGUMENT,
    [ERROR_NOT_FOUND] = GRPC_NOT_FOUND,
    [ERROR_CONFLICT] = GRPC_FAILED_PRECONDITION,
    [ERROR_DENIED] = GRPC_PERMISSION_DENIED,
    [ERROR_TIMEOUT] = GRPC_DEADLINE_EXCEEDED,
    [ERROR_UNAVAILABLE] = GRPC_UNAVAILABLE,
    [ERROR_UNKNOWN] = GRPC_UNKNOWN,
    [ERROR_LIMIT] = GRPC_RESOURCE_EXHAUSTED,
    [ERROR_OS] = GRPC_INTERNAL,
    [ERROR_BUG] = GRPC_INTERNAL,
};

static const ErrorKind of_status[] = {
    [GRPC_OK] = ERROR_NONE,
    [GRPC_CANCELLED] = ERROR_UNAVAILABLE,
    [GRPC_UNKNOWN] = ERROR_OS,
    [GRPC_INVALID_ARGUMENT] = ERROR_INVALID,
    [GRPC_DEADLINE_EXCEEDED] = ERROR_TIMEOUT,
    [GRPC_NOT_FOUND] = ERROR_NOT_FOUND,
    [GRPC_ALREADY_EXISTS] = ERROR_CONFLICT,
    [GRPC_PERMISSION_DENIED] = ERROR_DENIED,
    [GRPC_RESOURCE_EXHAUSTED] = ERROR_LIMIT,
    [GRPC_FAILED_PRECONDITION] = ERROR_CONFLICT,
    [GRPC_ABORTED] = ERROR_CONFLICT,
    [GRPC_OUT_OF_RANGE] = ERROR_INVALID,
    [GRPC_UNIMPLEMENTED] = ERROR_INVALID,
    [GRPC_INTERNAL] = ERROR_OS,
    [GRPC_UNAVAILABLE] = ERROR_UNAVAILABLE,
    [GRPC_DATA_LOSS] = ERROR_OS,
    [GRPC_UNAUTHENTICATED] = ERROR_DENIED,
};

GrpcStatus grpc_status_from_error(ErrorKind kind)
{
    return (size_t)kind < COUNT_OF(of_kind) ? of_kind[kind] : GRPC_INTERNAL;
}

ErrorKind grpc_status_kind(GrpcStatus status)
{
    return (size_t)status < COUNT_OF(of_status) ? of_status[status] : ERROR_OS;
}

/* The mapping of HTTP status codes that gRPC specifies. */
GrpcStatus grpc_status_from_http(Str http_status)
{
    static const struct {
        const char *http;
        GrpcStatus status;
    } rows[] = {
        { "400", GRPC_INTERNAL },          { "401", GRPC_UNAUTHENTICATED },
        { "403", GRPC_PERMISSION_DENIED }, { "404", GRPC_UNIMPLEMENTED },
        { "429", GRPC_UNAVAILABLE },       { "502", GRPC_UNAVAILABLE },
        { "503", GRPC_UNAVAILABLE },       { "504", GRPC_UNAVAILABLE },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (str_eq_c(http_status, rows[i].http)) {
            return rows[i].status;
        }
    }
    return GRPC_UNKNOWN;
}

GrpcStatus grpc_status_from_reset(uint32_t code)
{
    static const GrpcStatus rows[] = {
        [0] = GRPC_INTERNAL,           [7] = GRPC_UNAVAILABLE, [8] = GRPC_CANCELLED,
        [9] = GRPC_INTERNAL,           [10] = GRPC_INTERNAL,   [11] = GRPC_RESOURCE_EXHAUSTED,
        [12] = GRPC_PERMISSION_DENIED,
    };
    return code < COUNT_OF(rows) && rows[code] != GRPC_OK ? rows[code] : GRPC_INTERNAL;
}

bool grpc_status_parse(Str digits, GrpcStatus *out)
{
    uint64_t number;
    if (digits.len == 0 || digits.len > 10 || !ascii_is_digit(digits.data[0]) ||
        !str_to_u64(digits, &number)) {
        return false;
    }
    *out = number <= GRPC_UNAUTHENTICATED ? (GrpcStatus)number : GRPC_UNKNOWN;
    return true;
}

void grpc_text_escape(Str text, Buf *out)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len && i < GRPC_TEXT_MAX; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c >= 0x20 && c <= 0x7e && c != '%') {
            buf_put_char(out, (char)c);
        } else {
            buf_put_char(out, '%');
            buf_put_char(out, digits[c >> 4]);
            buf_put_char(out, digits[c & 15]);
        }
    }
}

void grpc_text_unescape(Str text, Buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        int high = -1, low = -1;
        if (text.data[i] == '%' && i + 2 < text.len) {
            high = ascii_hex_value(text.data[i + 1]);
            low = ascii_hex_value(text.data[i + 2]);
        }
        if (high >= 0 && low >= 0) {
            buf_put_char(out, (char)(high << 4 | low));
            i += 2;
        } else {
            buf_put_char(out, text.data[i]);
        }
    }
}

bool grpc_timeout_parse(Str text, int64_t *out_ms)
{
    static const struct {
        char unit;
        int64_t nanoseconds;
    } units[] = {
        { 'H', 3600000000000 }, { 'M', 60000000000 }, { 'S', 1000000000 },
        { 'm', 1000000 },       { 'u', 1000 },        { 'n', 1 },
    };
    int64_t number = 0;
    if (text.len < 2 || text.len > 9) {
        return false;
    }
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (!ascii_is_digit(text.data[i])) {
            return false;
        }
        number = number * 10 + (text.data[i] - '0');
    }
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (units[i].unit == text.data[text.len - 1]) {
            int64_t most = GRPC_TIMEOUT_MAX_MS / (units[i].nanoseconds / 1000000 + 1);
            if (units[i].nanoseconds >= 1000000 && number > most) {
                *out_ms = GRPC_TIMEOUT_MAX_MS;
                return true;
            }
            *out_ms = (number * units[i].nanoseconds + 999999) / 1000000;
            return true;
        }
    }
    return false;
}

void grpc_timeout_format(int64_t timeout_ms, char out[16])
{
    if (timeout_ms < 1) {
        timeout_ms = 1;
    }
    if (timeout_ms <= 99999999) {
        snprintf(out, 16, "%lldm", (long long)timeout_ms);
    } else {
        int64_t seconds = timeout_ms / 1000;
        snprintf(out, 16, "%lldS", (long long)(seconds > 99999999 ? 99999999 : seconds));
    }
}
