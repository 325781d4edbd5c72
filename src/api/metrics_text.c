#include "api/metrics_text.h"

#include <inttypes.h>

#include "base/bug.h"
#include "base/utf8.h"

const MetricRow metric_rows[METRIC_COUNT] = {
#define METRIC(constant, name, type, help) [METRIC_##constant] = { name, type, help },
#include "api/metrics.def"
#undef METRIC
};

/* Upper bounds in microseconds: 1 ms to 10 s. */
static const int64_t metric_bounds_us[METRIC_BUCKETS] = { 1000,   5000,    25000,   100000,
                                                          500000, 2500000, 10000000 };

void metric_histogram_add(MetricHistogram *histogram, int64_t us)
{
    uint32_t i = 0;
    us = us < 0 ? 0 : us;
    while (i < METRIC_BUCKETS && us > metric_bounds_us[i]) {
        i++;
    }
    histogram->counts[i]++;
    histogram->sum_us += (uint64_t)us;
}

void metrics_text_init(MetricsText *text, Buf *out)
{
    *text = (MetricsText){ .out = out, .current = -1 };
}

/* --- Helpers --------------------------------------------------------------------------------- */

static void begin(MetricsText *text, Metric metric)
{
    static const char *const types[] = {
        [METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_HISTOGRAM] = "histogram"
    };
    const MetricRow *row = &metric_rows[metric];
    if (text->current == (int)metric) {
        return;
    }
    BUG_IF(text->is_written[metric]);
    text->current = (int)metric;
    text->is_written[metric] = true;
    buf_put_format(text->out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help, row->name,
                   types[row->type]);
}

static void put_value(Buf *out, Str value)
{
    if (!utf8_is_valid(value)) {
        value = STR("\xef\xbf\xbd");
    }
    for (size_t i = 0; i < value.len; i++) {
        char c = value.data[i];
        if (c == '\n') {
            buf_put_c(out, "\\n");
        } else {
            if (c == '"' || c == '\\') {
                buf_put_char(out, '\\');
            }
            buf_put_char(out, c);
        }
    }
}

/* Appends {route="/v1/nodes",le="0.5"}; `bound` is the bound of a bucket, or NULL. */
static void put_labels(Buf *out, const MetricLabel *labels, uint32_t count, const char *bound)
{
    if (count == 0 && bound == NULL) {
        return;
    }
    buf_put_char(out, '{');
    for (uint32_t i = 0; i < count; i++) {
        buf_put_format(out, "%s%s=\"", i > 0 ? "," : "", labels[i].name);
        put_value(out, labels[i].value);
        buf_put_char(out, '"');
    }
    if (bound != NULL) {
        buf_put_format(out, "%sle=\"%s\"", count > 0 ? "," : "", bound);
    }
    buf_put_char(out, '}');
}

static void put_seconds(Buf *out, int64_t us)
{
    BUG_IF(us < 0);
    buf_put_format(out, "%" PRId64 ".%06" PRId64, us / 1000000, us % 1000000);
}

/* --- Samples --------------------------------------------------------------------------------- */

void metrics_text_int(MetricsText *text, Metric metric, const MetricLabel *labels, uint32_t count,
                      int64_t value)
{
    begin(text, metric);
    buf_put_c(text->out, metric_rows[metric].name);
    put_labels(text->out, labels, count, NULL);
    buf_put_format(text->out, " %" PRId64 "\n", value);
}

void metrics_text_us(MetricsText *text, Metric metric, const MetricLabel *labels, uint32_t count,
                     int64_t us)
{
    begin(text, metric);
    buf_put_c(text->out, metric_rows[metric].name);
    put_labels(text->out, labels, count, NULL);
    buf_put_char(text->out, ' ');
    put_seconds(text->out, us);
    buf_put_char(text->out, '\n');
}

/* Buckets of a histogram are cumulative. */
void metrics_text_histogram(MetricsText *text, Metric metric, const MetricLabel *labels,
                            uint32_t count, const MetricHistogram *histogram)
{
    static const char *const bounds[] = { "0.001", "0.005", "0.025", "0.1",
                                          "0.5",   "2.5",   "10",    "+Inf" };
    const char *name = metric_rows[metric].name;
    uint64_t total = 0;
    begin(text, metric);
    for (uint32_t i = 0; i <= METRIC_BUCKETS; i++) {
        total += histogram->counts[i];
        buf_put_format(text->out, "%s_bucket", name);
        put_labels(text->out, labels, count, bounds[i]);
        buf_put_format(text->out, " %" PRIu64 "\n", total);
    }
    buf_put_format(text->out, "%s_sum", name);
    put_labels(text->out, labels, count, NULL);
    buf_put_char(text->out, ' ');
    put_seconds(text->out, (int64_t)histogram->sum_us);
    buf_put_format(text->out, "\n%s_count", name);
    put_labels(text->out, labels, count, NULL);
    buf_put_format(text->out, " %" PRIu64 "\n", total);
}
