/* Checks whether a service responds at an address. Each function blocks for at most `timeout_ms`,
 * or until `canceled` (may be NULL) is set. */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

/* Connects to a TCP port. `host` is an address, or a name whose addresses are all tried. Fails with
 * ERROR_UNAVAILABLE if nothing accepts connections, ERROR_NOT_FOUND if the name is unknown, or
 * ERROR_TIMEOUT. */
MUST_CHECK bool probe_port(Arena *arena, Str host, uint16_t port, int64_t timeout_ms,
                           const atomic_bool *canceled, Error *err);

/* Whether a program on this machine could listen there, because one of the addresses of `host` is
 * local. Also true if that is unknown. */
bool probe_is_local(Arena *arena, Str host);

typedef struct ProbeUrl {
    Str host;
    uint16_t port;
    Str path;
} ProbeUrl;

/* Sends a GET request over HTTP/1.1 without TLS, and returns the status code. */
MUST_CHECK bool probe_http(Arena *arena, const ProbeUrl *url, int64_t timeout_ms,
                           const atomic_bool *canceled, int *status, Error *err);
