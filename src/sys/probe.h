/* Whether somebody answers at an address. Each function blocks at most `timeout_ms`, or until
 * `cancelled` (may be NULL) is set. */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

/* Connects to a TCP port. `host` is an address, or a name of which every address is tried. Fails
 * with ERROR_UNAVAILABLE when nobody answers, ERROR_NOT_FOUND when there is no such name,
 * ERROR_TIMEOUT. */
MUST_CHECK bool probe_port(Arena *arena, Str host, uint16_t port, int64_t timeout_ms,
                           const atomic_bool *cancelled, Error *err);

/* Whether a program on this machine could listen there: one of the addresses of `host` is its own. Also
 * when that cannot be told. */
bool probe_is_own(Arena *arena, Str host);

/* Asks for `path` with GET over HTTP/1.1, without TLS, and gives the status of the answer. */
MUST_CHECK bool probe_http(Arena *arena, Str host, uint16_t port, Str path, int64_t timeout_ms,
                           const atomic_bool *cancelled, int *status, Error *err);
