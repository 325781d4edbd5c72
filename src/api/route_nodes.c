/* /v1/nodes/<name>/...: actions on nodes. */
#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/kind.h"
#include "api/ssh_approve.h"
#include "base/json_out.h"
#include "base/utc.h"
#include "membership/nodes.h"

/* --- Approval --------------------------------------------------------------------------------- */

/* Responds with the resulting object. */
static void on_approved(void *context, const Error *err)
{
    ApiCall *call = context;
    if (call_resume(call, err)) {
        kind_changed(call, call->part, false);
    }
}

void node_approve(ApiCall *call)
{
    ApproveRequest request;
    Error err;
    if (!approve_body_read(&call->arena, call_body(call), &request, &err)) {
        call_fail_body(call, &err);
    } else if (request.key.len == 0) {
        ssh_approve(call, &request);
    } else {
        nodes_approve(call_store(call), call->part, request.key, on_approved, call);
    }
}

void node_reject(ApiCall *call)
{
    nodes_reject(call_store(call), call->part, call_done, call);
}

/* --- Ping ------------------------------------------------------------------------------------ */

/* A ping in progress. */
typedef struct PingRequest {
    ApiCall *call;
    bool is_alive; /* according to the store, which lags behind the server's sessions */
    int64_t since_ms;
} PingRequest;

static void respond_node_silent(const PingRequest *request)
{
    ApiCall *call = request->call;
    Error err;
    if (request->since_ms != 0) {
        error_set(&err, ERROR_UNAVAILABLE, "'%" STR_FMT "' has been silent since %" STR_FMT,
                  STR_ARG(call->part), STR_ARG(utc_text(&call->arena, request->since_ms)));
    } else {
        error_set(&err, ERROR_UNAVAILABLE,
                  "'%" STR_FMT "' is silent; the time of its last contact is unknown",
                  STR_ARG(call->part));
    }
    call_fail(call, &err);
}

/* The node may send any time, so this can overflow. */
static int64_t clock_ahead_ms(const SessionPing *result)
{
    int64_t ahead_ms;
    bool overflows = __builtin_sub_overflow(result->node_ms, result->server_ms, &ahead_ms) ||
                     __builtin_add_overflow(ahead_ms, result->round_trip_ms / 2, &ahead_ms);
    return !overflows ? ahead_ms : result->node_ms > 0 ? INT64_MAX : -INT64_MAX;
}

static void on_ping(void *context, const SessionPing *result, const Error *err)
{
    const PingRequest *request = context;
    ApiCall *call = request->call;
    bool is_silent = err != NULL && err->kind == ERROR_UNAVAILABLE && !request->is_alive;
    if (!call_resume(call, is_silent ? NULL : err)) {
        return;
    }
    if (is_silent) {
        respond_node_silent(request);
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.ping/1");
    json_out_text(&json, "node", call->part);
    json_out_int(&json, "round_trip_ms", result->round_trip_ms);
    json_out_time(&json, "node_time", result->node_ms);
    json_out_int(&json, "clock_ahead_ms", clock_ahead_ms(result));
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

static void respond_not_approved(ApiCall *call)
{
    Error err;
    error_set(&err, ERROR_CONFLICT, "'%" STR_FMT "' has not been approved yet and has no session",
              STR_ARG(call->part));
    call_fail(call, &err);
}

void node_ping(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    NodeView view;
    Error err;
    if (!nodes_show(&call->arena, call_store(call), call->part, &view, &err)) {
        call_fail(call, &err);
    } else if (!view.is_member) {
        respond_not_approved(call);
    } else if (settings->ping == NULL) {
        call_refuse(call, 503, "this server does not support sessions");
    } else {
        PingRequest *request = ARENA_NEW(&call->arena, PingRequest);
        *request = (PingRequest){ call, view.node.node->is_alive, view.node.node->since_ms };
        settings->ping(settings->context, call->part, on_ping, request);
    }
}
