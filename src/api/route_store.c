/* /v1/store and /v1/keys: raw keys, for debugging. */
#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/base64.h"
#include "base/json_out.h"
#include "base/visible.h"
#include "cluster/guarded_keys.h"
#include "cluster/state.h"

enum {
    PAGE_DEFAULT = 200,
    PAGE_MAX = 1000
};

static bool key_fits(ApiCall *call, Str key)
{
    if (key.len > STORE_KEY_MAX) {
        call_refuse(call, 413, "the key is too long");
        return false;
    }
    return true;
}

/* Some keys cannot be changed here by any role: they have their own endpoints. Returns false after
 * rejecting the call. */
static bool may_change(ApiCall *call, Str key, Str end)
{
    Error err;
    if (!guarded_keys_check(call_store(call)->prefix, key, end, &err)) {
        call_fail(call, &err);
        return false;
    }
    return true;
}

static void put_key_value(Buf *json, const StoreKv *kv, bool with_value)
{
    json_out_bytes(json, "key", kv->key);
    if (with_value) {
        json_out_bytes(json, "value", kv->value);
    }
    json_out_int(json, "create_revision", kv->create_revision);
    json_out_int(json, "mod_revision", kv->mod_revision);
    json_out_int(json, "version", kv->version);
    json_out_int(json, "lease", kv->lease);
}

static void refuse_missing(ApiCall *call)
{
    AUTO_CLEAR(Buf) printable = buf_make(BUF_UNLIMITED);
    visible_put(&printable, call_parameter(call, "key"));
    Error err;
    error_set(&err, ERROR_NOT_FOUND, "key '%s' not found", buf_c(&printable));
    call_fail(call, &err);
}

