/* Metrics as text, and the rules for their names. */
#include "api/metrics_text.h"

#include "unit.h"

static void samples_of_a_metric_are_adjacent(void **state)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    MetricsText text;
    MetricLabel alive = { "state", STR("alive") },
                odd[] = { { "a", STR("x\"y\\z\n") }, { "b", STR("\xff") } };
    metrics_text_init(&text, &out);
    metrics_text_int(&text, METRIC_NODES, &alive, 1, 3);
    metrics_text_int(&text, METRIC_NODES, odd, 2, -1);
    metrics_text_us(&text, METRIC_PROCESS_CPU, NULL, 0, 12000034);
    assert_str(buf_str(&out),
               "# HELP eden_nodes Nodes of the cluster, and machines waiting for approval.\n"
               "# TYPE eden_nodes gauge\n"
               "eden_nodes{state=\"alive\"} 3\n"
               "eden_nodes{a=\"x\\\"y\\\\z\\n\",b=\"\xef\xbf\xbd\"} -1\n"
               "# HELP process_cpu_seconds_total User and system CPU time.\n"
               "# TYPE process_cpu_seconds_total counter\n"
               "process_cpu_seconds_total 12.000034\n");
    assert_bug(metrics_text_int(&text, METRIC_NODES, &alive, 1, 3));
}

static void buckets_are_cumulative(void **state)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    MetricsText text;
    MetricHistogram histogram = { 0 };
    MetricLabel route = { "route", STR("/") };
    static const int64_t added[] = { -5, 0, 1000, 1001, 99999, 10000000, 10000001, 60000000 };
    for (size_t i = 0; i < COUNT_OF(added); i++) {
        metric_histogram_add(&histogram, added[i]);
    }
    metrics_text_init(&text, &out);
    metrics_text_histogram(&text, METRIC_HTTP_DURATION, &route, 1, &histogram);
    Str all = buf_str(&out);
    Str samples =
        str_from_offset(all, str_find(all, STR("eden_http_request_duration_seconds_"), 0));
#define SAMPLE(end, count) \
    "eden_http_request_duration_seconds_bucket{route=\"/\",le=\"" end "\"} " count "\n"
    assert_str(samples,
               SAMPLE("0.001", "3") SAMPLE("0.005", "4") SAMPLE("0.025", "4") SAMPLE("0.1", "5")
                   SAMPLE("0.5", "5") SAMPLE("2.5", "5") SAMPLE("10", "6")
                       SAMPLE("+Inf",
                              "8") "eden_http_request_duration_seconds_sum{route=\"/\"} 80.102001\n"
                                   "eden_http_request_duration_seconds_count{route=\"/\"} 8\n");
}

static bool is_name(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyz_")] == '\0' && text[0] != '_';
}

static void every_row_follows_the_rules(void **state)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const MetricRow *row = &metric_rows[i];
        Str name = str_from_c(row->name), help = str_from_c(row->help);
        assert_true(is_name(row->name));
        assert_true(str_starts(name, STR("eden_")) || str_starts(name, STR("process_")));
        assert_int_equal(str_ends(name, STR("_total")), row->type == METRIC_COUNTER);
        assert_true(str_ends(help, STR(".")));
        assert_true(str_find(help, STR("\n"), 0) == STR_NOT_FOUND);
        assert_true(str_find(help, STR("\\"), 0) == STR_NOT_FOUND);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(row->name, metric_rows[j].name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_a_metric_are_adjacent),
        cmocka_unit_test(buckets_are_cumulative),
        cmocka_unit_test(every_row_follows_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
