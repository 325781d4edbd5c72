/* Request counters. */
#include "api/metrics.h"

#include "unit.h"

static bool has(const Buf *out, const char *line)
{
    return str_find(buf_str(out), str_from_c(line), 0) != STR_NOT_FOUND;
}

static void print(const Metrics *metrics, Buf *out)
{
    MetricsText text;
    buf_reset(out);
    metrics_text_init(&text, out);
    metrics_print_requests(metrics, &text);
}

static void requests_are_counted_by_route_and_status(void **state)
{
    AUTO(Metrics) *metrics = metrics_new(1234);
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    static const char get[] = "GET", put[] = "PUT", nodes[] = "/v1/nodes", watch[] = "/v1/watch";
    assert_int_equal(metrics_started_ms(metrics), 1234);
    print(metrics, &out);
    assert_int_equal(out.len, 0);
    metrics_count_request(metrics, get, nodes, 200, 500);
    metrics_count_request(metrics, get, nodes, 201, 700);
    metrics_count_request(metrics, get, nodes, 404, 2000);
    metrics_count_request(metrics, put, nodes, 503, 0);
    metrics_count_request(metrics, get, watch, 200, -1);
    print(metrics, &out);
#define REQUESTS "eden_http_requests_total{method="
    assert_true(has(&out, REQUESTS "\"GET\",route=\"/v1/nodes\",status=\"2xx\"} 2\n"));
    assert_true(has(&out, REQUESTS "\"GET\",route=\"/v1/nodes\",status=\"4xx\"} 1\n"));
    assert_true(has(&out, REQUESTS "\"PUT\",route=\"/v1/nodes\",status=\"5xx\"} 1\n"));
    assert_true(has(&out, REQUESTS "\"GET\",route=\"/v1/watch\",status=\"2xx\"} 1\n"));
    assert_true(has(&out, "_count{method=\"GET\",route=\"/v1/nodes\"} 3\n"));
    assert_true(has(&out, "_sum{method=\"GET\",route=\"/v1/nodes\"} 0.003200\n"));
    assert_false(has(&out, "_count{method=\"GET\",route=\"/v1/watch\"}")); /* it does not end */
}

static void routes_fit_into_the_metrics(void **state)
{
    AUTO(Metrics) *metrics = metrics_new(0);
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    static char routes[METRICS_ROUTES_MAX + 50][8];
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        snprintf(routes[i], sizeof routes[i], "/%zu", i);
        metrics_count_request(metrics, "GET", routes[i], 200, 1);
    }
    metrics_count_request(metrics, "GET", routes[0], 200, 1);
    print(metrics, &out);
    assert_true(has(&out, "route=\"/0\",status=\"2xx\"} 2\n"));
    assert_true(has(&out, "method=\"any\",route=\"any\",status=\"2xx\"} 51\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_counted_by_route_and_status),
        cmocka_unit_test(routes_fit_into_the_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
