/* Counters of a running server, for /metrics; values that can be read at any time are not here.
 * Loop thread. */
#pragma once

#include "api/metrics_text.h"
#include "base/own.h"

typedef struct Metrics Metrics;

Metrics *metrics_new(int64_t now_ms);
void metrics_free(Metrics *metrics); /* NULL is allowed */
DEFINE_AUTO(Metrics, metrics_free)

int64_t metrics_started_ms(const Metrics *metrics);

enum {
    METRICS_ROUTES_MAX = 256 /* further ones are combined */
};

/* Counts a request. The strings are those of the row: borrowed, and compared by address. `us` is
 * negative for streams, whose duration is unknown. */
void metrics_count_request(Metrics *metrics, const char *method, const char *route, int status,
                           int64_t us);
/* METRIC_HTTP_REQUESTS and METRIC_HTTP_DURATION. */
void metrics_print_requests(const Metrics *metrics, MetricsText *text);
