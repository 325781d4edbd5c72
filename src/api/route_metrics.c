/* /metrics */
#include "api/call.h"
#include "api/handlers.h"
#include "api/kind_stored.h"
#include "api/metrics.h"
#include "audit/audit_entry.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"

/* Loops over metrics first, because the samples of a metric must be adjacent. */
static void put_objects(const ApiSettings *settings, MetricsText *text)
{
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; kinds[i] != NULL; i++) {
            if (stored_is(kinds[i])) {
                StoredUsage usage = stored_usage(kinds[i], &settings->cluster_store);
                MetricLabel kind = { "kind", str_from_c(kinds[i]->name) };
                metrics_text_int(text, pass == 0 ? METRIC_OBJECTS : METRIC_OBJECTS_BYTES, &kind, 1,
                                 pass == 0 ? usage.objects : (int64_t)usage.bytes);
            }
        }
    }
}

static void put_audit(const ApiSettings *settings, MetricsText *text)
{
    AUTO_CLEAR(Arena) arena;
    AuditHead head;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    const StateEntry *entry =
        state_find(settings->cluster_store.state,
                   cluster_key_audit_head(&arena, settings->cluster_store.prefix));
    if (entry != NULL && audit_head_read(&arena, entry->value, &head, &err)) {
        metrics_text_int(text, METRIC_AUDIT_ENTRIES, NULL, 0,
                         (int64_t)(head.sequence - head.floor_sequence));
        metrics_text_int(text, METRIC_AUDIT_BYTES, NULL, 0, (int64_t)head.bytes);
    }
}

void metrics_get(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    MetricLabel version = { "version", STR(EDEN_VERSION) };
    Buf out = buf_make_in(&call->arena, BUF_UNLIMITED);
    MetricsText text;
    metrics_text_init(&text, &out);
    metrics_text_int(&text, METRIC_BUILD_INFO, &version, 1, 1);
    put_audit(settings, &text);
    put_objects(settings, &text);
    if (settings->gather != NULL) {
        settings->gather(settings->context, &text);
    }
    if (settings->metrics != NULL) {
        metrics_print_requests(settings->metrics, &text);
    }
    call_respond_as(call, 200, METRICS_TYPE, buf_str(&out));
}
