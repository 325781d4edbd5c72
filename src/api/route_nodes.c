/* /v1/nodes */
#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/json_out.h"
#include "api/ssh_approve.h"
#include "base/utc.h"
#include "cluster/nodes.h"
#include "lang/json.h"

/* --- As JSON --------------------------------------------------------------------------------- */

static void put_pin(Buf *out, const Pin *pin)
{
    char text[PIN_TEXT + 1];
    pin_text(pin, text);
    json_out_text(out, "key", str_from_c(text));
}

enum {
    PAGE_DEFAULT = 500
};

/* 0: nobody knows. */
static void put_moment(Buf *out, const char *name, int64_t ms)
{
    if (ms == 0) {
        json_out_null(out, name);
    } else {
        json_out_time(out, name, ms);
    }
}

static void put_node(Buf *out, const NodeEntry *node)
{
    const NodeRecord *record = &node->record;
    json_out_text(out, "name", str_from_c(record->name));
    json_out_bool(out, "alive", node->is_alive);
    put_moment(out, "since", node->since_ms);
    json_out_text(out, "version", str_from_c(node->version));
    json_out_bool(out, "has_facts", node->has_facts);
    json_out_bool(out, "server", record->is_server);
    json_out_text(out, "address", str_from_c(record->address));
    put_pin(out, &record->key);
    json_out_time(out, "joined", record->joined_ms);
    json_out_text(out, "token", str_from_c(record->token));
    json_out_text(out, "serial", str_from_c(record->serial));
    json_out_time(out, "certificate_expires", record->not_after_ms);
    json_out_open(out, "labels", '{');
    const Map *labels = record->labels.map;
    for (uint32_t i = 0; i < labels->len; i++) {
        buf_put_c(out, i > 0 ? "," : "");
        json_print_string(out, value_str(labels->entries[i].key), NULL);
        buf_put_char(out, ':');
        json_print_string(out, value_str(labels->entries[i].value), NULL);
    }
    json_out_close(out, '}');
}

static void put_waiting(Buf *out, const JoiningRecord *record)
{
    json_out_text(out, "name", str_from_c(record->name));
    json_out_bool(out, "approved", record->is_approved);
    json_out_text(out, "address", str_from_c(record->address));
    put_pin(out, &record->key);
    json_out_time(out, "asked", record->asked_ms);
}

/* A node tells its own facts: what is no JSON is told as that, and breaks nothing around it. */
static void put_facts(Arena *arena, Buf *out, Str facts)
{
    Value value;
    Error err;
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    if (facts.len == 0) {
        json_out_null(out, "facts");
    } else if (json_parse_text(arena, facts, NULL, &value, &err) &&
               json_print(&text, value, NULL, &err)) {
        json_out_name(out, "facts");
        buf_put(out, buf_str(&text));
    } else {
        json_out_null(out, "facts");
        json_out_text(out, "facts_error", str_from_c(err.text));
    }
}

/* --- Reading --------------------------------------------------------------------------------- */

