/* /v1/prometheus-targets */
#include "api/call.h"
#include "api/handlers.h"
#include "api/prometheus_targets.h"

enum {
    PORT_DEFAULT = 9100 /* port of node_exporter */
};

void prometheus_targets_get(ApiCall *call)
{
    TargetsSpec spec = { .cluster = call_settings(call)->cluster };
    NodesListing nodes;
    uint32_t port;
    Error err;
    if (!call_parameter_count(call, "port", PORT_DEFAULT, UINT16_MAX, &port) ||
        !call_parameter_selector(call, &spec.selector)) {
        return;
    }
    spec.port = (uint16_t)port;
    if (!nodes_list_all(&call->arena, call_store(call), &nodes, &err)) {
        call_fail(call, &err);
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    prometheus_targets_put(&json, &spec, &nodes);
    call_respond_as(call, 200, "application/json", buf_str(&json));
}
