/* The response of a node to a ping. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* Result of a ping. */
typedef struct SessionPing {
    int64_t round_trip_ms;
    int64_t node_ms;   /* clock of the node, since 1970 */
    int64_t server_ms; /* clock of the server when the response arrived */
} SessionPing;
/* Exactly one of `ping` and `err` is NULL. */
typedef void SessionPinged(void *context, const SessionPing *ping, const Error *err);
