/* The result of a ping to a node. */
#pragma once

#include <stdint.h>

#include "base/error.h"

typedef struct SessionPing {
    int64_t round_trip_ms;
    int64_t node_ms;   /* the node's clock, as Unix time */
    int64_t server_ms; /* the server's clock when the response arrived */
} SessionPing;
/* Exactly one of `ping` and `err` is NULL. */
typedef void SessionPinged(void *context, const SessionPing *ping, const Error *err);
