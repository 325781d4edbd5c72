/* /v1/prometheus-targets */
#include "api/call.h"
#include "api/handlers.h"
#include "api/prometheus_targets.h"

enum {
    PORT_DEFAULT = 9100 /* of the exporter that most machines have */
};

static bool read_selector(ApiCall *call, const Selector **out)
{
    Str text = call_parameter(call, "selector");
    Sources none;
    Problems problems;
    *out = NULL;
    if (text.len == 0) {
        return true;
    }
    sources_init(&none, &call->arena);
    problems_init(&problems, &call->arena);
    if (text.len > SELECTOR_TEXT_MAX ||
        !selector_parse(&call->arena, NULL, &none, value_string(text), out, &problems)) {
        Error err;
        Str why = problems.count > 0 ? problems.items[0].message : STR("it is too long");
        error_set(&err, ERROR_INVALID, "'selector': %" STR_FMT, STR_ARG(why));
        call_fail(call, &err);
        return false;
    }
    return true;
}

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
        !read_selector(call, &listing->spec.selector)) {
        return;
    }
    listing->call = call;
    listing->spec.port = (uint16_t)port;
    listing->spec.cluster = call_settings(call)->cluster;
    nodes_list_all(call_store(call), listed, listing);
}
