#include "cli/reconnect.h"

#include "cli/output.h"
#include "rpc/backoff.h"
#include "sys/clock.h"

enum {
    BACKOFF_FAILURES_MAX = 5, /* number of failures after which the delay stops growing */
    DENIED_MAX =
        /* ERROR_DENIED may be temporary: a starting server opens its socket before it sets the
         * permissions */
        3,
    HEALTH_TIMEOUT_MS = 5000,
};

/* Queries the name of the cluster; empty if the server does not report it. Uses a separate arena,
 * because a server may be unreachable, and queried again, for days. */
static bool query_cluster(const Reconnect *reconnect, Arena *arena, Str *out, Error *err)
{
    Invocation quiet = *reconnect->invocation;
    ClusterResponse response;
    Value health;
    Error ignored;
    quiet.arena = arena;
    if (!cluster_exchange_at(&quiet, &reconnect->endpoint,
                             &(ClusterRequest){ .method = "GET",
                                                .target = STR("/v1/health"),
                                                .timeout_ms = HEALTH_TIMEOUT_MS },
                             NULL, &response, err)) {
        return false;
    }
    *out = cluster_response_read(arena, &response, &health, &ignored)
               ? value_get_text(health, "cluster")
               : STR_EMPTY;
    return true;
}

bool reconnect_init(Reconnect *reconnect, Invocation *invocation, const char *what, Error *err)
{
    Error ignored;
    *reconnect = (Reconnect){ .invocation = invocation, .what = what };
    if (!cluster_endpoint_select(invocation, &reconnect->endpoint, err)) {
        return false;
    }
    if (reconnect->endpoint.is_local &&
        !query_cluster(reconnect, invocation->arena, &reconnect->cluster, &ignored)) {
        reconnect->cluster = STR_EMPTY; /* the caller reports it */
    }
    return true;
}

bool reconnect_is_useful(const Reconnect *reconnect, const Error *err, bool responded)
{
    switch (err->kind) {
    case ERROR_NONE:
    case ERROR_UNAVAILABLE:
    case ERROR_TIMEOUT:
    case ERROR_LIMIT:
        return true; /* the server's limit on watches; retrying helps once others have ended */
    case ERROR_DENIED:
        return !responded && reconnect->endpoint.is_local && reconnect->failures < DENIED_MAX;
    case ERROR_NOT_FOUND:
    case ERROR_OS: return !responded;
    default: return false;
    }
}

void reconnect_wait(Reconnect *reconnect, const Error *err)
{
    const Invocation *invocation = reconnect->invocation;
    bool is_new = !reconnect->is_disconnected || err->kind != reconnect->reported.kind ||
                  strcmp(err->text, reconnect->reported.text) != 0;
    if (!reconnect->is_disconnected) {
        reconnect->is_disconnected = true;
        reconnect->since_us = clock_monotonic_us();
    }
    is_new = is_new && !reconnect->is_quiet;
    if (is_new && err->kind == ERROR_NONE) {
        output_line(invocation->err, "the server closed %s; retrying", reconnect->what);
    } else if (is_new) {
        output_line(invocation->err, "%s was interrupted: %s: %s; retrying", reconnect->what,
                    cluster_endpoint_text(invocation->arena, &reconnect->endpoint).data, err->text);
    }
    stream_flush(invocation->err);
    reconnect->reported = *err;
    reconnect->failures++;
    uint32_t counted =
        reconnect->failures < BACKOFF_FAILURES_MAX ? reconnect->failures : BACKOFF_FAILURES_MAX;
    clock_sleep_ms(backoff_ms(counted, random_seed()), NULL);
}

bool reconnect_check(Reconnect *reconnect, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str now;
    if (!reconnect->is_disconnected || !reconnect->endpoint.is_local ||
        reconnect->cluster.len == 0) {
        return true;
    }
    if (!query_cluster(reconnect, &arena, &now, err)) {
        return false;
    }
    return now.len == 0 || str_eq(now, reconnect->cluster) ||
           error_set(err, ERROR_CONFLICT,
                     "%s ended: the server now belongs to cluster '%" STR_FMT
                     "'; it previously belonged to '%" STR_FMT "'",
                     reconnect->what, STR_ARG(now), STR_ARG(reconnect->cluster));
}

void reconnect_done(Reconnect *reconnect)
{
    if (reconnect->is_disconnected && !reconnect->is_quiet) {
        int64_t seconds = (clock_monotonic_us() - reconnect->since_us) / 1000000;
        output_line(reconnect->invocation->err, "%s resumed after %lld second%s", reconnect->what,
                    (long long)seconds, seconds == 1 ? "" : "s");
        stream_flush(reconnect->invocation->err);
    }
    reconnect->is_disconnected = false;
    reconnect->failures = 0;
}
