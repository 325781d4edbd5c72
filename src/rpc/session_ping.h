/* The answer of a node to a ping. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* What is known of a node that has answered. */
typedef struct SessionPing {
    int64_t round_trip_ms;
    int64_t node_ms;   /* its clock, since 1970 */
    int64_t server_ms; /* ours, when the answer came */
} SessionPing;
/* `ping` is NULL when it failed, else `err` is. */
typedef void SessionPinged(void *context, const SessionPing *ping, const Error *err);
