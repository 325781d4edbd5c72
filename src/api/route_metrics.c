/* /metrics */
#include "api/call.h"
#include "api/handlers.h"
#include "api/metrics.h"

void metrics_get(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    MetricLabel version = { "version", STR(EDEN_VERSION) };
    Buf out = buf_make_in(&call->arena, BUF_UNLIMITED);
    MetricsText text;
    metrics_text_init(&text, &out);
    metrics_text_int(&text, METRIC_BUILD_INFO, &version, 1, 1);
    if (settings->gather != NULL) {
        settings->gather(settings->context, &text);
    }
    if (settings->metrics != NULL) {
        metrics_print_requests(settings->metrics, &text);
    }
    call_respond_as(call, 200, METRICS_TYPE, buf_str(&out));
}
