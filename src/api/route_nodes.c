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
static void approved(void *context, const Error *err)
{
    ApiCall *call = context;
    if (call_goes_on(call, err)) {
        kind_changed(call, call->part, false);
    }
}

void node_approve(ApiCall *call)
{
    ApproveWish wish;
    Error err;
    if (!approve_body_read(&call->arena, call_body(call), &wish, &err)) {
        call_fail_body(call, &err);
    } else if (wish.key.len == 0) {
        ssh_approve(call, &wish);
    } else {
        nodes_approve(call_store(call), call->part, wish.key, approved, call);
    }
}

void node_reject(ApiCall *call)
{
    nodes_reject(call_store(call), call->part, call_done, call);
}

/* --- Ping ------------------------------------------------------------------------------------ */

/* A ping in progress. */
typedef struct Asking {
    ApiCall *call;
    bool is_alive; /* according to the store, which is behind the server's sessions */
    int64_t since_ms;
} Asking;

static void refuse_silent(const Asking *asking)
{
    ApiCall *call = asking->call;
    Error err;
    if (asking->since_ms != 0) {
        error_set(&err, ERROR_UNAVAILABLE, "'%" STR_FMT "' has been silent since %" STR_FMT,
                  STR_ARG(call->part), STR_ARG(utc_text(&call->arena, asking->since_ms)));
    } else {
        error_set(&err, ERROR_UNAVAILABLE, "'%" STR_FMT "' is silent, since an unknown time",
                  STR_ARG(call->part));
    }
    call_fail(call, &err);
}

/* The node may send any number. */
static int64_t clock_ahead_ms(const SessionPing *ping)
{
    int64_t ahead_ms;
    bool is_far = __builtin_sub_overflow(ping->node_ms, ping->server_ms, &ahead_ms) ||
                  __builtin_add_overflow(ahead_ms, ping->round_trip_ms / 2, &ahead_ms);
    return !is_far ? ahead_ms : ping->node_ms > 0 ? INT64_MAX : -INT64_MAX;
}

static void pinged(void *context, const SessionPing *ping, const Error *err)
{
    const Asking *asking = context;
    ApiCall *call = asking->call;
    bool is_silent = err != NULL && err->kind == ERROR_UNAVAILABLE && !asking->is_alive;
    if (!call_goes_on(call, is_silent ? NULL : err)) {
        return;
    }
    if (is_silent) {
        refuse_silent(asking);
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.ping/1");
    json_out_text(&json, "node", call->part);
    json_out_int(&json, "round_trip_ms", ping->round_trip_ms);
    json_out_time(&json, "node_time", ping->node_ms);
    json_out_int(&json, "clock_ahead_ms", clock_ahead_ms(ping));
    json_out_close(&json, '}');
    call_answer(call, 200, &json);
}

static void refuse_asking(ApiCall *call)
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
        refuse_asking(call);
    } else if (settings->ping == NULL) {
        call_refuse(call, 503, "this server does not support sessions");
    } else {
        Asking *asking = ARENA_NEW(&call->arena, Asking);
        *asking = (Asking){ call, view.node.node->is_alive, view.node.node->since_ms };
        settings->ping(settings->context, call->part, pinged, asking);
    }
}
