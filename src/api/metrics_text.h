/* Metrics in the Prometheus text format 0.0.4, from the rows of metrics.def. Pure. */
#pragma once

#include "base/buf.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

typedef enum MetricType {
    METRIC_COUNTER, /* only grows, starting at 0 */
    METRIC_GAUGE,
    METRIC_HISTOGRAM,
} MetricType;

typedef enum Metric {
#define METRIC(constant, name, type, help) METRIC_##constant,
#include "api/metrics.def"
#undef METRIC
    METRIC_COUNT
} Metric;

typedef struct MetricRow {
    const char *name;
    MetricType type;
    const char *help;
} MetricRow;

extern const MetricRow metric_rows[METRIC_COUNT];

enum {
    METRIC_BUCKETS = 7 /* of every histogram, plus one without a bound */
};

typedef struct MetricHistogram {
    uint64_t counts[METRIC_BUCKETS + 1]; /* not cumulative */
    uint64_t sum_us;
} MetricHistogram;

void metric_histogram_add(MetricHistogram *histogram, int64_t us);

typedef struct MetricLabel {
    const char *name;
    Str value; /* any bytes; invalid UTF-8 is replaced */
} MetricLabel;

/* A document being written. All samples of a metric must be consecutive. */
typedef struct MetricsText {
    Buf *out;
    int current; /* Metric; -1: none yet */
    bool is_written[METRIC_COUNT];
} MetricsText;

void metrics_text_init(MetricsText *text, Buf *out);
/* `labels` may be NULL if `count` is 0. */
void metrics_text_int(MetricsText *text, Metric metric, const MetricLabel *labels, uint32_t count,
                      int64_t value);
/* Takes microseconds, prints seconds. */
void metrics_text_us(MetricsText *text, Metric metric, const MetricLabel *labels, uint32_t count,
                     int64_t us);
void metrics_text_histogram(MetricsText *text, Metric metric, const MetricLabel *labels,
                            uint32_t count, const MetricHistogram *histogram);