static void on_get(void *context, const StoreReply *reply, const Error *err)
{
    ApiCall *call = context;
    if (!call_resume(call, err)) {
        return;
    }
    if (reply->ops[0].kv_count == 0) {
        refuse_missing(call);
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.value/1");
    put_key_value(&json, &reply->ops[0].kvs[0], true);
    json_out_int(&json, "revision", reply->revision);
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

void store_key_get(ApiCall *call)
{
    StoreOp op = { .kind = STORE_RANGE, .key = call_parameter(call, "key") };
    Error err;
    if (key_fits(call, op.key) && !cluster_read(call_store(call), &op, 1, on_get, call, &err)) {
        call_fail(call, &err);
    }
}

/* --- Changing a key -------------------------------------------------------------------------- */

typedef struct PendingResponse {
    ApiCall *call;
    Buf json;
} PendingResponse;

static void on_visible(void *context)
{
    PendingResponse *pending = context;
    if (call_resume(pending->call, NULL)) {
        call_respond(pending->call, 200, &pending->json);
    }
}

/* Responds when the state has reached the revision, so that the caller's next read includes this
 * change. */
static void respond_when_visible(ApiCall *call, Buf json, int64_t revision)
{
    PendingResponse *pending = ARENA_NEW(&call->arena, PendingResponse);
    *pending = (PendingResponse){ call, json };
    state_wait(call_store(call)->state, revision, on_visible, pending);
}

static void on_changed(void *context, const StoreReply *reply, const Error *err)
{
    ApiCall *call = context;
    if (!call_resume(call, err)) {
        return;
    }
    if (reply->ops[0].kind == STORE_DELETE && reply->ops[0].count == 0) {
        refuse_missing(call);
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.done/1");
    json_out_int(&json, "revision", reply->revision);
    json_out_close(&json, '}');
    respond_when_visible(call, json, reply->revision);
}

void store_key_put(ApiCall *call)
{
    Str value;
    Error err;
    if (!key_fits(call, call_parameter(call, "key")) ||
        !may_change(call, call_parameter(call, "key"), STR_EMPTY)) {
        return;
    }
    if (!value_body_read(&call->arena, call_body(call), &value, &err)) {
        call_fail_body(call, &err);
        return;
    }
    if (value.len > STORE_VALUE_MAX) {
        call_refuse(call, 413, "the value is too large");
        return;
    }
    if (!store_put(call_store(call)->store, call_parameter(call, "key"), value, 0, on_changed, call,
                   &err)) {
        call_fail(call, &err);
    }
}

void store_key_delete(ApiCall *call)
{
    Error err;
    if (key_fits(call, call_parameter(call, "key")) &&
        may_change(call, call_parameter(call, "key"), STR_EMPTY) &&
        !store_delete(call_store(call)->store, call_parameter(call, "key"), on_changed, call,
                      &err)) {
        call_fail(call, &err);
    }
}

/* --- Prefixes -------------------------------------------------------------------------------- */

/* A page continues after the last key of the previous one, which may be any bytes. */
static void put_continue(Buf *json, const StoreOpReply *range)
{
    if (!range->more || range->kv_count == 0) {
        json_out_null(json, "continue");
        return;
    }
    json_out_name(json, "continue");
    buf_put_char(json, '"');
    base64_encode(json, range->kvs[range->kv_count - 1].key);
    buf_put_char(json, '"');
}

static void on_keys(void *context, const StoreReply *reply, const Error *err)
{
    ApiCall *call = context;
    if (!call_resume(call, err)) {
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    bool with_values = call_parameter(call, "only").len == 0;
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.values/1");
    json_out_open(&json, "values", '[');
    for (uint32_t i = 0; i < range->kv_count; i++) {
        json_out_open(&json, NULL, '{');
        put_key_value(&json, &range->kvs[i], with_values);
        json_out_close(&json, '}');
    }
    json_out_close(&json, ']');
    json_out_int(&json, "revision", reply->revision);
    put_continue(&json, range);
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

void keys_get(ApiCall *call)
{
    Str prefix = call_parameter(call, "prefix"), last = call_parameter(call, "continue"),
        only = call_parameter(call, "only");
    StoreOp op = { .kind = STORE_RANGE,
                   .key = prefix.len > 0 ? prefix : STR("\0"),
                   .end = prefix.len > 0 ? store_prefix_end(&call->arena, prefix) : STORE_ALL,
                   .keys_only = only.len > 0 };
    uint32_t limit;
    Error err;
    if (only.len > 0 && !str_eq(only, STR("keys"))) {
        call_refuse(call, 400, "'only' must be 'keys'");
        return;
    }
    if (last.len > 0) {
        if (!base64_decode(&call->arena, last, &last) || !str_starts(last, prefix)) {
            call_refuse(call, 400, "invalid 'continue'; start again from the first page");
            return;
        }
        op.key = arena_join(&call->arena, last, STR("\0"), STR_EMPTY);
    }
    if (!key_fits(call, op.key) ||
        !call_parameter_count(call, "limit", PAGE_DEFAULT, PAGE_MAX, &limit)) {
        return;
    }
    op.limit = limit;
    if (!cluster_read(call_store(call), &op, 1, on_keys, call, &err)) {
        call_fail(call, &err);
    }
}

static void on_keys_deleted(void *context, const StoreReply *reply, const Error *err)
{
    ApiCall *call = context;
    if (!call_resume(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.done/1");
    json_out_int(&json, "revision", reply->revision);
    json_out_int(&json, "deleted", reply->ops[0].count);
    json_out_close(&json, '}');
    respond_when_visible(call, json, reply->revision);
}

void keys_delete(ApiCall *call)
{
    Str prefix = call_parameter(call, "prefix");
    StoreOp op = { .kind = STORE_DELETE,
                   .key = prefix,
                   .end = store_prefix_end(&call->arena, prefix) };
    Error err;
    if (key_fits(call, prefix) && may_change(call, op.key, op.end) &&
        !store_op(call_store(call)->store, &op, on_keys_deleted, call, &err)) {
        call_fail(call, &err);
    }
}
