/* /metrics */
#include "api/call.h"
#include "api/handlers.h"
#include "api/metrics.h"
#include "cluster/cluster_keys.h"

static void print(ApiCall *call, int64_t waiting)
{
    const ApiSettings *settings = call_settings(call);
    MetricLabel version = { "version", STR(EDEN_VERSION) };
    Buf out = buf_make_in(&call->arena, BUF_UNLIMITED);
    MetricsText text;
    metrics_text_init(&text, &out);
    metrics_text_int(&text, METRIC_BUILD_INFO, &version, 1, 1);
    if (settings->gather != NULL) {
        settings->gather(settings->context, waiting, &text);
    }
    if (settings->metrics != NULL) {
        metrics_print_requests(settings->metrics, &text);
    }
    call_answer_as(call, 200, METRICS_TYPE, buf_str(&out));
}

static void counted(void *context, const StoreReply *reply, const Error *err)
{
    ApiCall *call = context;
    if (call_goes_on(call, err)) {
        print(call, reply->ops[0].count);
    }
}

/* Who asks to join is counted by the store; everything else is at hand. */
void metrics_get(ApiCall *call)
{
    const ClusterStore *at = call_store(call);
    Str key = cluster_key_joining_all(&call->arena, at->prefix);
    StoreOp op = { .kind = STORE_RANGE,
                   .key = key,
                   .end = store_prefix_end(&call->arena, key),
                   .count_only = true };
    StoreTxn txn = { .success = &op, .success_count = 1, .relaxed = true };
    Error err;
    if (!store_txn(at->store, &txn, counted, call, &err)) {
        call_fail(call, &err);
    }
}
