#include "api/metrics.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"

enum {
    CLASSES = 5 /* of statuses: 1xx to 5xx */
};

typedef struct RouteCounts {
    const char *method, *route;
    uint64_t statuses[CLASSES];
    bool has_durations;
    MetricHistogram durations;
} RouteCounts;

struct Metrics {
    int64_t started_ms;
    uint32_t count;
    RouteCounts routes[METRICS_ROUTES_MAX];
};

Metrics *metrics_new(int64_t now_ms)
{
    Metrics *metrics = memory_new(sizeof *metrics);
    metrics->started_ms = now_ms;
    return metrics;
}

void metrics_free(Metrics *metrics)
{
    free(metrics);
}

int64_t metrics_started_ms(const Metrics *metrics)
{
    return metrics->started_ms;
}

static RouteCounts *find_route(Metrics *metrics, const char *method, const char *route)
{
    for (uint32_t i = 0; i < metrics->count; i++) {
        RouteCounts *counts = &metrics->routes[i];
        if (counts->method == method && counts->route == route) {
            return counts;
        }
    }
    if (metrics->count == METRICS_ROUTES_MAX) {
        return &metrics->routes[METRICS_ROUTES_MAX - 1];
    }
    RouteCounts *counts = &metrics->routes[metrics->count++];
    bool is_last = metrics->count == METRICS_ROUTES_MAX;
    *counts = (RouteCounts){ .method = is_last ? "any" : method, .route = is_last ? "any" : route };
    return counts;
}

void metrics_count_request(Metrics *metrics, const char *method, const char *route, int status,
                           int64_t us)
{
    BUG_IF(status < 100 || status >= 100 * (CLASSES + 1));
    RouteCounts *counts = find_route(metrics, method, route);
    counts->statuses[status / 100 - 1]++;
    if (us >= 0) {
        counts->has_durations = true;
        metric_histogram_add(&counts->durations, us);
    }
}

void metrics_print_requests(const Metrics *metrics, MetricsText *text)
{
    static const char *const classes[CLASSES] = { "1xx", "2xx", "3xx", "4xx", "5xx" };
    for (uint32_t i = 0; i < metrics->count; i++) {
        const RouteCounts *counts = &metrics->routes[i];
        for (uint32_t j = 0; j < CLASSES; j++) {
            MetricLabel labels[] = { { "method", str_from_c(counts->method) },
                                     { "route", str_from_c(counts->route) },
                                     { "status", str_from_c(classes[j]) } };
            if (counts->statuses[j] > 0) {
                metrics_text_int(text, METRIC_HTTP_REQUESTS, labels, COUNT_OF(labels),
                                 (int64_t)counts->statuses[j]);
            }
        }
    }
    for (uint32_t i = 0; i < metrics->count; i++) {
        const RouteCounts *counts = &metrics->routes[i];
        MetricLabel labels[] = { { "method", str_from_c(counts->method) },
                                 { "route", str_from_c(counts->route) } };
        if (counts->has_durations) {
            metrics_text_histogram(text, METRIC_HTTP_DURATION, labels, COUNT_OF(labels),
                                   &counts->durations);
        }
    }
}
