/* Reconnects a command that runs until it is interrupted. Reports an outage once on standard error,
 * and also its end. The server is selected once, so it stays the same even if the user switches
 * contexts in the meantime. */
#pragma once

#include "cli/cluster_client.h"

typedef struct Reconnect {
    Invocation *invocation;
    const char *what; /* what messages call the operation: "the watch" */
    ClusterEndpoint endpoint;
    Str cluster;   /* cluster of the server behind a socket; with TLS the CA identifies it */
    bool is_quiet; /* the caller reports outages */
    bool is_disconnected;
    int64_t since_us;
    uint32_t failures; /* failures since it was last connected */
    Error reported;
} Reconnect;

/* Fails like cluster_endpoint_select(). */
MUST_CHECK bool reconnect_init(Reconnect *reconnect, Invocation *invocation, const char *what,
                               Error *err);
/* Whether a retry can help: not if the server is not trusted or denies the request. */
bool reconnect_is_useful(const Reconnect *reconnect, const Error *err, bool responded);
/* Reports the error, unless it was the last one reported, and waits before the next attempt.
 * ERROR_NONE: the server closed the connection. */
void reconnect_wait(Reconnect *reconnect, const Error *err);
/* Before reconnecting: checks that the server belongs to the same cluster. Fails with
 * ERROR_CONFLICT if not, or with ERROR_UNAVAILABLE and the like. */
MUST_CHECK bool reconnect_check(Reconnect *reconnect, Error *err);
/* Must be called once the connection has been established. */
void reconnect_done(Reconnect *reconnect);