static void listed(void *context, const NodesListing *listing, const Error *err)
{
    ApiCall *call = context;
    if (!call_goes_on(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.nodes/1");
    json_out_open(&json, "nodes", '[');
    for (uint32_t i = 0; i < listing->node_count; i++) {
        json_out_open(&json, NULL, '{');
        put_node(&json, &listing->nodes[i]);
        json_out_close(&json, '}');
    }
    json_out_close(&json, ']');
    json_out_open(&json, "waiting", '[');
    for (uint32_t i = 0; i < listing->waiting_count; i++) {
        json_out_open(&json, NULL, '{');
        put_waiting(&json, &listing->waiting[i]);
        json_out_close(&json, '}');
    }
    json_out_close(&json, ']');
    if (listing->next.len > 0) {
        json_out_text(&json, "continue", listing->next);
    } else {
        json_out_null(&json, "continue");
    }
    json_out_close(&json, '}');
    call_answer(call, 200, &json);
}

void nodes_get(ApiCall *call)
{
    NodesPage page = { .after = call_parameter(call, "continue") };
    if (call_parameter_count(call, "limit", PAGE_DEFAULT, NODES_PAGE_MAX, &page.limit)) {
        nodes_list(call_store(call), &page, listed, call);
    }
}

static void shown(void *context, const NodeView *view, const Error *err)
{
    ApiCall *call = context;
    if (!call_goes_on(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.node-detail/1");
    if (view->is_member) {
        json_out_open(&json, "node", '{');
        put_node(&json, &view->node);
        json_out_close(&json, '}');
    } else {
        json_out_null(&json, "node");
    }
    if (view->is_waiting) {
        json_out_open(&json, "waiting", '{');
        put_waiting(&json, &view->waiting);
        json_out_close(&json, '}');
    } else {
        json_out_null(&json, "waiting");
    }
    put_facts(&call->arena, &json, view->facts);
    json_out_close(&json, '}');
    call_answer(call, 200, &json);
}

void node_get(ApiCall *call)
{
    nodes_show(call_store(call), call->part, shown, call);
}

/* --- Changing -------------------------------------------------------------------------------- */

/* The answer to a change is the node as it is then. */
static void changed(void *context, const Error *err)
{
    ApiCall *call = context;
    if (call_goes_on(call, err)) {
        nodes_show(call_store(call), call->part, shown, call);
    }
}

void node_patch(ApiCall *call)
{
    const LabelChange *changes;
    uint32_t count;
    Error err;
    if (!labels_body_read(&call->arena, call_body(call), &changes, &count, &err)) {
        call_fail(call, &err);
        return;
    }
    nodes_label(call_store(call), call->part, changes, count, changed, call);
}

void node_delete(ApiCall *call)
{
    if (str_eq(call->part, call_settings(call)->node)) {
        Error err;
        error_set(&err, ERROR_CONFLICT,
                  "'%" STR_FMT "' is this server, and would shut itself out; to end the cluster, "
                  "stop eden and delete its state directory",
                  STR_ARG(call->part));
        call_fail(call, &err);
        return;
    }
    nodes_remove(call_store(call), call->part, call_done, call);
}

void node_approve(ApiCall *call)
{
    ApproveWish wish;
    Error err;
    if (!approve_body_read(&call->arena, call_body(call), &wish, &err)) {
        call_fail(call, &err);
    } else if (wish.key.len == 0) {
        ssh_approve(call, &wish);
    } else {
        nodes_approve(call_store(call), call->part, wish.key, changed, call);
    }
}

void node_reject(ApiCall *call)
{
    nodes_reject(call_store(call), call->part, call_done, call);
}

/* --- Asking ---------------------------------------------------------------------------------- */

static void pinged(void *context, const SessionPing *ping, const Error *err)
{
    ApiCall *call = context;
    if (!call_goes_on(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.ping/1");
    json_out_text(&json, "node", call->part);
    json_out_int(&json, "round_trip_ms", ping->round_trip_ms);
    json_out_time(&json, "node_time", ping->node_ms);
    json_out_int(&json, "clock_ahead_ms",
                 ping->node_ms + ping->round_trip_ms / 2 - ping->server_ms);
    json_out_close(&json, '}');
    call_answer(call, 200, &json);
}

static void refuse_silent(ApiCall *call, const NodeEntry *node)
{
    Error err;
    if (node->since_ms != 0) {
        error_set(&err, ERROR_UNAVAILABLE, "'%s' is silent since %" STR_FMT, node->record.name,
                  STR_ARG(utc_text(&call->arena, node->since_ms)));
    } else {
        error_set(&err, ERROR_UNAVAILABLE, "'%s' is silent, and it is not known since when",
                  node->record.name);
    }
    call_fail(call, &err);
}

static void refuse_asking(ApiCall *call)
{
    Error err;
    error_set(&err, ERROR_CONFLICT, "'%" STR_FMT "' is no member yet, and has no session",
              STR_ARG(call->part));
    call_fail(call, &err);
}

static void looked_up(void *context, const NodeView *view, const Error *err)
{
    ApiCall *call = context;
    if (!call_goes_on(call, err)) {
        return;
    }
    const ApiSettings *settings = call_settings(call);
    if (!view->is_member) {
        refuse_asking(call);
    } else if (!view->node.is_alive) {
        refuse_silent(call, &view->node);
    } else if (settings->ping == NULL) {
        call_refuse(call, 503, "this server has no sessions");
    } else {
        settings->ping(settings->context, call->part, pinged, call);
    }
}

void node_ping(ApiCall *call)
{
    nodes_show(call_store(call), call->part, looked_up, call);
}
