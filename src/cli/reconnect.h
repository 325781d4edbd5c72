/* A command that goes on without end, while its server goes away and comes back. What is wrong is told
 * once, on standard error, and that it is over, too. The server is chosen once: it stays the same when
 * somebody uses another context meanwhile. */
#pragma once

#include "cli/cluster_client.h"

typedef struct Reconnect {
    Invocation *invocation;
    const char *what; /* "the watch" */
    ClusterEnd end;
    Str cluster; /* how the one behind a socket is called; by TLS its CA tells it */
    bool is_away;
    int64_t since_us;
    uint32_t failures; /* since it was there */
    Error told;
} Reconnect;

/* Fails as cluster_end_choose() does. */
MUST_CHECK bool reconnect_init(Reconnect *reconnect, Invocation *invocation, const char *what,
                               Error *err);
/* Whether trying again can help: not with a server that is not trusted, or one that refuses. */
bool reconnect_helps(const Reconnect *reconnect, const Error *err, bool asked);
/* Tells what is wrong, unless that is what was told last, and waits before the next try. An error
 * of ERROR_NONE: the server has ended it. */
void reconnect_wait(Reconnect *reconnect, const Error *err);
/* Before it is asked again: whether it is of the same cluster. Fails with ERROR_CONFLICT when it is
 * not, ERROR_UNAVAILABLE and the like when nobody tells. */
MUST_CHECK bool reconnect_check(Reconnect *reconnect, Error *err);
/* It is there. */
void reconnect_done(Reconnect *reconnect);
