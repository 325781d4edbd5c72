/* /v1/prometheus-targets */
#include "api/call.h"
#include "api/handlers.h"
#include "api/prometheus_targets.h"

enum {
    PORT_DEFAULT = 9100 /* of the exporter that most machines have */
};

typedef struct Listing {
    ApiCall *call;
    TargetsSpec spec;
} Listing;

static void listed(void *context, const NodesListing *nodes, const Error *err)
{
    const Listing *listing = context;
    ApiCall *call = listing->call;
    if (call_goes_on(call, err)) {
        Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
        prometheus_targets_put(&json, &listing->spec, nodes);
        call_answer_as(call, 200, "application/json", buf_str(&json));
    }
}

void prometheus_targets_get(ApiCall *call)
{
    Listing *listing = ARENA_NEW(&call->arena, Listing);
    uint32_t port;
    if (!call_parameter_count(call, "port", PORT_DEFAULT, UINT16_MAX, &port) ||
        !call_parameter_selector(call, &listing->spec.selector)) {
        return;
    }
    listing->call = call;
    listing->spec.port = (uint16_t)port;
    listing->spec.cluster = call_settings(call)->cluster;
    nodes_list_all(call_store(call), listed, listing);
}
